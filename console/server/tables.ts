/**
 * Tables as they were at a moment, and what differs between two. Read by the engine, so a page is
 * what any transaction would have seen at that moment. On AWS by clients that refuse to write, so
 * that a commit which nobody has installed yet is waited for, and installed by others.
 */
import { BaseOpenError, InvalidRequestError, UnavailableError } from "../../core/errors.ts";
import { attribute } from "../../core/attributes.ts";
import { isInHistory } from "../../core/history.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import type { Reader, RowPage, SnapshotOptions } from "../../engine/types.ts";
import { decodeCursor, encodeCursor, keyText } from "../../sdk/cursor.ts";
import { tableNamed, type Deployment } from "../../inspection/deployment.ts";
import { itemHistory, type ItemHistory } from "../../inspection/item-history.ts";
import { keyFrom } from "../../inspection/words/keys.ts";
import { hashText } from "../../inspection/words/values.ts";
import * as limits from "../limits.ts";
import type {
  DiffPage,
  DiffRow,
  HolderLine,
  ItemPage,
  Row,
  RowsPage,
  VersionLine,
} from "../wire.ts";
import { heldRows } from "./held-rows.ts";
import { tableLine, wireItem } from "./lines.ts";
import type { Sight } from "./sight.ts";

/** Undefined: now. */
type At = Timestamp | undefined;

export type RowsRequest = {
  readonly table: string;
  readonly at: At;
  /** Rows of one partition alone: its key's value. */
  readonly partition?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
};

/** @throws InvalidRequestError, SnapshotTooOldError, UnavailableError. */
export async function rowsAt(sight: Sight, request: RowsRequest): Promise<RowsPage> {
  const { deployment } = await sight.seen();
  const table = tableNamed(deployment, request.table);
  const wanted = wantedOf(table, request);
  const moment = request.at ?? (await vouchedFor(deployment, table));
  const line = tableLine(deployment, table, sight.clock.nowMs());
  // A scan would wait for open BASE transactions that have written in the table.
  const mayBeHeld = table.baseSince !== undefined && request.at === undefined;
  const deadlineMs = mayBeHeld ? limits.heldDeadlineMs : limits.readDeadlineMs;
  const found = await pageAt(sight, wanted, moment, deadlineMs).catch((error: unknown) => {
    if (mayBeHeld && error instanceof BaseOpenError) return undefined;
    throw error;
  });
  if (found === undefined) return { table: line, ...(await heldPage(sight, wanted)) };
  const { page, at } = found;
  const { cursor } = page;
  return {
    table: line,
    at: moment ?? at,
    rows: page.rows.map((item) => rowOf(table, item)),
    ...(cursor === undefined ? {} : { cursor: encodeCursor(scopeOf(table), cursor) }),
  };
}

async function heldPage(sight: Sight, wanted: Wanted): Promise<Omit<RowsPage, "table">> {
  const { table } = wanted;
  const { rows, cursor, at } = await heldRows(sight, wanted).catch((error: unknown) => {
    throw mayOnlyRead(error);
  });
  return {
    at: at ?? sight.clock.nowMs() * 1_000,
    held: at === undefined ? "stored" : "before",
    rows: rows.map(({ item, heldBy }) => ({
      ...rowOf(table, item),
      ...(heldBy === undefined ? {} : { heldBy }),
    })),
    ...(cursor === undefined ? {} : { cursor: encodeCursor(scopeOf(table), cursor) }),
  };
}

/**
 * The newest moment at which all is installed: a page of it is there at once, where one of what is
 * being written has to wait for installs again and again. Undefined: there is no history to read it
 * from. With several shards a quiet one would have to be asked how far it has come.
 */
async function vouchedFor({ ports, logs }: Deployment, table: TableDescription): Promise<At> {
  const [log, ...others] = logs;
  if (!table.history || log === undefined || others.length > 0) return undefined;
  const watermark = await ports.control.readWatermark(log.shard);
  if (watermark === undefined || !isInHistory(table, watermark.timestamp)) return undefined;
  return watermark.position === 0 ? undefined : watermark.timestamp;
}

type Wanted = {
  readonly table: TableDescription;
  readonly partition: Item | undefined;
  readonly cursor: Item | undefined;
  readonly limit: number;
};

function wantedOf(
  table: TableDescription,
  { partition, cursor, limit }: Omit<RowsRequest, "table" | "at">,
): Wanted {
  const { name, partitionKey } = table;
  return {
    table,
    partition: partition === undefined ? undefined : keyFrom({ name, partitionKey }, [partition]),
    cursor: cursor === undefined ? undefined : decodeCursor(scopeOf(table), cursor),
    limit,
  };
}

function scopeOf({ name }: TableDescription): {
  readonly table: string;
  readonly index: undefined;
} {
  return { table: name, index: undefined };
}

async function pageAt(
  sight: Sight,
  { table, partition, cursor, limit }: Wanted,
  at: At,
  deadlineMs = limits.readDeadlineMs,
): Promise<{ readonly page: RowPage; readonly at: Timestamp }> {
  const engine = await sight.engine();
  const options: SnapshotOptions = {
    deadlineMs,
    ...(at === undefined ? {} : { asOf: at }),
  };
  const read = async (reader: Reader): Promise<RowPage> => {
    const value = partition && attribute(partition, table.partitionKey.name);
    return value === undefined
      ? reader.scanPage(table.name, {}, { limit, cursor })
      : reader.queryPage(table.name, { partitionKey: value }, { limit, cursor });
  };
  try {
    const { result } = await engine.snapshot(options, async (reader) => {
      const page = await read(reader);
      return { page, at: reader.readTimestamp };
    });
    return result;
  } catch (error) {
    throw mayOnlyRead(error);
  }
}

/** Somebody has to install what is committed before it can be read, and the console does not. */
function mayOnlyRead(error: unknown): unknown {
  if (!wouldWrite(error)) return error;
  return new UnavailableError(
    "the console only reads, and this moment takes a write: something is committed and installed " +
      "by nobody, is still open, or a quiet shard's log ends before it; try again, or look at an " +
      "earlier moment",
    { cause: error },
  );
}

/** By a client that refuses to, at the bottom of whatever came of that (aws/reading-only.ts). */
function wouldWrite(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof InvalidRequestError && at.field === "write") return true;
  }
  return false;
}

function keyOf(table: TableDescription, item: Item): Item {
  const names = [table.partitionKey, ...(table.sortKey === undefined ? [] : [table.sortKey])];
  return Object.fromEntries(
    names.flatMap(({ name }) => {
      const value = attribute(item, name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function rowOf(table: TableDescription, item: Item): Row {
  return { key: wireItem(keyOf(table, item)), item: wireItem(item) };
}

export type DiffRequest = {
  readonly table: string;
  readonly from: Timestamp;
  readonly to: At;
  readonly partition?: string | undefined;
  readonly cursor?: string | undefined;
};

/** @throws as `rowsAt`. */
export async function diffOf(sight: Sight, request: DiffRequest): Promise<DiffPage> {
  const { deployment } = await sight.seen();
  const table = tableNamed(deployment, request.table);
  // All of its pages show one moment.
  const vouched = request.to ?? (await vouchedFor(deployment, table));
  const to = vouched ?? (await pageAt(sight, { ...wantedNothing, table }, undefined)).at;
  if (request.from > to) {
    throw new InvalidRequestError("from", "`from` is the earlier of the two moments");
  }
  let wanted = wantedOf(table, { ...request, limit: limits.rowsMax });
  const rows: DiffRow[] = [];
  let examined = 0;
  for (let pages = 1; ; pages += 1) {
    const both = await bothPages(sight, wanted, request.from, to);
    examined += Math.max(both.before.rows.length, both.after.rows.length);
    rows.push(...differences(table, both.before.rows, both.after.rows));
    const { cursor } = both.after;
    const isEnough = rows.length >= limits.diffRowsMax || pages >= limits.diffPagesMax;
    if (cursor !== undefined && !isEnough) {
      wanted = { ...wanted, cursor };
      continue;
    }
    return {
      table: tableLine(deployment, table, sight.clock.nowMs()),
      ...{ from: request.from, to, examined, rows },
      ...(cursor === undefined ? {} : { cursor: encodeCursor(scopeOf(table), cursor) }),
    };
  }
}

const wantedNothing = { partition: undefined, cursor: undefined, limit: 1 };

/**
 * The same stretch of the table at both moments. Where an item is stored between the two readings,
 * the same number of rows ends elsewhere: then both are read again.
 */
async function bothPages(
  sight: Sight,
  wanted: Wanted,
  from: Timestamp,
  to: Timestamp,
): Promise<{ readonly before: RowPage; readonly after: RowPage }> {
  const { name } = wanted.table;
  const textOf = ({ cursor }: RowPage): string =>
    cursor === undefined ? "" : keyText(name, cursor);
  for (let attempt = 0; attempt < limits.diffTriesMax; attempt += 1) {
    const [before, after] = await Promise.all([
      pageAt(sight, wanted, from),
      pageAt(sight, wanted, to),
    ]);
    if (textOf(before.page) === textOf(after.page)) {
      return { before: before.page, after: after.page };
    }
  }
  throw new UnavailableError(
    `table "${name}" is given new items faster than two readings of a page: try again, or name ` +
      "a partition",
  );
}

function differences(
  table: TableDescription,
  before: readonly Item[],
  after: readonly Item[],
): readonly DiffRow[] {
  const textOf = (item: Item): string => keyText(table.name, keyOf(table, item));
  const old = new Map(before.map((item) => [textOf(item), item]));
  const rows: DiffRow[] = [];
  for (const item of after) {
    const text = textOf(item);
    const was = old.get(text);
    old.delete(text);
    const key = wireItem(keyOf(table, item));
    const now = wireItem(item);
    if (was === undefined) rows.push({ key, change: "added", after: now });
    else if (!isSame(was, item)) {
      rows.push({ key, change: "changed", before: wireItem(was), after: now });
    }
  }
  for (const item of old.values()) {
    rows.push({ key: wireItem(keyOf(table, item)), change: "removed", before: wireItem(item) });
  }
  return rows;
}

/** Attributes have no order, nor have those of maps. */
function isSame(a: Item, b: Item): boolean {
  const text = (item: Item): string => JSON.stringify(wireItem(item), inOrder);
  return text(a) === text(b);
}

function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value) as [string, unknown][];
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** @param key as `tidemark item` takes it: an object of JSON, or the value of a simple key. */
export async function itemOf(
  sight: Sight,
  { table: name, key: text }: { readonly table: string; readonly key: string },
): Promise<ItemPage> {
  const { deployment, names } = await sight.seen();
  const table = tableNamed(deployment, name);
  const key = keyFrom(table, [text]);
  const bounds = { versionsMax: limits.versionsMax, blocksMax: limits.itemBlocksMax };
  const found = await itemHistory(deployment, names, { table, key, ...bounds });
  const { stored } = found;
  return {
    table: tableLine(deployment, table, sight.clock.nowMs()),
    key: wireItem(key),
    shard: found.log.number,
    hash: hashText(found.hashes.key),
    stored: stored.state,
    ...(stored.item === undefined ? {} : { item: wireItem(stored.item) }),
    version: stored.version,
    versions: found.versions.map(({ version, state, commit, content }): VersionLine => ({
      ...{ version, state },
      ...(commit === undefined ? {} : commit),
      ...(content === undefined
        ? {}
        : { item: content.item === undefined ? null : wireItem(content.item) }),
    })),
    open: found.open.map(({ id, since, does }) => ({ id, since, does })),
    ...holderLines(found.held),
    ...(found.lookedTo === undefined ? {} : { lookedTo: found.lookedTo }),
  };
}

function holderLines(held: ItemHistory["held"]): Pick<ItemPage, "holders" | "moreHolders"> {
  if (held === "denied") return { holders: [], moreHolders: 0 };
  const holders = held.holders.map(({ name, id, does, open }): HolderLine => {
    if (open === undefined) return { name, id, does };
    const { phase, startedMs: sinceMs, step } = open;
    const stepName = step.name === undefined ? {} : { stepName: step.name };
    return { name, id, does, open: { phase, sinceMs, step: step.number, ...stepName } };
  });
  return { holders, moreHolders: held.more };
}
