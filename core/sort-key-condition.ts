/** What a query asks of sort keys, by their order (key-order.ts). */
import { assertNever } from "./assert.ts";
import { compareKeyValues, isComparable } from "./key-order.ts";
import type { SortKeyCondition } from "./ports.ts";
import type { AttributeValue } from "./types.ts";
import { compareBytes } from "./utf8.ts";

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
