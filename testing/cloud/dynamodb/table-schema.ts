/** Where an item stands in its table and in an index. */
import { attribute } from "../../../core/attributes.ts";
import type { Item } from "../../../core/types.ts";
import type { IndexSchema, KeySchema } from "../../../expressions/key-schema.ts";
import { keyScalar } from "./key-scalar.ts";
import type { RowKey } from "./ordered-rows.ts";

/** Of an item or a key that was checked. */
export function rowKeyOf(schema: KeySchema, item: Item): RowKey {
  const partition = attribute(item, schema.partition.name);
  const sort = schema.sort === undefined ? undefined : attribute(item, schema.sort.name);
  if (partition === undefined || (schema.sort !== undefined && sort === undefined)) {
    throw new TypeError("an item without its key");
  }
  return {
    partition: keyScalar(partition),
    sort: sort === undefined ? undefined : keyScalar(sort),
    owner: "",
  };
}

/** Undefined for an item without the index's key attributes: such an item is not in the index. */
export function indexRowKeyOf(index: IndexSchema, item: Item, row: RowKey): RowKey | undefined {
  const partition = attribute(item, index.partition.name);
  const sort = index.sort === undefined ? undefined : attribute(item, index.sort.name);
  if (partition === undefined || (index.sort !== undefined && sort === undefined)) return undefined;
  const { id } = row.partition;
  return {
    partition: keyScalar(partition),
    sort: sort === undefined ? undefined : keyScalar(sort),
    owner: `${id.length.toString()}:${id}${row.sort?.id ?? ""}`,
  };
}
