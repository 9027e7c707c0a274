/**
 * The registry in the control table: the user tables, and how long history is kept. It is read in
 * one query, and what is written follows from what stands there (core/history.ts): a change is put
 * on condition that no other came between.
 *
 * A change is reckoned from a time (from when on something is kept, or until when), so it must not
 * take effect long after that: the clock is read anew for every try, and the put is signed soon
 * after it or not at all. A machine that slept in between tries again.
 */
import { isDeepStrictEqual } from "node:util";
import { baseSinceAfter } from "../core/base-tables.ts";
import { retentionAfter, retentionDefault, tableHistoryAfter } from "../core/history.ts";
import {
  CorruptDataError,
  InvalidRequestError,
  LateSignatureError,
  StoreError,
} from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, Clock, ControlStore } from "../core/ports.ts";
import {
  accessAfter,
  accessDuring,
  moveStages,
  tableAccesses,
  type AccessState,
} from "../core/table-access.ts";
import type {
  AttributeValue,
  HistoryRetention,
  IndexKeyAttribute,
  Item,
  KeyAttribute,
  KeyType,
  Registry,
  TableAccess,
  TableDescription,
  TableMove,
  Timestamp,
  WantedTable,
} from "../core/types.ts";
import {
  allOf,
  notExists,
  type ControlCondition,
  type ControlReads,
  type ControlTable,
} from "./control-table.ts";
import { assertUsersTable } from "./names.ts";
import {
  booleanOf,
  corrupt,
  has,
  integerOf,
  mapsOf,
  textOf,
  type Stored,
} from "./stored-attributes.ts";

const partition = "registry";
/** No tables' names: those have no such character. */
const retentionName = "#history";
const streamName = "#stream";
const moverName = "mover";
const descriptionsName = "indexDescriptions";

export async function readRegistry(
  control: ControlReads,
  options: CallOptions | undefined,
): Promise<Registry> {
  const items = await allOf(control, { pk: partition }, options);
  const tables: TableDescription[] = [];
  let retention = retentionDefault;
  let streamless = false;
  for (const item of items) {
    const stored = { what: "table registry", item };
    const name = textOf(stored, "sk");
    if (name === retentionName) retention = toRetention(stored);
    else if (name === streamName) streamless = !booleanOf(stored, "exists");
    else tables.push(toDescription(stored));
  }
  return { tables, retention, streamless };
}

export type RegistryStore = Pick<ControlStore, "registerTable" | "retainHistory"> & {
  /**
   * Records whether the deployment has a stream; one of which nothing is recorded has one. Called
   * by provisioning alone.
   */
  recordStream(exists: boolean, options?: CallOptions): Promise<void>;
  /**
   * Changes who may write a registered table, by what stands there.
   * @param next throws where it is to stay.
   * @throws InvalidRequestError for a table that is not registered.
   */
  changeAccess(
    table: string,
    next: (before: HeldTable, nowMs: number) => HeldState,
    options?: CallOptions,
  ): Promise<TableDescription>;
};

/** Who moves a table says so: another one's next step finds it changed. */
export type HeldTable = TableDescription & { readonly mover: string | undefined };
export type HeldState = AccessState & { readonly mover: string | undefined };

type RegistryParts = { readonly control: ControlTable; readonly clock: Clock };

export function createRegistryStore(parts: RegistryParts): RegistryStore {
  return {
    registerTable: async (table, options) => {
      assertUsersTable(table.name);
      const item = await change(parts, { sk: table.name, options }, (stored, nowMs) => {
        const before =
          stored === undefined
            ? undefined
            : toDescription({ what: "table registry", item: stored });
        if (before !== undefined) assertSameKey(table, before);
        // What the caller may have read of it before may not stand any more.
        const history = table.history ?? before?.history ?? false;
        const { name, partitionKey, sortKey, indexKeys, indexNames, indexDescriptions } = table;
        const access = accessAfter(before, table);
        const item = fromDescription({
          ...{ name, partitionKey, ...access },
          ...baseSinceAfter(before, { ...table, ...access }, nowMs),
          ...(sortKey === undefined ? {} : { sortKey }),
          ...(indexKeys === undefined ? {} : { indexKeys }),
          ...(indexNames === undefined ? {} : { indexNames }),
          ...(indexDescriptions === undefined ? {} : { indexDescriptions }),
          ...tableHistoryAfter(before, { history, nowMs }),
        });
        const mover = stored?.[moverName];
        return mover === undefined ? item : { ...item, [moverName]: mover };
      });
      return toDescription({
        what: "table registry",
        item: { ...item, sk: { S: table.name } },
      });
    },
    async changeAccess(table, next, options) {
      const item = await change(parts, { sk: table, options }, (stored, nowMs) => {
        if (stored === undefined) {
          throw new InvalidRequestError(
            "table",
            `table "${table}" is not registered; \`npx tidemark register ${table}\` does it`,
          );
        }
        const before = toDescription({ what: "table registry", item: stored });
        const mover = stored[moverName];
        const held = {
          ...before,
          mover: mover !== undefined && "S" in mover ? mover.S : undefined,
        };
        return fromHeld(before, next(held, nowMs));
      });
      return toDescription({ what: "table registry", item: { ...item, sk: { S: table } } });
    },
    async retainHistory(retentionMs, options) {
      assertRetention(retentionMs);
      await change(parts, { sk: retentionName, options }, (stored, nowMs) => {
        const before =
          stored === undefined
            ? retentionDefault
            : toRetention({ what: "retention", item: stored });
        return fromRetention(retentionAfter(before, { retentionMs, nowMs }));
      });
    },
    async recordStream(exists, options) {
      await change(parts, { sk: streamName, options }, (stored) => streamEntry(stored, exists));
    },
  };
}

function fromHeld(before: TableDescription, { access, move, mover }: HeldState): Item {
  const { move: was, historySince: _since, historyKeptUntilMs: _until, ...table } = before;
  const isSteady = access === before.access && move === undefined && was === undefined;
  // What is left of a history that was switched off is over for one that moves.
  const kept = isSteady ? before : { ...table, access, ...(move === undefined ? {} : { move }) };
  return {
    ...fromDescription(kept),
    ...(mover === undefined ? {} : { [moverName]: { S: mover } }),
  };
}

/**
 * Each change has a number: a put of an earlier one that comes late, when the stream has gone or
 * come again meanwhile, finds another entry than it follows.
 */
function streamEntry(before: Item | undefined, exists: boolean): Item {
  const stored = before === undefined ? undefined : { what: "table registry", item: before };
  const changes = stored !== undefined && has(stored, "changes") ? integerOf(stored, "changes") : 0;
  const isSame = stored !== undefined && booleanOf(stored, "exists") === exists;
  if (isSame) return withoutKey(before) ?? {};
  return { exists: { BOOL: exists }, changes: { N: (changes + 1).toString() } };
}

/**
 * Puts what follows from what stands there, and what stands there is what it follows from.
 * @param next what shall stand there, as of the wall-clock time given.
 * @returns what stands there now.
 */
async function change(
  { control, clock }: RegistryParts,
  { sk, options }: { readonly sk: string; readonly options: CallOptions | undefined },
  next: (stored: Item | undefined, nowMs: number) => Item,
): Promise<Item> {
  const key = { pk: partition, sk };
  for (let tries = 0; tries < limits.registryChangeTriesMax; tries += 1) {
    const stored = await control.get(key, options);
    const nowMs = clock.nowMs();
    const item = next(stored, nowMs);
    const attributes = withoutKey(stored);
    if (isDeepStrictEqual(attributes, item)) return item;
    const condition =
      attributes === undefined ? notExists : unchanged({ before: attributes, after: item });
    const signDeadline = { clock, beforeMs: nowMs + limits.registryChangeSignMsMax };
    try {
      const result = await control.put(key, item, { ...options, condition, signDeadline });
      if (result === "done") return item;
    } catch (error) {
      if (!(error instanceof LateSignatureError)) throw error;
    }
  }
  throw new StoreError(
    "unavailable",
    `the registry's entry "${sk}" is being changed by others, or this machine is held up`,
  );
}

function withoutKey(stored: Item | undefined): Item | undefined {
  if (stored === undefined) return undefined;
  const { pk: _pk, sk: _sk, ...attributes } = stored;
  return attributes;
}

type Change = { readonly before: Item; readonly after: Item };

/** Every attribute that is there or will be stands as it was read; but what indexes there are. */
function unchanged({ before, after }: Change): ControlCondition {
  const all = Object.keys({ ...before, ...after }).filter((name) => !name.startsWith("index"));
  const terms = all.map((name, i) =>
    before[name] === undefined
      ? `attribute_not_exists(#a${i.toString()})`
      : `#a${i.toString()} = :a${i.toString()}`,
  );
  return {
    expression: terms.join(" AND "),
    names: Object.fromEntries(all.map((name, i) => [`#a${i.toString()}`, name])),
    values: Object.fromEntries(
      all.flatMap((name, i) => {
        const value = before[name];
        return value === undefined ? [] : [[`:a${i.toString()}`, value] as const];
      }),
    ),
  };
}

function assertSameKey(table: WantedTable, before: TableDescription): void {
  const keyOf = ({ partitionKey, sortKey }: WantedTable): unknown => [partitionKey, sortKey];
  if (isDeepStrictEqual(keyOf(table), keyOf(before))) return;
  throw new InvalidRequestError(
    "table",
    `table "${table.name}" is registered with another key; a key cannot change`,
  );
}

function assertRetention(retentionMs: number): void {
  const [min, max] = [limits.historyRetentionMsMin, limits.historyRetentionMsMax];
  if (Number.isSafeInteger(retentionMs) && retentionMs >= min && retentionMs <= max) return;
  throw new InvalidRequestError(
    "historyRetentionMs",
    `historyRetentionMs takes ${min} to ${max} milliseconds; got ${retentionMs}`,
  );
}

function fromRetention({ retentionMs, since, previousMs, changedMs }: HistoryRetention): Item {
  return {
    retentionMs: { N: retentionMs.toString() },
    since: { N: since.toString() },
    previousMs: { N: previousMs.toString() },
    changedMs: { N: changedMs.toString() },
  };
}

function toRetention(stored: Stored): HistoryRetention {
  return {
    retentionMs: integerOf(stored, "retentionMs"),
    since: integerOf(stored, "since") as Timestamp,
    previousMs: integerOf(stored, "previousMs"),
    changedMs: integerOf(stored, "changedMs"),
  };
}

function fromDescription(table: TableDescription): Item {
  return {
    partitionKeyName: { S: table.partitionKey.name },
    partitionKeyType: { S: table.partitionKey.type },
    ...(table.sortKey === undefined
      ? {}
      : { sortKeyName: { S: table.sortKey.name }, sortKeyType: { S: table.sortKey.type } }),
    ...(table.indexKeys === undefined
      ? {}
      : { indexKeys: { L: table.indexKeys.map(fromIndexKey) } }),
    // No name has a comma in it.
    ...(table.indexNames === undefined ? {} : { indexes: { S: table.indexNames.join() } }),
    ...(table.indexDescriptions === undefined
      ? {}
      : { [descriptionsName]: table.indexDescriptions }),
    ...fromHistory(table),
    access: { S: table.access },
    ...(table.baseSince === undefined ? {} : { baseSince: { N: table.baseSince.toString() } }),
    ...(table.move === undefined
      ? {}
      : { moveTo: { S: table.move.to }, moveStage: { S: table.move.stage } }),
  };
}

function fromHistory({ history, historySince, historyKeptUntilMs }: TableDescription): Item {
  return {
    history: { BOOL: history },
    ...(historySince === undefined ? {} : { historySince: { N: historySince.toString() } }),
    ...(historyKeptUntilMs === undefined
      ? {}
      : { historyKeptUntilMs: { N: historyKeptUntilMs.toString() } }),
  };
}

function fromIndexKey({ name, type, role }: IndexKeyAttribute): AttributeValue {
  return { M: { name: { S: name }, type: { S: type }, role: { S: role } } };
}

function toIndexKey(stored: Stored): IndexKeyAttribute {
  const role = textOf(stored, "role");
  if (role !== "partition" && role !== "sort") throw corrupt(stored, "role");
  return { name: textOf(stored, "name"), type: keyTypeOf(stored, "type"), role };
}

function toDescription(stored: Stored): TableDescription {
  const name = textOf(stored, "sk");
  const said = textOf(stored, "access");
  const access = tableAccesses.find((each) => each === said);
  if (access === undefined) {
    throw new CorruptDataError(
      `table registry: "${name}" has the access mode "${said}", which this version does not know`,
    );
  }
  const description = {
    name,
    partitionKey: toKeyAttribute(stored, "partitionKey"),
    ...(has(stored, "indexKeys") ? { indexKeys: mapsOf(stored, "indexKeys").map(toIndexKey) } : {}),
    ...(has(stored, "indexes") ? { indexNames: textOf(stored, "indexes").split(",") } : {}),
    ...(has(stored, descriptionsName) ? { indexDescriptions: stored.item[descriptionsName] } : {}),
    history: booleanOf(stored, "history"),
    ...(has(stored, "historySince")
      ? { historySince: integerOf(stored, "historySince") as Timestamp }
      : {}),
    ...(has(stored, "historyKeptUntilMs")
      ? { historyKeptUntilMs: integerOf(stored, "historyKeptUntilMs") }
      : {}),
    access,
    ...(has(stored, "moveStage") ? { move: toMove(stored, access) } : {}),
    ...(has(stored, "baseSince") ? { baseSince: integerOf(stored, "baseSince") as Timestamp } : {}),
  } as const;
  if (!has(stored, "sortKeyName")) return description;
  return { ...description, sortKey: toKeyAttribute(stored, "sortKey") };
}

function toMove(stored: Stored, access: TableAccess): TableMove {
  const [said, aim] = [textOf(stored, "moveStage"), textOf(stored, "moveTo")];
  const stage = moveStages.find((each) => each === said);
  const to = tableAccesses.find((each) => each === aim);
  if (stage === undefined || accessDuring(stage) !== access) throw corrupt(stored, "moveStage");
  if (to === undefined) throw corrupt(stored, "moveTo");
  return { to, stage };
}

function toKeyAttribute(stored: Stored, prefix: "partitionKey" | "sortKey"): KeyAttribute {
  return { name: textOf(stored, `${prefix}Name`), type: keyTypeOf(stored, `${prefix}Type`) };
}

function keyTypeOf(stored: Stored, name: string): KeyType {
  const type = textOf(stored, name);
  if (type !== "S" && type !== "N" && type !== "B") throw corrupt(stored, name);
  return type;
}
