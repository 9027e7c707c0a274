/** The order of sort keys and conditions on them, against the order of their bytes and values. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { compareKeyValues } from "../../core/key-order.ts";
import { matchesSortKey } from "../../core/sort-key-condition.ts";
import type { SortKeyCondition } from "../../core/ports.ts";
import type { AttributeValue } from "../../core/types.ts";
import { binaries, numbers, texts } from "../schemas/arbitraries.ts";

const keys = fc.oneof(
  fc.array(
    texts.map((S) => ({ S })),
    { minLength: 3, maxLength: 3 },
  ),
  fc.array(
    numbers.map((N) => ({ N })),
    { minLength: 3, maxLength: 3 },
  ),
  fc.array(
    binaries.map((B) => ({ B })),
    { minLength: 3, maxLength: 3 },
  ),
) as fc.Arbitrary<[AttributeValue, AttributeValue, AttributeValue]>;

describe("order of sort keys", () => {
  test.each<readonly [AttributeValue, AttributeValue]>([
    [{ S: "Z" }, { S: "a" }],
    [{ S: "a" }, { S: "aa" }],
    [{ S: "\uFFFF" }, { S: "\u{10000}" }],
    [{ N: "9" }, { N: "10" }],
    [{ N: "-10" }, { N: "-9" }],
    [{ N: "-1e-130" }, { N: "0" }],
    [{ N: "9007199254740992" }, { N: "9007199254740993" }],
    [{ B: Uint8Array.of(127) }, { B: Uint8Array.of(128) }],
    [{ B: Uint8Array.of(1) }, { B: Uint8Array.of(1, 0) }],
  ])("%j comes before %j", (low, high) => {
    expect(compareKeyValues(low, high)).toBeLessThan(0);
    expect(compareKeyValues(high, low)).toBeGreaterThan(0);
    expect(compareKeyValues(low, low)).toBe(0);
  });

  test("is total: antisymmetric and transitive", () => {
    fc.assert(
      fc.property(keys, ([a, b, c]) => {
        const sign = (x: AttributeValue, y: AttributeValue) => Math.sign(compareKeyValues(x, y));
        expect(sign(a, b) + sign(b, a)).toBe(0);
        if (sign(a, b) <= 0 && sign(b, c) <= 0) expect(sign(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });

  test("of two types does not exist", () => {
    expect(() => compareKeyValues({ S: "1" }, { N: "1" })).toThrow(InvariantViolation);
  });
});

describe("conditions on sort keys", () => {
  test("agree with the order", () => {
    fc.assert(
      fc.property(keys, ([value, low, high]) => {
        const order = compareKeyValues(value, low);
        const matches = (operator: "=" | "<" | "<=" | ">" | ">=") =>
          matchesSortKey({ operator, value: low }, value);
        expect(matches("=")).toBe(order === 0);
        expect(matches("<")).toBe(order < 0);
        expect(matches("<=")).toBe(order <= 0);
        expect(matches(">")).toBe(order > 0);
        expect(matches(">=")).toBe(order >= 0);
        expect(matchesSortKey({ operator: "between", low, high }, value)).toBe(
          order >= 0 && compareKeyValues(value, high) <= 0,
        );
      }),
    );
  });

  test.each<readonly [boolean, SortKeyCondition, AttributeValue]>([
    [true, { operator: "between", low: { N: "1" }, high: { N: "1.0" } }, { N: "1" }],
    [false, { operator: "between", low: { N: "2" }, high: { N: "1" } }, { N: "1" }],
    [true, { operator: "begins_with", value: { S: "ab" } }, { S: "ab" }],
    [true, { operator: "begins_with", value: { S: "" } }, { S: "ab" }],
    [false, { operator: "begins_with", value: { S: "ab" } }, { S: "a" }],
    [true, { operator: "begins_with", value: { B: Uint8Array.of(1) } }, { B: Uint8Array.of(1, 2) }],
    [
      false,
      { operator: "begins_with", value: { B: Uint8Array.of(2) } },
      { B: Uint8Array.of(1, 2) },
    ],
    [
      false,
      { operator: "begins_with", value: { B: Uint8Array.of(1, 2) } },
      { B: Uint8Array.of(1) },
    ],
    [false, { operator: "begins_with", value: { N: "1" } }, { N: "12" }],
    [false, { operator: "=", value: { S: "1" } }, { N: "1" }],
    [false, { operator: "between", low: { S: "1" }, high: { N: "2" } }, { N: "1" }],
  ])("%s: %j on %j", (expected, condition, value) => {
    expect(matchesSortKey(condition, value)).toBe(expected);
  });
});
