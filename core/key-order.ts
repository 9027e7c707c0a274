/**
 * The order of sort keys within a partition, as DynamoDB has it: texts by their UTF-8 bytes,
 * numbers by value, binaries by unsigned bytes. Own and pending writes are laid over query results
 * by it.
 */
import { assert, assertNever } from "./assert.ts";
import { compareNumbers } from "./decimal.ts";
import type { SortKeyCondition } from "./ports.ts";
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

/** Whether a sort key's value meets the condition; a value of another type does not. */
export function matchesSortKey(condition: SortKeyCondition, value: AttributeValue): boolean {
  switch (condition.operator) {
    case "between":
      return (
        isComparable(condition.low, value) &&
        isComparable(condition.high, value) &&
        compareKeyValues(condition.low, value) <= 0 &&
        compareKeyValues(value, condition.high) <= 0
      );
    case "begins_with":
      return beginsWith(value, condition.value);
    case "=":
    case "<":
    case "<=":
    case ">":
    case ">=":
      return (
        isComparable(condition.value, value) &&
        holds(condition.operator, compareKeyValues(value, condition.value))
      );
    default:
      return assertNever(condition);
  }
}

function holds(operator: "=" | "<" | "<=" | ">" | ">=", order: number): boolean {
  switch (operator) {
    case "=":
      return order === 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
  }
}

/** Texts and binaries only: DynamoDB knows no prefixes of numbers. */
function beginsWith(value: AttributeValue, prefix: AttributeValue): boolean {
  if ("S" in value && "S" in prefix) return value.S.startsWith(prefix.S);
  if (!("B" in value && "B" in prefix) || value.B.length < prefix.B.length) return false;
  return compareBytes(value.B.subarray(0, prefix.B.length), prefix.B) === 0;
}

function isComparable(a: AttributeValue, b: AttributeValue): boolean {
  return ("S" in a && "S" in b) || ("N" in a && "N" in b) || ("B" in a && "B" in b);
}
