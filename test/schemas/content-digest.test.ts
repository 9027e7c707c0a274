/** Digests of what items hold: equal exactly where contents are the same. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemDigest } from "../../aws/system-digest.ts";
import { sameContent } from "../../core/item-content.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import { contentDigest, contentDigestBytes, rowsDigest } from "../../schemas/content-digest.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const of = (content: Item | undefined): string => hex(contentDigest(content, systemDigest));
const ofRows = (rows: readonly Item[]): string => hex(rowsDigest(rows, systemDigest));

const leaf: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.record({ S: fc.constantFrom("", "1", "a") }),
  fc.record({ N: fc.constantFrom("0", "1", "1.0", "1e0", "-1", "12345678901234567890") }),
  fc.record({ B: fc.uint8Array({ maxLength: 2, max: 1 }) }),
  fc.record({ BOOL: fc.boolean() }),
  fc.constant<AttributeValue>({ NULL: true }),
  fc.record({ SS: fc.shuffledSubarray(["a", "b", "1"], { minLength: 1 }) }),
  fc.record({ NS: fc.shuffledSubarray(["1", "2", "3e0"], { minLength: 1 }) }),
);
const value: fc.Arbitrary<AttributeValue> = fc.oneof(
  leaf,
  fc.record({ L: fc.array(leaf, { maxLength: 2 }) }),
  fc.record({ M: fc.dictionary(fc.constantFrom("a", "b"), leaf) }),
);
const content = fc.dictionary(fc.constantFrom("pk", "n", "__proto__"), value, { maxKeys: 2 });

describe("the digest of a content", () => {
  test("has 16 bytes, and tells an absent item from an empty one", () => {
    expect(contentDigest(undefined, systemDigest)).toHaveLength(contentDigestBytes);
    expect(of(undefined)).not.toBe(of({}));
  });

  test("is the same exactly for what DynamoDB calls equal", () => {
    fc.assert(
      fc.property(content, content, (a, b) => {
        expect(of(a) === of(b)).toBe(sameContent(a, b));
      }),
      { numRuns: 2_000 },
    );
  });

  test.each<[string, Item, Item]>([
    ["the spelling of numbers", { n: { N: "1.0" } }, { n: { N: "1" } }],
    ["the order of a set", { s: { SS: ["a", "b"] } }, { s: { SS: ["b", "a"] } }],
    ["the order of attributes", { a: { S: "" }, b: { S: "" } }, { b: { S: "" }, a: { S: "" } }],
  ])("does not depend on %s", (_, a, b) => {
    expect(of(a)).toBe(of(b));
  });

  test.each<[string, Item, Item]>([
    ["a number and its text", { n: { N: "1" } }, { n: { S: "1" } }],
    ["the order of a list", { l: { L: [{ S: "a" }, { S: "b" }] } }, { l: { L: [{ S: "b" }] } }],
    ["a list and a set", { l: { L: [{ S: "a" }] } }, { l: { SS: ["a"] } }],
    ["an attribute more", { a: { S: "" } }, { a: { S: "" }, b: { NULL: true } }],
  ])("tells apart %s", (_, a, b) => {
    expect(of(a)).not.toBe(of(b));
  });
});

describe("the digest of rows", () => {
  const [a, b]: readonly Item[] = [{ pk: { S: "a" } }, { pk: { S: "b" } }];

  test("depends on every row and on their order, and is no digest of one item", () => {
    const digests = [[], [a], [b], [a, b], [b, a], [a, a]].map((rows) => ofRows(rows as Item[]));
    expect(new Set([...digests, of(undefined), of({}), of(a), of(b)]).size).toBe(10);
  });
});
