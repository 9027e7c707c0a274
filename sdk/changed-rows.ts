/** Rows of what a transaction has changed. A part of its own, loaded with the first feed. */
import type { ChangedItem, CommittedChanges } from "../engine/changes/types.ts";
import { positionText } from "../engine/changes/position.ts";
import type { MarshallOptions } from "./marshall.ts";
import type { Numbers } from "./numbers.ts";
import type { ChangedRows, RowChange } from "./row-changes.ts";
import { RowCodec } from "./row-codec.ts";
import type { AnyTable, RowOf } from "./table.ts";

export function changedRows(
  { position, id, timestamp, bases, items }: CommittedChanges,
  options: { readonly marshall: MarshallOptions; readonly numbers: Numbers },
): ChangedRows {
  const codec = new RowCodec(options);
  const read = <T extends AnyTable, Key>(
    item: ChangedItem,
    table: T,
  ): RowChange<RowOf<T>, Key> => ({
    table: item.table,
    key: codec.decode(untyped(item.table), item.key) as Key,
    after: item.after && codec.decode(table, item.after),
    before: item.before && codec.decode(table, item.before),
  });
  return {
    position: positionText(position),
    transactionId: id,
    commitTimestamp: timestamp,
    bases,
    rows: items.map((item) => read(item, untyped(item.table)) as RowChange),
    of: (table) =>
      items.filter((item) => item.table === table.name).map((item) => read(item, table)),
  };
}

function untyped(name: string): AnyTable {
  return { name, keyNames: undefined, schema: undefined, validateReads: false };
}
