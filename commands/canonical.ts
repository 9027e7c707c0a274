/**
 * Items as expressions compare them: numbers in one spelling, sets in one order. DynamoDB returns
 * sets in any order, and a transaction its own writes as they were put.
 */
import type { Item } from "../core/types.ts";
import { readItem } from "../expressions/attribute-values.ts";

/** Items are never changed, and most are read more than once. */
const known = new WeakMap<Item, Item>();

export function canonical(item: Item): Item {
  const before = known.get(item);
  if (before !== undefined) return before;
  const read = readItem(item);
  known.set(item, read);
  known.set(read, read);
  return read;
}
