/**
 * A page of a table that open BASE transactions have written in. A scan waits for them; so what is
 * stored is read by itself, and then each row by its key, which reads around what is open where the
 * table keeps history. Each row that is held says by which.
 */
import { attribute } from "../../core/attributes.ts";
import { BaseOpenError } from "../../core/errors.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import { systemDigest } from "../../aws/system-digest.ts";
import { stateKey, toState } from "../../engine/base/base-state.ts";
import { lockPlace, toWriteLock, writeLockKey } from "../../engine/base/saline-locks.ts";
import { recordsTable } from "../../inspection/bases.ts";
import type { Deployment } from "../../inspection/deployment.ts";
import * as limits from "../limits.ts";
import type { Sight } from "./sight.ts";

export type HeldRow = { readonly item: Item; readonly heldBy: string | undefined };

export type HeldRows = {
  readonly rows: readonly HeldRow[];
  readonly cursor: Item | undefined;
  /** When all of them stood so; undefined: they are as stored, steps of open ones among them. */
  readonly at: Timestamp | undefined;
};

type Wanted = {
  readonly table: TableDescription;
  readonly partition: Item | undefined;
  readonly cursor: Item | undefined;
  readonly limit: number;
};

export async function heldRows(sight: Sight, wanted: Wanted): Promise<HeldRows> {
  const { deployment } = await sight.seen();
  const { table } = wanted;
  const { rows: stored, lastKey: cursor } = await storedPage(deployment, wanted);
  const keys = stored.map(({ key }) => key);
  const holders = await holdersOf(deployment, table, keys);
  const before = table.history ? await itemsBefore(sight, table, keys) : undefined;
  const rows = stored.flatMap(({ item: now }, at): readonly HeldRow[] => {
    const item = before === undefined ? now : before.items[at];
    // What an open one has made is not there yet.
    return item === undefined ? [] : [{ item, heldBy: holders[at] }];
  });
  return { rows, cursor, at: before?.at };
}

function storedPage({ ports }: Deployment, { table, partition, cursor, limit }: Wanted) {
  const value = partition && attribute(partition, table.partitionKey.name);
  const page = { table, limit, startKey: cursor };
  return value === undefined
    ? ports.items.scan(page)
    : ports.items.query({ ...page, partitionKey: value, descending: false });
}

/** At one moment, as whoever only reads sees them; undefined where that would wait. */
async function itemsBefore(
  sight: Sight,
  { name: table }: TableDescription,
  keys: readonly Item[],
): Promise<{ readonly items: readonly (Item | undefined)[]; readonly at: Timestamp } | undefined> {
  const engine = await sight.engine();
  try {
    const { result } = await engine.snapshot(
      { deadlineMs: limits.heldDeadlineMs },
      async (reader) => {
        const items = await reader.batchGet(keys.map((key) => ({ table, key })));
        return { items, at: reader.readTimestamp };
      },
    );
    return result;
  } catch (error) {
    // Open for longer than history is kept: as of a table without.
    if (error instanceof BaseOpenError) return undefined;
    throw error;
  }
}

/** Of each key, the first open BASE transaction that has written it. */
async function holdersOf(
  deployment: Deployment,
  table: TableDescription,
  keys: readonly Item[],
): Promise<readonly (string | undefined)[]> {
  const records = recordsTable(deployment);
  if (records === undefined) return keys.map(() => undefined);
  const { items } = deployment.ports;
  const read = (wanted: readonly Item[]) =>
    items.batchGet(wanted.map((key) => ({ table: records, key })));
  const locks = await read(keys.map((key) => writeLockKey(lockPlace(systemDigest, table, key))));
  const holds = locks.map(({ item }) => (item === undefined ? [] : toWriteLock(item).holds));
  const bases = [...new Set(holds.flat().map(({ base }) => base))];
  const states = await read(bases.map(stateKey));
  const open = new Set(
    bases.filter((base, at) => toState(base, states[at]?.item).phase !== "released"),
  );
  return holds.map((each) => each.find(({ base }) => open.has(base))?.base);
}
