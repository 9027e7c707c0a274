/**
 * The order of sort keys within a partition, as DynamoDB has it: texts by their UTF-8 bytes,
 * numbers by value, binaries by unsigned bytes. Own and pending writes are laid over query results
 * by it.
 */
import { assert } from "./assert.ts";
import { compareNumbers } from "./decimal.ts";
import type { AttributeValue } from "./types.ts";
import { compareBytes, compareUtf8 } from "./utf8.ts";

/**
 * Negative, zero or positive. Both values must have the one type of their key attribute.
 * @throws InvalidRequestError for a number that is none.
 */
export function compareKeyValues(a: AttributeValue, b: AttributeValue): number {
  if ("S" in a && "S" in b) return compareUtf8(a.S, b.S);
  if ("N" in a && "N" in b) return compareNumbers(a.N, b.N);
  assert("B" in a && "B" in b, "key order: both values are texts, numbers or binaries");
  return compareBytes(a.B, b.B);
}

/**
 * Whether two values are of one key type and equal: 1 and 1.0 are one key.
 * @throws as
 * `compareKeyValues`.
 */
export function sameKeyValue(a: AttributeValue, b: AttributeValue): boolean {
  return isComparable(a, b) && compareKeyValues(a, b) === 0;
}

/** Whether both are texts, numbers or binaries. */
export function isComparable(a: AttributeValue, b: AttributeValue): boolean {
  return ("S" in a && "S" in b) || ("N" in a && "N" in b) || ("B" in a && "B" in b);
}
