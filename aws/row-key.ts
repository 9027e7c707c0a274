/** The key of a row that a page shows. */
import { attribute, setAttribute } from "../core/attributes.ts";
import { CorruptDataError } from "../core/errors.ts";
import type { AttributeValue, Item, TableDescription } from "../core/types.ts";

/** @throws CorruptDataError when a row lacks a key attribute, which no table allows. */
export function keyOf(table: TableDescription, item: Item): Item {
  const key: Record<string, AttributeValue> = {};
  for (const { name } of keyAttributes(table)) {
    const value = attribute(item, name);
    if (value === undefined) {
      throw new CorruptDataError(
        `table "${table.name}": a row without the key attribute "${name}"; is the table ` +
          "registered with its true key?",
      );
    }
    setAttribute(key, name, value);
  }
  return key;
}

function keyAttributes(table: TableDescription): TableDescription["partitionKey"][] {
  return table.sortKey === undefined ? [table.partitionKey] : [table.partitionKey, table.sortKey];
}
