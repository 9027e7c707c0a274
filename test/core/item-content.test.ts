/** What an item of a mixed table is to an application, and what tells its states apart. */
import { describe, expect, test } from "vitest";
import { bars, type FenceFate } from "../../core/fence.ts";
import { contentOf, isHidden, sameContent, sameValue } from "../../core/item-content.ts";
import {
  fenceBytesOf,
  fenceOf,
  identityOf,
  sameIdentity,
  type Identity,
} from "../../core/item-identity.ts";
import type { AttributeValue, Item, TransactionId, Version } from "../../core/types.ts";

const keys = { partitionKey: "pk", sortKey: "sk" };
const key: Item = { pk: { S: "p" }, sk: { N: "1" } };
const nonce = Uint8Array.from({ length: 16 }, (_, i) => i);
const id = "01a2ff00000000000000000000000c0d" as TransactionId;

describe("a value is the same", () => {
  const bytes = (...of: number[]) => Uint8Array.from(of);
  test.each<[AttributeValue, AttributeValue, boolean]>([
    [{ S: "1" }, { S: "1" }, true],
    [{ S: "1" }, { N: "1" }, false],
    [{ N: "1.50" }, { N: "15e-1" }, true],
    [{ N: "1" }, { N: "1.1" }, false],
    [
      { N: "12345678901234567890123456789012345678" },
      { N: "12345678901234567890123456789012345679" },
      false,
    ],
    [{ B: bytes(1, 2) }, { B: Buffer.from([1, 2]) }, true],
    [{ B: bytes(1, 2) }, { B: bytes(1) }, false],
    [{ BOOL: true }, { BOOL: false }, false],
    [{ NULL: true }, { NULL: true }, true],
    [{ NULL: true }, { BOOL: true }, false],
    [{ SS: ["a", "b"] }, { SS: ["b", "a"] }, true],
    [{ SS: ["a", "b"] }, { SS: ["a", "c"] }, false],
    [{ SS: ["a"] }, { SS: ["a", "b"] }, false],
    [{ SS: ["1"] }, { NS: ["1"] }, false],
    [{ NS: ["1", "2.0"] }, { NS: ["2", "1"] }, true],
    [{ BS: [bytes(1), bytes(2)] }, { BS: [bytes(2), bytes(1)] }, true],
    [{ BS: [bytes(1, 2)] }, { BS: [bytes(12)] }, false],
    [{ L: [{ N: "1" }, { S: "a" }] }, { L: [{ N: "1.0" }, { S: "a" }] }, true],
    [{ L: [{ N: "1" }, { S: "a" }] }, { L: [{ S: "a" }, { N: "1" }] }, false],
    [{ L: [] }, { L: [{ NULL: true }] }, false],
    [{ L: [] }, { M: {} }, false],
    [{ M: { a: { N: "1" }, b: { L: [] } } }, { M: { b: { L: [] }, a: { N: "1" } } }, true],
    [{ M: { a: { N: "1" } } }, { M: { b: { N: "1" } } }, false],
    [{ M: {} }, { M: { constructor: { S: "" } } }, false],
  ])("%j and %j: %s", (a, b, expected) => {
    expect(sameValue(a, b)).toBe(expected);
    expect(sameValue(b, a)).toBe(expected);
  });
});

describe("a content", () => {
  test("is without reserved attributes, and the same under whatever identity", () => {
    const plain = { ...key, is: { S: "here" } };
    const ours = { ...plain, _n: { B: nonce }, _v: { N: "5" }, _f: { B: nonce } };
    expect(contentOf(ours, keys)).toEqual(plain);
    expect(sameContent(contentOf(ours, keys), contentOf(plain, keys))).toBe(true);
    expect(sameContent(undefined, contentOf(plain, keys))).toBe(false);
  });

  test("of a placeholder is none, until it has an attribute of the application", () => {
    const placeholder = { ...key, _n: { B: nonce }, _f: { B: nonce }, _x: { BOOL: true } };
    expect(isHidden(placeholder, keys)).toBe(true);
    expect(contentOf(placeholder, keys)).toBe(undefined);
    expect(sameContent(contentOf(placeholder, keys), contentOf(undefined, keys))).toBe(true);
    const used = { ...placeholder, is: { S: "here" } };
    expect(contentOf(used, keys)).toEqual({ ...key, is: { S: "here" } });
    expect(isHidden({ ...key }, keys)).toBe(false);
    expect(isHidden({ ...placeholder, _x: { BOOL: false } }, keys)).toBe(false);
    // Without a sort key an attribute of that name is the application's.
    expect(isHidden(placeholder, { partitionKey: "pk" })).toBe(false);
  });
});

describe("an identity", () => {
  const version = (number: number): Identity => ({ kind: "version", version: number as Version });
  test.each<[Item | undefined, Identity]>([
    [undefined, { kind: "absent" }],
    [key, { kind: "bare" }],
    [{ ...key, _f: { B: nonce }, _x: { BOOL: true } }, { kind: "bare" }],
    [{ ...key, _v: { N: "5" } }, version(5)],
    [{ ...key, _v: { N: "0" } }, version(0)],
    [
      { ...key, _v: { N: "5" }, _n: { B: nonce } },
      { kind: "nonce", nonce },
    ],
  ])("of %j is the nonce, else the version, else bare; or absent", (item, identity) => {
    expect(identityOf(item)).toEqual(identity);
    expect(sameIdentity(identityOf(item), identity)).toBe(true);
    expect(sameIdentity(identity, version(6))).toBe(false);
    expect(sameIdentity(identity, { kind: "nonce", nonce: new Uint8Array(16) })).toBe(false);
  });

  test.each<[string, Item]>([
    ["_n", { _n: { S: "mine" } }],
    ["_n", { _n: { B: new Uint8Array(15) } }],
    ["_v", { _v: { S: "5" } }],
  ])("is refused where %s is not what it has to be", (name, item) => {
    expect(() => identityOf(item)).toThrow(name);
  });
});

test("a fence is the id of a transaction", () => {
  expect(fenceOf({ ...key, _f: { B: fenceBytesOf(id) } })).toBe(id);
  expect(fenceOf(key)).toBe(undefined);
  expect(() => fenceOf({ _f: { N: "1" } })).toThrow("_f");
});

test.each<[FenceFate, Identity, boolean]>([
  [{ kind: "open" }, { kind: "bare" }, true],
  [{ kind: "over" }, { kind: "nonce", nonce }, false],
  [{ kind: "committed", stamp: { kind: "nonce", nonce } }, { kind: "nonce", nonce }, true],
  [{ kind: "committed", stamp: { kind: "nonce", nonce } }, { kind: "bare" }, false],
  [{ kind: "committed", stamp: undefined }, { kind: "nonce", nonce }, false],
])("a fence of one that is %j, under %j, bars: %s", (fate, under, expected) => {
  expect(bars({ under }, fate)).toBe(expected);
});
