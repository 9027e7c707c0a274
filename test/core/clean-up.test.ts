/** What of a transaction is taken off an item, by what stands there. */
import { expect, test } from "vitest";
import { fenceBytesOf } from "../../core/item-identity.ts";
import type { Item, TransactionId } from "../../core/types.ts";
import { toRemove } from "../../core/clean-up.ts";

const id = "0123456789abcdef0123456789abcdef" as TransactionId;
const other = "f".repeat(32) as TransactionId;
const keys = { partitionKey: "pk" };
const key: Item = { pk: { S: "a" } };
const fence: Item = { _f: { B: fenceBytesOf(id) } };
const mark: Item = { _x: { BOOL: true } };
const nonce: Item = { _n: { B: new Uint8Array(16) } };
const version: Item = { _v: { N: "5" } };

test.each<[string, Item | undefined, ReturnType<typeof toRemove>]>([
  ["nothing", undefined, undefined],
  ["no fence", { ...key, ...version }, undefined],
  ["another's fence", { ...key, _f: { B: fenceBytesOf(other) } }, undefined],
  ["a fenced row", { ...key, ...version, ...fence }, "fence"],
  ["a placeholder", { ...key, ...nonce, ...fence, ...mark }, "item"],
  [
    "a row that a placeholder has become",
    { ...key, ...nonce, ...fence, ...mark, a: { S: "x" } },
    "mark",
  ],
  [
    "a fenced tombstone, which guards something",
    { ...key, ...version, ...fence, ...mark },
    "tombstone-fence",
  ],
])("%s", (_, stored, removes) => {
  expect(toRemove(stored, { id, keys })).toBe(removes);
});
