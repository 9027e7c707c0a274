/** Comparisons at their boundaries; random calls to a real server seldom meet two equal values. */
import { describe, expect, test } from "vitest";
import type { AttributeValue } from "../../core/types.ts";
import { bindCondition, meets } from "../../expressions/conditions.ts";
import { readPlaceholders } from "../../expressions/placeholders.ts";

const comparators = ["=", "<>", "<", "<=", ">", ">="] as const;

/** Those that hold between the item's attribute `a` and a value. */
function holding(a: AttributeValue | undefined, value: AttributeValue): string[] {
  return comparators.filter((comparator) => {
    const text = `a ${comparator} :v`;
    const input = { ExpressionAttributeValues: { ":v": value } };
    const placeholders = readPlaceholders(input, { conditions: [text] });
    const condition = bindCondition(placeholders, "ConditionExpression", text);
    return meets(condition, a === undefined ? {} : { a });
  });
}

const bytes = (...values: number[]): AttributeValue => ({ B: Uint8Array.from(values) });

describe.each<[string, { less: AttributeValue; more: AttributeValue; same?: AttributeValue }]>([
  ["numbers", { less: { N: "9" }, more: { N: "10" }, same: { N: "9.0" } }],
  ["negative numbers", { less: { N: "-10" }, more: { N: "-9" }, same: { N: "-1e1" } }],
  ["strings, by their bytes", { less: { S: "Z" }, more: { S: "a" } }],
  ["strings of which one begins the other", { less: { S: "a" }, more: { S: "aa" } }],
  ["binaries, unsigned", { less: bytes(1), more: bytes(200) }],
])("%s", (_, { less, more, same = less }) => {
  test("are less, equal or more", () => {
    expect(holding(less, more)).toEqual(["<>", "<", "<="]);
    expect(holding(less, same)).toEqual(["=", "<=", ">="]);
    expect(holding(more, less)).toEqual(["<>", ">", ">="]);
  });
});

test("values of two types differ, and have no order", () => {
  expect(holding({ S: "1" }, { N: "1" })).toEqual(["<>"]);
});

test("what is not there differs from everything", () => {
  expect(holding(undefined, { N: "1" })).toEqual(["<>"]);
});
