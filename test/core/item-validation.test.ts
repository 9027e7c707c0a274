/** Keys and items that DynamoDB would refuse are refused before a transaction sends anything. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidRequestError, TransactionTooLargeError } from "../../core/errors.ts";
import { itemSizeBytes, itemWeightBytes } from "../../core/item-size.ts";
import { validateItem, validateKey } from "../../core/item-validation.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue, Item, TableDescription } from "../../core/types.ts";
import { encodeItem } from "../../schemas/attribute-value.ts";
import { mapOf, values } from "../schemas/arbitraries.ts";

const table: TableDescription = {
  name: "orders",
  partitionKey: { name: "customer", type: "S" },
  sortKey: { name: "number", type: "N" },
  history: false,
  access: "transactional",
};
const blobs: TableDescription = {
  name: "blobs",
  partitionKey: { name: "id", type: "B" },
  history: false,
  access: "transactional",
};
const key: Item = { customer: { S: "c" }, number: { N: "1" } };

/** The error, which must name its field and its remedy. */
function refusal(check: () => void): InvalidRequestError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof InvalidRequestError) return error;
    throw error;
  }
}

describe("keys", () => {
  test("a key with exactly the table's attributes is taken, at the limits too", () => {
    validateKey(table, key);
    validateKey(table, { ...key, customer: { S: "ä".repeat(1024) } });
    validateKey(blobs, { id: { B: new Uint8Array(2048) } });
  });

  test.each<readonly [string, string, Item]>([
    ["a missing partition key", "customer", { number: { N: "1" } }],
    ["a missing sort key", "number", { customer: { S: "c" } }],
    ["a key of another type", "number", { ...key, number: { S: "1" } }],
    ["an empty text", "customer", { ...key, customer: { S: "" } }],
    ["a text too long in UTF-8", "customer", { ...key, customer: { S: "ä".repeat(1025) } }],
    ["a number that is none", "number", { ...key, number: { N: "x" } }],
    ["an attribute too many", "extra", { ...key, extra: { N: "1" } }],
    ["an unpaired surrogate", "customer", { ...key, customer: { S: "\uD800" } }],
    ["no value", "customer", { ...key, customer: undefined as unknown as AttributeValue }],
    ["a plain value", "customer", { ...key, customer: "c" as unknown as AttributeValue }],
  ])("%s is refused under its field's name", (_, field, given) => {
    expect(
      refusal(() => {
        validateKey(table, given);
      })?.field,
    ).toBe(field);
  });

  test("a sort key has a limit of its own", () => {
    const texts: TableDescription = { ...table, sortKey: { name: "number", type: "S" } };
    validateItem(texts, { ...key, number: { S: "n".repeat(1024) } });
    const long = { ...key, number: { S: "n".repeat(1025) } };
    expect(
      refusal(() => {
        validateItem(texts, long);
      })?.message,
    ).toContain("1024");
  });

  test("an empty binary is refused", () => {
    expect(
      refusal(() => {
        validateKey(blobs, { id: { B: new Uint8Array(0) } });
      })?.field,
    ).toBe("id");
  });
});

function nested(levels: number): AttributeValue {
  return levels === 0 ? { BOOL: true } : { L: [nested(levels - 1)] };
}

describe("items", () => {
  test("every item that DynamoDB has a place for is taken, and can be encoded", () => {
    fc.assert(
      fc.property(mapOf(values(3)), (others) => {
        validateItem(table, { ...others, ...key });
        encodeItem(others);
      }),
    );
  });

  test.each<readonly [string, string, unknown]>([
    ["_v", "a reserved attribute", { N: "1" }],
    ["_x", "a reserved attribute", { BOOL: true }],
    ["a", "an empty set", { SS: [] }],
    ["a", "a text twice", { SS: ["x", "x"] }],
    ["a", "a number twice in two spellings", { NS: ["1", "1.0"] }],
    ["a", "a binary twice", { BS: [Uint8Array.of(1), Uint8Array.of(1)] }],
    ["a", "a number too long", { N: "1".repeat(39) }],
    ["a", "a number as a number", { N: 1 }],
    ["a", "NULL false", { NULL: false }],
    ["a", "BOOL as text", { BOOL: "true" }],
    ["a", "two types", { S: "x", N: "1" }],
    ["a", "no type", {}],
    ["a", "an unknown type", { X: "x" }],
    ["a", "a list that is none", { L: {} }],
    ["a", "a map that is none", { M: [] }],
    ["a", "a binary as an array", { B: [1] }],
    ["a.b[1]", "a bad value deep inside", { M: { b: { L: [{ S: "" }, { N: "x" }] } } }],
    ["a.", "an empty name", { M: { "": { S: "x" } } }],
    ["", "an empty name at the top", { S: "x" }],
  ])("attribute %j with %s is refused under its path", (field, _, value) => {
    const name = field.split(".")[0] ?? "";
    const item = { ...key, [name]: value as AttributeValue };
    expect(
      refusal(() => {
        validateItem(table, item);
      })?.field,
    ).toBe(field);
  });

  test("binaries that are no text are told apart in a set, buffers too", () => {
    validateItem(table, { ...key, a: { BS: [Buffer.from([0xfe]), Buffer.from([0xff])] } });
  });

  test("nesting is taken up to the limit, and refused beyond it", () => {
    validateItem(table, { ...key, a: nested(limits.itemDepthMax - 1) });
    encodeItem({ a: nested(limits.itemDepthMax - 1) });
    const deep = { ...key, a: nested(limits.itemDepthMax) };
    expect(
      refusal(() => {
        validateItem(table, deep);
      })?.message,
    ).toContain("32");
    expect(() => encodeItem({ a: nested(limits.itemDepthMax) })).toThrow(InvalidRequestError);
  });

  test("an item as large as DynamoDB takes, with Tidemark's attributes, is the largest", () => {
    const room = limits.itemBytesMax - limits.reservedAttributeBytes - itemSizeBytes(key) - 1;
    const item = (length: number) => ({ ...key, a: { B: new Uint8Array(length) } });
    validateItem(table, item(room));
    try {
      validateItem(table, item(room + 1));
      expect.unreachable("a larger item was taken");
    } catch (error) {
      expect(error).toBeInstanceOf(TransactionTooLargeError);
      expect((error as TransactionTooLargeError).limit).toEqual({
        name: "itemBytesMax",
        max: limits.itemBytesMax,
        actual: limits.itemBytesMax + 1,
      });
    }
  });

  test("what Tidemark adds fits the room that is kept for it", () => {
    const added = { _v: { N: Number.MAX_SAFE_INTEGER.toString() }, _x: { BOOL: true } } as const;
    expect(itemSizeBytes(added)).toBeLessThanOrEqual(limits.reservedAttributeBytes);
  });
});

describe("sizes, as DynamoDB counts them", () => {
  test.each<readonly [number, AttributeValue]>([
    [0, { S: "" }],
    [4, { S: "😀" }],
    [3, { B: new Uint8Array(3) }],
    [1, { BOOL: true }],
    [1, { NULL: true }],
    [1, { N: "0" }],
    [2, { N: "1" }],
    [2, { N: "10" }],
    [3, { N: "123" }],
    [3, { N: "-27" }],
    [2, { N: "27e100" }],
    [20, { N: "1".repeat(38) }],
    [21, { N: `1.${"1".repeat(37)}` }],
    [5, { SS: ["ab", "cde"] }],
    [4, { NS: ["1", "2"] }],
    [3, { L: [] }],
    [3 + 1 + 2 + 1 + 1, { L: [{ N: "1" }, { NULL: true }] }],
    [3 + 1 + 2 + 2, { M: { ab: { N: "1" } } }],
  ])("%d bytes: %j", (size, value) => {
    expect(itemSizeBytes({ a: value })).toBe(1 + size);
  });
});

test.each<readonly [number, AttributeValue]>([
  [1, { S: "abc" }],
  [1, { B: new Uint8Array(3) }],
  [1, { L: [] }],
  [4, { L: [{ NULL: true }, { NULL: true }, { S: "" }] }],
  [4, { M: { a: { L: [{ N: "1" }] }, b: { BOOL: true } } }],
  [3, { SS: ["ab", "cde"] }],
  [3, { NS: ["1", "2"] }],
  [2, { BS: [new Uint8Array(1)] }],
])("in memory there are %d objects beside the bytes: %j", (objects, value) => {
  const item = { a: value };
  expect(itemWeightBytes(item)).toBe(itemSizeBytes(item) + 64 * objects);
});

describe("index keys", () => {
  const indexed: TableDescription = {
    ...blobs,
    indexKeys: [
      { name: "owner", type: "S", role: "partition" },
      { name: "place", type: "S", role: "sort" },
    ],
  };
  const id = { B: new Uint8Array([1]) };

  test("an item may lack them, or have them with their type", () => {
    validateItem(indexed, { id });
    validateItem(indexed, { id, owner: { S: "o" }, place: { S: "p".repeat(1024) } });
  });

  test.each<[string, Item]>([
    ["owner", { id, owner: { N: "1" } }],
    ["owner", { id, owner: { S: "" } }],
    ["owner", { id, owner: { S: "o".repeat(2049) } }],
    ["place", { id, place: { S: "p".repeat(1025) } }],
  ])("an index would refuse this %s, so the item is refused", (field, item) => {
    expect(
      refusal(() => {
        validateItem(indexed, item);
      })?.field,
    ).toBe(field);
  });
});
