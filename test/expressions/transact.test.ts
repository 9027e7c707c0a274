/** What TransactWriteItems asks of a request as a whole, at the borders. */
import { describe, expect, test } from "vitest";
import {
  checkTransact,
  decideAll,
  requireDistinctItems,
  requestText,
} from "../../expressions/transact.ts";

const parts = (count: number) => Array.from({ length: count }, () => ({}));

describe("a request", () => {
  test.each([1, 100])("may have %d parts", (count) => {
    expect(() => checkTransact(parts(count))).not.toThrow();
  });
  test.each([
    [0, /greater than or equal to 1/u],
    [101, /less than or equal to 100/u],
  ])("of %d parts is refused", (count, message) => {
    expect(() => checkTransact(parts(count))).toThrow(message);
  });
  test("has a token of 1 to 36 characters, or none", () => {
    for (const token of [undefined, "t", "t".repeat(36)]) {
      expect(() => checkTransact(parts(1), token)).not.toThrow();
    }
    for (const token of ["", "t".repeat(37)]) {
      expect(() => checkTransact(parts(1), token)).toThrow(/1 to 36 characters/u);
    }
  });
  test("names each item once", () => {
    expect(() => requireDistinctItems(["a", "b"])).not.toThrow();
    expect(() => requireDistinctItems(["a", "b", "a"])).toThrow(/multiple operations on one item/u);
  });
  test("is the same whatever the order of its members, and another with other bytes", () => {
    const text = requestText([{ a: { B: new Uint8Array([1]) }, b: 2 }]);
    expect(requestText([{ b: 2, a: { B: new Uint8Array([1]) } }])).toBe(text);
    expect(requestText([{ a: { B: new Uint8Array([2]) }, b: 2 }])).not.toBe(text);
  });
});

test("what is written may have 4 MB, and no byte more", () => {
  // An attribute of one letter: 1 byte of name beside its value.
  const written = (bytes: number) => () =>
    decideAll([{}], () => ({ before: undefined, after: { a: { S: "x".repeat(bytes - 1) } } }));
  expect(written(4 * 1024 * 1024)).not.toThrow();
  expect(written(4 * 1024 * 1024 + 1)).toThrow(/cannot exceed 4MB. Payload Size: 4194305/u);
});
