/** DynamoDB's numbers: one canonical text each, the limits, and their order. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalNumber,
  compareNumbers,
  isCanonicalLongNumber,
  parseDecimal,
  safeInteger,
} from "../../core/decimal.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import { numbers } from "../schemas/arbitraries.ts";

/** Exact value as an integer of 10^-200, by another way than the code under test. */
function scaled(text: string): bigint {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace(/^[+-]/, "").split(".");
  const power = 200 + Number(exponent) - fraction.length;
  const magnitude = BigInt(whole + fraction || "0") * 10n ** BigInt(Math.max(power, 0));
  return mantissa.startsWith("-") ? -magnitude : magnitude;
}

describe("canonical numbers", () => {
  test.each([
    ["1.0", "1"],
    ["1e0", "1"],
    ["+1", "1"],
    ["001", "1"],
    ["10e-1", "1"],
    [".5", "0.5"],
    ["5.", "5"],
    ["-0", "0"],
    ["-0.000e99999", "0"],
    ["1.50", "1.5"],
    ["-12.340e1", "-123.4"],
    ["1e3", "1000"],
    ["1.5E-3", "0.0015"],
    ["9007199254740993", "9007199254740993"],
    ["1e125", `1${"0".repeat(125)}`],
    ["1e-130", `0.${"0".repeat(129)}1`],
    ["123456789012345678901234567890.12345678", "123456789012345678901234567890.12345678"],
  ])("%s is written %s", (text, canonical) => {
    expect(canonicalNumber(text)).toBe(canonical);
  });

  test.each([
    ["", "not-a-number"],
    [" 1", "not-a-number"],
    ["1 ", "not-a-number"],
    ["1\n", "not-a-number"],
    [".", "not-a-number"],
    ["e5", "not-a-number"],
    ["1e", "not-a-number"],
    ["0x10", "not-a-number"],
    ["NaN", "not-a-number"],
    ["Infinity", "not-a-number"],
    ["1,5", "not-a-number"],
    ["1e126", "overflow"],
    ["-9.9e126", "overflow"],
    ["1e99999999999999999999", "overflow"],
    ["1e-131", "underflow"],
    ["0.1e-130", "underflow"],
    ["1e-99999999999999999999", "underflow"],
    ["1".repeat(39), "too-many-digits"],
    [`1.${"0".repeat(37)}1`, "too-many-digits"],
  ])("refuses %j as %s", (text, fault) => {
    expect(parseDecimal(text)).toBe(fault);
    expect(() => canonicalNumber(text, "price")).toThrow(InvalidRequestError);
    expect(() => canonicalNumber(text, "price")).toThrow(/^price: /);
  });

  test.each([
    "1".repeat(38),
    `${"9".repeat(38)}${"0".repeat(88)}`,
    `1e-130`,
    `0.${"0".repeat(50)}`,
  ])("takes %s, which lies just within the limits", (text) => {
    expect(typeof parseDecimal(text)).toBe("object");
  });

  test("any spelling keeps its exact value", () => {
    fc.assert(
      fc.property(numbers, (text) => {
        expect(scaled(canonicalNumber(text))).toBe(scaled(text));
      }),
    );
  });

  test("the canonical text is its own canonical text", () => {
    fc.assert(
      fc.property(numbers, (text) => {
        const canonical = canonicalNumber(text);
        expect(canonicalNumber(canonical)).toBe(canonical);
      }),
    );
  });

  test("two spellings have one canonical text exactly if they are one number", () => {
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        expect(canonicalNumber(a) === canonicalNumber(b)).toBe(scaled(a) === scaled(b));
      }),
    );
  });

  test("the byte check accepts a canonical text that is no safe integer, and nothing else", () => {
    const accepts = (text: string): boolean => {
      const bytes = new TextEncoder().encode(`1.${text}.5`);
      return isCanonicalLongNumber(bytes, 2, 2 + text.length);
    };
    const digits = fc.string({ unit: fc.constantFrom(..."-.0019"), maxLength: 24 });
    fc.assert(
      fc.property(
        fc.oneof(
          numbers,
          digits,
          numbers.map((n) => canonicalNumber(n)),
        ),
        (text) => {
          const decimal = parseDecimal(text);
          const expected =
            typeof decimal === "object" &&
            canonicalNumber(text) === text &&
            safeInteger(text) === undefined;
          expect(accepts(text)).toBe(expected);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("order", () => {
  test("numbers compare by value, not by text", () => {
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        const difference = scaled(a) - scaled(b);
        expect(Math.sign(compareNumbers(a, b))).toBe(
          difference > 0n ? 1 : difference < 0n ? -1 : 0,
        );
      }),
    );
  });
});
