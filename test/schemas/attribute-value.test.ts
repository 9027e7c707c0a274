/** Attribute values as bytes: lossless, canonical, and nothing but the canonical form is taken. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalNumber } from "../../core/decimal.ts";
import { FrameError, InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import { validateValue } from "../../schemas/attribute-value-scan.ts";
import { encodeItem, encodeValue } from "../../schemas/attribute-value.ts";
import { decodeItem, decodeValue } from "../../schemas/attribute-value-reading.ts";
import { fromHex, hex, integers, mapOf, numbers, values } from "./arbitraries.ts";

/** The value as decoding gives it: canonical numbers, sets in canonical order. */
function normal(value: AttributeValue): AttributeValue {
  if ("N" in value) return { N: canonicalNumber(value.N) };
  if ("L" in value) return { L: value.L.map(normal) };
  if ("M" in value) return { M: normalItem(value.M) };
  if ("SS" in value) return { SS: byEncoding(value.SS.map((S) => ({ S }))).map(({ S }) => S) };
  if ("NS" in value) {
    return { NS: byEncoding(value.NS.map((N) => ({ N: canonicalNumber(N) }))).map(({ N }) => N) };
  }
  if ("BS" in value) {
    return { BS: [...value.BS].sort((a, b) => Buffer.compare(a, b)) };
  }
  return value;
}

function normalItem(item: Item): Item {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, normal(value)]));
}

function byEncoding<Member extends { readonly S: string } | { readonly N: string }>(
  members: readonly Member[],
): readonly Member[] {
  const bytesOf = (member: Member): Uint8Array =>
    "S" in member ? Buffer.from(member.S, "utf8") : encodeValue(member);
  return [...members].sort((a, b) => Buffer.compare(bytesOf(a), bytesOf(b)));
}

function faultOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof FrameError) return error.fault;
    throw error;
  }
  return "none";
}

function nested(containers: number): AttributeValue {
  let value: AttributeValue = { S: "" };
  for (let i = 0; i < containers; i++) value = i % 2 === 0 ? { L: [value] } : { M: { a: value } };
  return value;
}

describe("golden vectors", () => {
  const vectors: readonly (readonly [string, AttributeValue])[] = [
    ["00", { NULL: true }],
    ["01", { BOOL: false }],
    ["02", { BOOL: true }],
    ["80", { S: "" }],
    ["83 616263", { S: "abc" }],
    ["84 f09f9880", { S: "😀" }],
    [`bf ${"61".repeat(63)}`, { S: "a".repeat(63) }],
    [`03 40 ${"61".repeat(64)}`, { S: "a".repeat(64) }],
    ["c0", { N: "0" }],
    ["ff", { N: "63" }],
    ["04 8001", { N: "64" }],
    ["04 01", { N: "-1" }],
    ["04 feffffffffffff1f", { N: "9007199254740991" }],
    ["05 10 39303037313939323534373430393932", { N: "9007199254740992" }],
    ["05 05 2d312e3235", { N: "-1.25" }],
    ["06 00", { B: new Uint8Array(0) }],
    ["06 02 00ff", { B: Uint8Array.of(0, 255) }],
    ["07 00", { L: [] }],
    ["07 02 c1 8178", { L: [{ N: "1" }, { S: "x" }] }],
    ["08 00", { M: {} }],
    ["08 02 0161 c1 0162 02", { M: { a: { N: "1" }, b: { BOOL: true } } }],
    ["09 02 00 0161", { SS: ["", "a"] }],
    ["0a 03 04 01 05 03 302e35 c7", { NS: ["-1", "0.5", "7"] }],
    ["0b 02 00 01ff", { BS: [new Uint8Array(0), Uint8Array.of(255)] }],
  ];
  test.each(vectors)("%s", (bytes, value) => {
    expect(hex(encodeValue(value))).toBe(bytes.replaceAll(" ", ""));
    expect(decodeValue(fromHex(bytes))).toEqual(value);
  });
});

describe("round trip", () => {
  test("every value comes back, its numbers canonical and its sets in order", () => {
    fc.assert(
      fc.property(values(), (value) => {
        const bytes = encodeValue(value);
        validateValue(bytes);
        expect(decodeValue(bytes)).toEqual(normal(value));
        expect(encodeValue(decodeValue(bytes))).toEqual(bytes);
      }),
    );
  });

  test("every item comes back, whatever its attributes are called", () => {
    fc.assert(
      fc.property(mapOf(values(2)), (item) => {
        const decoded = decodeItem(encodeItem(item));
        expect(decoded).toEqual(normalItem(item));
        expect(Object.keys(decoded).sort()).toEqual(Object.keys(item).sort());
        expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
      }),
    );
  });

  test("values nest exactly as deep as the limit", () => {
    const deepest = nested(limits.itemDepthMax - 1);
    expect(decodeValue(encodeValue(deepest))).toEqual(deepest);
    expect(() => encodeValue(nested(limits.itemDepthMax))).toThrow(InvalidRequestError);
    const bytes = fromHex(`${"0701".repeat(limits.itemDepthMax)}c0`);
    expect(faultOf(() => decodeValue(bytes))).toBe("malformed");
    expect(faultOf(() => decodeValue(bytes.subarray(2)))).toBe("none");
  });

  test("nesting far beyond the limit is refused without exhausting the stack", () => {
    expect(faultOf(() => decodeValue(fromHex("0701".repeat(100_000))))).toBe("malformed");
  });
});

describe("canonical form", () => {
  test("two numbers encode alike exactly if they are the same number", () => {
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        const equal = hex(encodeValue({ N: a })) === hex(encodeValue({ N: b }));
        expect(equal).toBe(canonicalNumber(a) === canonicalNumber(b));
      }),
    );
  });

  test("every spelling of an integer encodes alike", () => {
    fc.assert(
      fc.property(integers, fc.nat(5), (integer, zeros) => {
        const text = integer.toString();
        const expected = hex(encodeValue({ N: text }));
        expect(hex(encodeValue({ N: `${text}.${"0".repeat(zeros)}` }))).toBe(expected);
        expect(hex(encodeValue({ N: `${text}${"0".repeat(zeros)}e-${zeros.toString()}` }))).toBe(
          expected,
        );
      }),
    );
  });

  test("the order of attributes and of set members leaves no trace", () => {
    const one = encodeValue({ M: { a: { SS: ["x", "y"] }, b: { NS: ["1", "-0.5"] } } });
    const other = encodeValue({ M: { b: { NS: ["-0.50", "1.0"] }, a: { SS: ["y", "x"] } } });
    expect(other).toEqual(one);
  });

  test("any bytes that decode are the encoding of what they decode to", () => {
    const tagged = fc
      .tuple(fc.constantFrom(3, 4, 5, 6, 7, 8, 9, 10, 11, 0x81, 0xc1), fc.array(fc.nat(12)))
      .map(([tag, rest]) => Uint8Array.from([tag, ...rest]));
    fc.assert(
      fc.property(fc.oneof(tagged, fc.uint8Array({ maxLength: 24 })), (bytes) => {
        if (
          faultOf(() => {
            validateValue(bytes);
          }) !== "none"
        )
          return;
        expect(hex(encodeValue(decodeValue(bytes)))).toBe(hex(bytes));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("malformed values", () => {
  test.each([
    ["0c", "an unknown tag"],
    ["7f", "an unknown tag"],
    ["03 02 6161", "a short text in the long form"],
    ["81 ff", "a text that is not UTF-8"],
    ["04 02", "a small integer in the long form"],
    ["04 ffffffffffffff1f", "an integer that is not safe"],
    ["05 01 31", "an integer as text"],
    ["05 03 312e30", "a trailing zero"],
    ["05 02 2e35", "a missing zero"],
    ["05 04 30302e35", "a leading zero"],
    ["05 04 312e3265", "an exponent"],
    [`05 27 ${"31".repeat(39)}`, "39 digits"],
    ["08 02 0161 c0 0161 c0", "a name twice"],
    ["08 02 0162 c0 0161 c0", "names out of order"],
    ["08 01 01ff c0", "a name that is not UTF-8"],
    ["09 00", "an empty set"],
    ["09 02 0161 0161", "a text member twice"],
    ["09 02 0162 0161", "text members out of order"],
    ["0a 02 c1 c1", "a number member twice"],
    ["0a 01 8161", "a text in a number set"],
    ["0a 01 0700", "a list in a number set"],
    ["0b 02 01ff 01ff", "a binary member twice"],
    ["07 8000", "a count that is not minimal"],
  ])("%s is refused: %s", (bytes) => {
    expect(
      faultOf(() => {
        validateValue(fromHex(bytes));
      }),
    ).toBe("malformed");
  });

  test.each([
    ["0c", "an unknown tag"],
    ["81 ff", "a text that is not UTF-8"],
    ["04 ffffffffffffff1f", "an integer that is not safe"],
    ["08 01 01ff c0", "a name that is not UTF-8"],
    ["0a 01 8161", "a text in a number set"],
    ["0a 01 0700", "a list in a number set"],
    ["07 8000", "a count that is not minimal"],
  ])("%s has no meaning, and does not decode: %s", (bytes) => {
    expect(faultOf(() => decodeValue(fromHex(bytes)))).toBe("malformed");
  });

  test("bytes after a value are refused by name", () => {
    expect(faultOf(() => decodeValue(fromHex("c0c0")))).toBe("trailing-bytes");
  });

  test("every truncation is refused, by scanning and by decoding alike", () => {
    fc.assert(
      fc.property(values(3), (value) => {
        const bytes = encodeValue(value);
        for (let length = 0; length < bytes.length; length++) {
          const part = bytes.subarray(0, length);
          expect(faultOf(() => decodeValue(part))).not.toBe("none");
          expect(
            faultOf(() => {
              validateValue(part);
            }),
          ).not.toBe("none");
        }
      }),
    );
  });

  test("a count of millions in a few bytes is refused at once", () => {
    for (const tag of ["07", "08", "09", "0a", "0b"]) {
      expect(faultOf(() => decodeValue(fromHex(`${tag}ffffff7f`)))).toBe("truncated");
    }
  });
});

describe("values that DynamoDB does not have", () => {
  test.each<readonly [string, AttributeValue]>([
    ["an empty set", { SS: [] }],
    ["a text twice", { SS: ["a", "a"] }],
    ["a number twice, spelled differently", { NS: ["1", "1.0"] }],
    ["a binary twice", { BS: [Uint8Array.of(1), Uint8Array.of(1)] }],
    ["a word for a number", { N: "one" }],
    ["an unpaired surrogate", { S: "\uDC00" }],
    ["no type", {} as AttributeValue],
  ])("%s is refused as an invalid request", (_, value) => {
    expect(() => encodeValue(value)).toThrow(InvalidRequestError);
  });
});
