/**
 * One text per key, equal exactly for equal keys: answers of BatchGetItem come in any order and
 * spell numbers in their own way, so they are matched to the questions by this.
 */
import { InvalidRequestError } from "../core/errors.ts";
import { canonicalNumber } from "../core/decimal.ts";
import type { AttributeValue, Item } from "../core/types.ts";

/** @throws InvalidRequestError for a value that cannot be part of a key. */
export function keyIdentity(table: string, key: Item): string {
  const parts: [string, string][] = [];
  for (const [name, value] of Object.entries(key)) parts.push([name, valueIdentity(name, value)]);
  parts.sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([table, parts]);
}

function valueIdentity(name: string, value: AttributeValue): string {
  if ("S" in value) return `S${value.S}`;
  if ("N" in value) return `N${canonicalNumber(value.N, name)}`;
  if ("B" in value) {
    const { buffer, byteOffset, byteLength } = value.B;
    return `B${Buffer.from(buffer, byteOffset, byteLength).toString("base64")}`;
  }
  throw new InvalidRequestError(name, `"${name}" is a key attribute and must be S, N or B`);
}
