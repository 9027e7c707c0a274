/**
 * The registry in the control table: the user tables, and how long history is kept. It is read in
 * one query, and what is written follows from what stands there (core/history.ts): a change is put
 * on condition that no other came between.
 */
import { isDeepStrictEqual } from "node:util";
import { retentionAfter, retentionDefault, tableHistoryAfter } from "../core/history.ts";
import { CorruptDataError, InvalidRequestError, StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, ControlStore } from "../core/ports.ts";
import type {
  AttributeValue,
  HistoryRetention,
  IndexKeyAttribute,
  Item,
  KeyAttribute,
  KeyType,
  Registry,
  TableDescription,
  Timestamp,
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
/** No table's name: those have no such character. */
const retentionName = "#history";

export async function readRegistry(
  control: ControlReads,
  options: CallOptions | undefined,
): Promise<Registry> {
  const items = await allOf(control, { pk: partition }, options);
  const tables: TableDescription[] = [];
  let retention = retentionDefault;
  for (const item of items) {
    const stored = { what: "table registry", item };
    if (textOf(stored, "sk") === retentionName) retention = toRetention(stored);
    else tables.push(toDescription(stored));
  }
  return { tables, retention };
}

export function createRegistryStore(
  control: ControlTable,
): Pick<ControlStore, "registerTable" | "retainHistory"> {
  return {
    registerTable: async (table, nowMs, options) => {
      assertUsersTable(table.name);
      await change(control, table.name, options, (item) => {
        const before =
          item === undefined ? undefined : toDescription({ what: "table registry", item });
        if (before !== undefined) assertSameKey(table, before);
        const { historySince: _, historyKeptUntilMs: __, ...wanted } = table;
        const { history } = wanted;
        return fromDescription({ ...wanted, ...tableHistoryAfter(before, { history, nowMs }) });
      });
    },
    async retainHistory(retentionMs, nowMs, options) {
      assertRetention(retentionMs);
      await change(control, retentionName, options, (item) => {
        const before =
          item === undefined ? retentionDefault : toRetention({ what: "retention", item });
        return fromRetention(retentionAfter(before, { retentionMs, nowMs }));
      });
    },
  };
}

/** Puts what follows from what stands there, and what stands there is what it follows from. */
async function change(
  control: ControlTable,
  sk: string,
  options: CallOptions | undefined,
  next: (stored: Item | undefined) => Item,
): Promise<void> {
  const key = { pk: partition, sk };
  for (let tries = 0; tries < limits.registryChangeTriesMax; tries += 1) {
    const stored = await control.get(key, options);
    const item = next(stored);
    const attributes = withoutKey(stored);
    if (isDeepStrictEqual(attributes, item)) return;
    const condition = attributes === undefined ? notExists : unchanged(attributes, item);
    if ((await control.put(key, item, options, condition)) === "done") return;
  }
  throw new StoreError("unavailable", `the registry's entry "${sk}" is being changed by others`);
}

function withoutKey(stored: Item | undefined): Item | undefined {
  if (stored === undefined) return undefined;
  const { pk: _pk, sk: _sk, ...attributes } = stored;
  return attributes;
}

/** Every attribute that is there or will be stands as it was read; but what indexes there are. */
function unchanged(before: Item, after: Item): ControlCondition {
  const all = Object.keys({ ...before, ...after }).filter((name) => name !== "indexKeys");
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

function assertSameKey(table: TableDescription, before: TableDescription): void {
  const keyOf = ({ partitionKey, sortKey }: TableDescription): unknown => [partitionKey, sortKey];
  if (isDeepStrictEqual(keyOf(table), keyOf(before))) return;
  throw new InvalidRequestError(
    "table",
    `table "${table.name}" is registered with another key; a key cannot change`,
  );
}

function assertRetention(retentionMs: number): void {
  const { historyRetentionMsMin: min, historyRetentionMsMax: max } = limits;
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
    ...fromHistory(table),
    access: { S: table.access },
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
  const access = textOf(stored, "access");
  if (access !== "transactional") {
    throw new CorruptDataError(
      `table registry: "${name}" has the access mode "${access}", which this version does not know`,
    );
  }
  const description = {
    name,
    partitionKey: toKeyAttribute(stored, "partitionKey"),
    ...(has(stored, "indexKeys") ? { indexKeys: mapsOf(stored, "indexKeys").map(toIndexKey) } : {}),
    history: booleanOf(stored, "history"),
    ...(has(stored, "historySince")
      ? { historySince: integerOf(stored, "historySince") as Timestamp }
      : {}),
    ...(has(stored, "historyKeptUntilMs")
      ? { historyKeptUntilMs: integerOf(stored, "historyKeptUntilMs") }
      : {}),
    access,
  } as const;
  if (!has(stored, "sortKeyName")) return description;
  return { ...description, sortKey: toKeyAttribute(stored, "sortKey") };
}

function toKeyAttribute(stored: Stored, prefix: "partitionKey" | "sortKey"): KeyAttribute {
  return { name: textOf(stored, `${prefix}Name`), type: keyTypeOf(stored, `${prefix}Type`) };
}

function keyTypeOf(stored: Stored, name: string): KeyType {
  const type = textOf(stored, name);
  if (type !== "S" && type !== "N" && type !== "B") throw corrupt(stored, name);
  return type;
}
