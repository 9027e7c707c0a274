/** Values on their way to DynamoDB and back. */
import {
  marshall as awsMarshall,
  NumberValueImpl as NumberValue,
  unmarshall as awsUnmarshall,
} from "@aws-sdk/util-dynamodb";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "../../core/errors.ts";
import { type MarshallContext, marshallItem, marshallValue } from "../../sdk/marshall.ts";
import { numberReader, numberWriter, unmarshallItem } from "../../sdk/unmarshall.ts";
import { type Numbers } from "../../sdk/numbers.ts";

function refusedField(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof InvalidRequestError) return error.field;
    throw error;
  }
  return "accepted";
}

const fieldOf = (value: unknown, context: MarshallContext = {}): string =>
  refusedField(() => marshallItem({ value }, "item", context));

const scalar = fc.oneof(
  fc.string(),
  fc.maxSafeInteger(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array({ maxLength: 8 }),
  fc.double({ min: -1e15, max: 1e15, noNaN: true }).filter((n) => n === 0 || Math.abs(n) > 1e-100),
);
/** Names that the document client itself stumbles over; "__proto__" has a test of its own. */
const awkward = new Set(["__proto__", "constructor", "toAttributeValue"]);
const plainValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      fc.string({ minLength: 1 }).filter((name) => !awkward.has(name)),
      tie("value"),
      { maxKeys: 4 },
    ),
  ),
})).value;
const row = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/u), plainValue, { maxKeys: 5 });

describe("marshalling", () => {
  test("equal to the document client: what one writes, the other reads", () => {
    fc.assert(
      fc.property(row, (value) => {
        const ours = marshallItem(value, "item", {});
        // The document client returns the spellings of JavaScript, ours DynamoDB's canonical ones,
        // hence the reading.
        const theirs = awsMarshall(value, { removeUndefinedValues: true });
        expect(awsUnmarshall(ours as Parameters<typeof awsUnmarshall>[0])).toEqual(
          awsUnmarshall(theirs),
        );
      }),
    );
  });

  test("round trip: what is written is read back equal", () => {
    fc.assert(
      fc.property(row, (value) => {
        const read = unmarshallItem(marshallItem(value, "item", {}), numberReader("number"));
        // Zero has no sign in DynamoDB.
        expect(JSON.stringify(read)).toBe(JSON.stringify(value));
      }),
    );
  });

  test("sets, bytes, maps and nulls have DynamoDB's types", () => {
    const value = {
      strings: new Set(["a"]),
      numbers: new Set([1, 2n]),
      bytes: new Set([Uint8Array.of(1)]),
      buffer: Buffer.from("x"),
      view: new DataView(Uint8Array.of(7, 8, 9).buffer, 1, 1),
      map: new Map([["k", 1]]),
      nothing: null,
    };
    expect(marshallItem(value, "item", {})).toEqual({
      strings: { SS: ["a"] },
      numbers: { NS: ["1", "2"] },
      bytes: { BS: [Uint8Array.of(1)] },
      buffer: { B: Uint8Array.from([0x78]) },
      view: { B: Uint8Array.of(8) },
      map: { M: { k: { N: "1" } } },
      nothing: { NULL: true },
    });
  });

  test("bytes are copied, so that later changes do not reach the buffered write", () => {
    const bytes = Uint8Array.of(1);
    const item = marshallItem({ bytes }, "item", {});
    bytes[0] = 9;
    const read = unmarshallItem(item, numberReader("number"));
    expect(read).toEqual({ bytes: Uint8Array.of(1) });
    (read["bytes"] as Uint8Array)[0] = 9;
    expect(item).toEqual({ bytes: { B: Uint8Array.of(1) } });
  });

  test("undefined is dropped by default, and refused by its path on demand", () => {
    const value = { a: { b: undefined, c: [1, undefined] } };
    expect(marshallItem(value, "item", {})).toEqual({ a: { M: { c: { L: [{ N: "1" }] } } } });
    const strict = { removeUndefinedValues: false };
    expect(refusedField(() => marshallItem(value, "item", strict))).toBe("item.a.b");
  });

  test("empty values become null only when asked to", () => {
    const value = { text: "", bytes: new Uint8Array(0), set: new Set<string>() };
    expect(marshallItem(value, "item", { convertEmptyValues: true })).toEqual({
      text: { NULL: true },
      bytes: { NULL: true },
      set: { NULL: true },
    });
    expect(marshallValue("", "item", {})).toEqual({ S: "" });
    expect(fieldOf(new Set())).toBe("item.value");
  });

  test("class instances are refused by name, and stored as maps on demand", () => {
    expect(() => marshallItem({ at: new Date(0) }, "item", {})).toThrow(
      /item\.at is an instance of Date/,
    );
    class Point {
      readonly x = 1;
    }
    expect(fieldOf(new Point())).toBe("item.value");
    expect(marshallItem({ p: new Point() }, "item", { convertClassInstanceToMap: true })).toEqual({
      p: { M: { x: { N: "1" } } },
    });
  });

  test.each([
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["NaN", Number.NaN],
    ["infinity", Number.NEGATIVE_INFINITY],
    ["an unsafe integer", 2 ** 53],
    ["a bigint of 39 digits", 10n ** 38n + 1n],
    ["a set of mixed kinds", new Set(["a", 1])],
    ["a set of maps", new Set([{}])],
  ])("refuses %s, naming the attribute", (_name, value) => {
    expect(fieldOf(value)).toBe("item.value");
    expect(fieldOf([{ deep: value }])).toBe("item.value[0].deep");
  });

  test("a cycle is refused as too deep", () => {
    const cycle: Record<string, unknown> = {};
    cycle["next"] = cycle;
    expect(() => marshallItem(cycle, "item", {})).toThrow(/nested deeper than 32 levels/);
  });

  test("an attribute named constructor does not hide that its map is plain", () => {
    const item = marshallItem({ map: { constructor: [] } }, "item", {});
    expect(item).toEqual({ map: { M: { constructor: { L: [] } } } });
  });

  test("an attribute named __proto__ stays an attribute", () => {
    const row = JSON.parse('{"__proto__": {"admin": true}}') as object;
    const item = marshallItem(row, "item", {});
    const read = unmarshallItem(item, numberReader("number"));
    expect(Object.keys(read)).toEqual(["__proto__"]);
    expect(Reflect.get({}, "admin")).toBeUndefined();
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  });
});

describe("numbers", () => {
  const read = (text: string, numbers: Numbers): unknown => numberReader(numbers)(text);

  test("an integer beyond 2^53 is read as a bigint, never rounded", () => {
    expect(read("9007199254740991", "bigint-when-unsafe")).toBe(9007199254740991);
    expect(read("9007199254740993", "bigint-when-unsafe")).toBe(9007199254740993n);
    expect(read("-1.5E20", "bigint-when-unsafe")).toBe(-150000000000000000000n);
    expect(read("0.1", "bigint-when-unsafe")).toBe(0.1);
  });

  test('"number" refuses what a number cannot hold instead of rounding it', () => {
    expect(read("9007199254740991", "number")).toBe(9007199254740991);
    expect(() => read("9007199254740993", "number")).toThrow(InvalidRequestError);
    expect(() => read("9007199254740993.5", "bigint-when-unsafe")).toThrow(/numbers: \(text\)/);
  });

  test("every bigint of 38 digits comes back equal", () => {
    const limit = 10n ** 38n - 1n;
    fc.assert(
      fc.property(fc.bigInt({ min: -limit, max: limit }), (value) => {
        const item = marshallItem({ value }, "item", {});
        const { value: back } = unmarshallItem(item, numberReader("bigint-when-unsafe"));
        expect(BigInt(back as number | bigint)).toBe(value);
      }),
    );
  });

  test("a function gets the exact text, and what it made can be written back", () => {
    const numbers = (text: string): NumberValue => NumberValue.from(text);
    const special = numberWriter(numbers);
    const exact = { N: "0.12345678901234567890123456789012345678" };
    const row = unmarshallItem({ exact }, numberReader(numbers));
    expect(row["exact"]).toEqual(NumberValue.from(exact.N));
    expect(marshallItem(row, "item", special === undefined ? {} : { special })).toEqual({ exact });
  });

  test("objects of any class serve, as long as they print their number", () => {
    class Decimal {
      readonly #text: string;
      constructor(text: string) {
        this.#text = text;
      }
      toString(): string {
        return this.#text;
      }
    }
    const special = numberWriter((text) => new Decimal(text));
    if (special === undefined) throw new Error("a class instance must be recognized");
    expect(marshallItem({ d: new Decimal("1e3") }, "item", { special })).toEqual({
      d: { N: "1000" },
    });
    expect(refusedField(() => marshallItem({ d: new Decimal("x") }, "item", { special }))).toBe(
      "item.d",
    );
  });

  test("a function whose values would be written as another type is refused", () => {
    expect(refusedField(() => numberWriter((text) => text))).toBe("numbers");
    expect(refusedField(() => numberWriter((text) => ({ text })))).toBe("numbers");
    expect(numberWriter(Number)).toBeUndefined();
  });
});
