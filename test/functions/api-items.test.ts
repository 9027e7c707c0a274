/** Items between JSON and core: lossless, or refused by name. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addNumbers, canonicalNumber } from "../../core/decimal.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import { isWellFormed } from "../../core/utf8.ts";
import { canonicalItem } from "../../functions/api/conditions.ts";
import { decodeItem, encodeItem, type ItemFormat } from "../../schemas/rest/items.ts";
import { findJsonTextFault, isLosslessNumber } from "../../schemas/rest/json-text.ts";

const names = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom("$typed", "S", "N", "constructor", "toString", "a.b", "a[0]"),
);
const text = fc.string({ unit: "binary", maxLength: 12 }).filter(isWellFormed);
const numberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e120, max: 1e120 }).map(String),
  fc
    .tuple(
      fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }),
      fc.integer({ min: -90, max: 80 }),
    )
    .map(([digits, exponent]) => `${digits.toString()}e${exponent.toString()}`),
);
const canonical = numberText
  .filter((spelled) => {
    try {
      canonicalNumber(spelled);
      return true;
    } catch {
      return false;
    }
  })
  .map((spelled) => canonicalNumber(spelled));
const bytes = fc.uint8Array({ maxLength: 12 });
const distinctBytes = { selector: (each: Uint8Array) => Buffer.from(each).toString("hex") };

const { value } = fc.letrec<{ value: AttributeValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", maxDepth: 6 },
    text.map((S) => ({ S })),
    canonical.map((N) => ({ N })),
    bytes.map((B) => ({ B })),
    fc.boolean().map((BOOL) => ({ BOOL })),
    fc.constant<AttributeValue>({ NULL: true }),
    fc.uniqueArray(text, { minLength: 1, maxLength: 4 }).map((SS) => ({ SS })),
    fc.uniqueArray(canonical, { minLength: 1, maxLength: 4 }).map((NS) => ({ NS })),
    fc.uniqueArray(bytes, { minLength: 1, maxLength: 4, ...distinctBytes }).map((BS) => ({ BS })),
    fc.array(tie("value"), { maxLength: 4 }).map((L) => ({ L })),
    fc.dictionary(names, tie("value"), { maxKeys: 4, noNullPrototype: true }).map((M) => ({ M })),
  ),
}));
const items: fc.Arbitrary<Item> = fc.dictionary(names, value, {
  maxKeys: 5,
  noNullPrototype: true,
});

const decode = (input: unknown, format: ItemFormat = "json"): Item =>
  decodeItem(input, { format, field: "item" });

describe.each<ItemFormat>(["json", "dynamodb"])("format %s", (format) => {
  test("round trip: decode(encode(item)) is the item, through JSON text", () => {
    fc.assert(
      fc.property(items, (item) => {
        const wire = JSON.stringify(encodeItem(item, format));
        // No answer holds a number that a parser would round.
        expect(findJsonTextFault(wire)?.kind).not.toBe("lossy-number");
        const back = decode(JSON.parse(wire), format);
        expect(canonicalItem(back)).toBe(canonicalItem(item));
      }),
      { numRuns: 500 },
    );
  });

  test("total: any JSON is decoded or refused with a field, never crashes", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (input) => {
        try {
          const item = decode(input, format);
          expect(canonicalItem(decode(encodeItem(item, format), format))).toBe(canonicalItem(item));
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidRequestError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe("plain format", () => {
  test("writes sets, binary and long numbers in the escape, and nothing else", () => {
    const item: Item = {
      set: { SS: ["a"] },
      bytes: { B: Uint8Array.of(1, 2, 3) },
      long: { N: "12345678901234567890" },
      short: { N: "0.1" },
      map: { M: { $typed: { S: "own" } } },
    };
    expect(encodeItem(item, "json")).toEqual({
      set: { $typed: { SS: ["a"] } },
      bytes: { $typed: { B: "AQID" } },
      long: { $typed: { N: "12345678901234567890" } },
      short: 0.1,
      map: { $typed: { M: { $typed: { S: "own" } } } },
    });
  });

  test.each([
    [{ a: { $typed: { S: "x" }, b: 1 } }, "must stand alone"],
    [{ a: { $typed: "x" } }, "exactly one type"],
    [{ a: { $typed: { SS: [] } } }, "cannot be empty"],
    [{ a: { $typed: { NS: ["1", "1.0"] } } }, "twice"],
    [{ a: { $typed: { B: "AQI" } } }, "base64"],
    [{ a: { $typed: { N: "1".repeat(39) } } }, "significant digits"],
    [{ a: "\ud800" }, "surrogate"],
    [{ a: 9_007_199_254_740_992 }, "rounded"],
    [JSON.parse(`{"a":${"[".repeat(40)}${"]".repeat(40)}}`), "32 levels"],
  ])("refuses %j: %s", (input, reason) => {
    expect(() => decode(input)).toThrow(reason);
  });
});

describe("numbers in JSON text", () => {
  test.each([
    ["9007199254740991", true],
    ["9007199254740992", false],
    ["-9007199254740991", true],
    ["1e5", true],
    ["1E+2", true],
    ["1e21", false],
    ["1.0000000000000000001", false],
    ["1.000", true],
    ["0.1", true],
    ["0.30000000000000004", true],
    ["0.1000000000000000055", false],
    ["1e-130", true],
    ["1e-131", false],
    ["-0", true],
  ])("%s survives a double: %s", (token, survives) => {
    expect(isLosslessNumber(token)).toBe(survives);
    const text = `{"a":[{"b":"1e999","c":[1,${token}]}]}`;
    const fault = survives ? undefined : { kind: "lossy-number", field: "a[0].c[1]", token };
    expect(findJsonTextFault(text)).toEqual(fault);
  });

  test("finds names that stand twice, also when one is escaped", () => {
    const fault = findJsonTextFault('{"x":{"a":1,"\\u0061":2}}');
    expect(fault).toEqual({ kind: "duplicate-name", field: "x", token: "a" });
    expect(findJsonTextFault('{"a":{"a":1},"b":["a","a",{"a":"b"}]}')).toBeUndefined();
  });

  test("no false alarm: what JSON.stringify writes of safe numbers has no fault", () => {
    const leaf = fc.oneof(fc.maxSafeInteger(), fc.string(), fc.constant(null), fc.boolean());
    const names = fc.string().filter((name) => name !== "__proto__");
    const tree = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        leaf,
        fc.array(tie("node")),
        fc.dictionary(names, tie("node")),
      ),
    })).node;
    fc.assert(
      fc.property(tree, fc.constantFrom(0, 2), (input, indent) => {
        expect(findJsonTextFault(JSON.stringify(input, undefined, indent))).toBeUndefined();
      }),
    );
  });
});

describe("sums", () => {
  test("exact: integers of any size add as integers do", () => {
    const integer = fc.bigInt({ min: -(10n ** 37n), max: 10n ** 37n });
    fc.assert(
      fc.property(integer, integer, (a, b) => {
        expect(addNumbers(a.toString(), b.toString(), "add")).toBe((a + b).toString());
      }),
    );
  });

  test.each([
    ["0.1", "0.2", "0.3"],
    ["-0.5", "0.5", "0"],
    ["0", "0", "0"],
    ["1e37", "0.1", "10000000000000000000000000000000000000.1"],
  ])("%s + %s = %s", (a, b, total) => {
    if (total.replace(".", "").length > 38) {
      expect(() => addNumbers(a, b, "add")).toThrow(InvalidRequestError);
    } else {
      expect(addNumbers(a, b, "add")).toBe(total);
    }
  });
});
