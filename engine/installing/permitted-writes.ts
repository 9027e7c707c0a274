/**
 * What may be written for others. The oracle has compared every payload with the registry, but who
 * installs goes by the log: a block may have been put by somebody else, and a table may have been
 * taken out of the registry since. The rights of replay, and of whoever keeps house or helps, may
 * reach further than those of a block's maker. So each looks for itself, at the table, at the names
 * and types of its key, and at an idempotency entry's key. No more: what an index does not take the
 * store refuses, and what an entry holds a client may write without any block, too.
 *
 * Whether a table keeps history or is mixed is not compared: that may change between commit and
 * install. Who installs goes by the payload, and by the vote's stamps; replay orders writes with
 * history and without (functions/replay/chunk.ts). The oracle does compare it
 * (schemas/payload-scan.ts), over encoded bytes, before anything is committed.
 */
import { attribute } from "../../core/attributes.ts";
import { isIdempotencyKey } from "../../core/idempotency-key.ts";
import { isOwnTable } from "../../core/own-tables.ts";
import type {
  Item,
  KeyAttribute,
  PayloadTable,
  TableDescription,
  Write,
} from "../../core/types.ts";
import { describeTable, stampAt, writeAt, type Commit } from "./payload-writes.ts";

export type PermittedTables = {
  readonly registry: { find(table: string): TableDescription | undefined };
  readonly idempotencyTable: TableDescription;
};

/** Why the commit's write must not be made; undefined for one that may. Names, never values. */
export function refusalOf(
  commit: Commit,
  index: number,
  { registry, idempotencyTable }: PermittedTables,
): string | undefined {
  const { write, table } = writeAt(commit.payload, index);
  if (table.name === idempotencyTable.name) return entryRefusal(write, table, idempotencyTable);
  if (isOwnTable(table.name)) return `table "${table.name}" is Tidemark's own`;
  const known = registry.find(table.name);
  if (known === undefined) return `table "${table.name}" is not registered`;
  // Nobody has fenced the item: there is no telling which native write it would overwrite.
  if (table.isMixed === true && stampAt(commit, index) === undefined) {
    return `table "${table.name}" is mixed, and no vote says what the write replaces`;
  }
  return keyRefusal(table, write.key, known);
}

function entryRefusal(
  write: Write,
  table: PayloadTable,
  control: TableDescription,
): string | undefined {
  const partition = textOf(write.key, control.partitionKey);
  const sort = textOf(write.key, control.sortKey);
  const isEntry = write.item !== undefined && isIdempotencyKey(partition, sort);
  if (!isEntry) return `table "${table.name}" is Tidemark's own`;
  return keyRefusal(table, write.key, control);
}

function keyRefusal(table: PayloadTable, key: Item, known: TableDescription): string | undefined {
  const given = describeTable(table, key);
  const wanted = [known.partitionKey, known.sortKey];
  const differs = [given.partitionKey, given.sortKey].some(
    (each, i) => each?.name !== wanted[i]?.name || each?.type !== wanted[i]?.type,
  );
  if (!differs) return undefined;
  return (
    `table "${table.name}" is registered with the key ${keyText(known)}, ` +
    `and the payload has ${keyText(given)}`
  );
}

function keyText({ partitionKey, sortKey }: TableDescription): string {
  const keys = sortKey === undefined ? [partitionKey] : [partitionKey, sortKey];
  return keys.map(({ name, type }) => `${name} (${type})`).join(", ");
}

function textOf(key: Item, of: KeyAttribute | undefined): string {
  const value = of === undefined ? undefined : attribute(key, of.name);
  return value !== undefined && "S" in value ? value.S : "";
}
