/** Names of keys and versions in a history. */
import { attribute } from "../../core/attributes.ts";
import { canonicalNumber } from "../../core/decimal.ts";
import { assert } from "../../core/assert.ts";
import type { AttributeValue, Item, TableDescription } from "../../core/types.ts";

/**
 * The attribute in which a recorded item carries the name of its version: a text. Not reserved by
 * Tidemark.
 */
export const historyAttribute = "_h";

/**
 * A key's name: table, then the key's values as JSON has them, such as `seats["show-1",14]`.
 * Numbers are spelled canonically, binaries as base64 in `b"…"`. Equal exactly for the same item.
 * @param item the key, or an item that holds it.
 */
export function historyKey(
  table: Pick<TableDescription, "name" | "partitionKey" | "sortKey">,
  item: Item,
): string {
  const partition = keyPart(item, table.partitionKey.name);
  if (table.sortKey === undefined) return `${table.name}[${partition}]`;
  return `${table.name}[${partition},${keyPart(item, table.sortKey.name)}]`;
}

/**
 * The name of the version that an item carries, as stored or as read: for files of version orders
 * and final states. Null for no item; undefined where nobody recorded the write.
 */
export function historyVersion(item: Item | undefined): string | null | undefined {
  if (item === undefined) return null;
  const value = attribute(item, historyAttribute);
  return value !== undefined && "S" in value ? value.S : undefined;
}

/**
 * The version of an item that was there before anybody recorded: one name per key. A recorder
 * states these versions in a transaction of kind `init`.
 */
export function initialVersion(key: string): string {
  return `initial ${key}`;
}

function keyPart(item: Item, name: string): string {
  const value = attribute(item, name);
  assert(value !== undefined, `history: an item lacks its key attribute ${name}`);
  return valueText(value);
}

function valueText(value: AttributeValue): string {
  if ("S" in value) return JSON.stringify(value.S);
  if ("N" in value) return canonicalNumber(value.N);
  assert("B" in value, "history: a key is a text, a number or a binary");
  return `b"${btoa(String.fromCharCode(...value.B))}"`;
}
