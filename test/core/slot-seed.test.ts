/**
 * What somebody who chooses ids or hashes can do to an oracle's tables: counted in steps, not in
 * time. The seeds stand for processes; whoever chooses knows everything but them.
 */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CertificationIndex } from "../../core/certification-index.ts";
import { DecidedIds } from "../../core/decided-ids.ts";
import { idSlot, slotSeedOf, slotSeedWords, type SlotSeed } from "../../core/slot-seed.ts";
import type { Timestamp } from "../../core/types.ts";

/** Even chances for every seed: a generator of test cases prefers what no process would draw. */
const seeds = fc
  .nat()
  .map((n) => createHash("sha256").update(n.toString()).digest())
  .map((bytes) => slotSeedOf(bytes.subarray(0, 4 * slotSeedWords)));
const entries = 20_000;

/** Steps beyond the first of each search and each entry, for so many ids one after the other. */
function detoursOfIds(seed: SlotSeed, idOf: (n: number) => readonly number[]): number {
  const ids = new DecidedIds(0 as Timestamp, seed);
  const words = new Uint32Array(4);
  for (let n = 1; n <= entries; n++) {
    words.set(idOf(n));
    ids.add(words, 0, n as Timestamp, 1);
  }
  return ids.detours;
}

function detoursOfHashes(seed: SlotSeed, hashOf: (n: number) => readonly [number, number]): number {
  const index = new CertificationIndex(0 as Timestamp, seed);
  for (let n = 1; n <= entries; n++) {
    const [high, low] = hashOf(n);
    index.enter(high >>> 0, low >>> 0, n as Timestamp);
    index.lookup(high >>> 0, low >>> 0);
  }
  return index.detours;
}

const scrambled = (n: number): number => Math.imul(n, 0x9e3779b1) >>> 0;

describe("whatever is chosen, a search takes a step more than one now and then", () => {
  const idsChosen: readonly (readonly [string, (n: number) => readonly number[]])[] = [
    ["that count", (n) => [0, 0, 0, n]],
    ["that differ in their upper bits", (n) => [n << 17, n << 16, n << 15, n << 14]],
    [
      "whose last word undoes a plain mixture of the others",
      (n) => {
        const [a, b, c] = [0x00060a24, Math.imul(n, 0x01000193), n];
        const mixed = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b);
        return [a, b, c, mixed ^ Math.imul(c, 0xc2b2ae35) ^ 0x12345678];
      },
    ],
  ];
  test.each(idsChosen)("with ids %s", (_, idOf) => {
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(detoursOfIds(seed, idOf)).toBeLessThan(entries / 4);
      }),
      { numRuns: 10 },
    );
  });

  const hashesChosen: readonly (readonly [string, (n: number) => readonly [number, number]])[] = [
    ["that are spread as hashes are", (n) => [scrambled(n), scrambled(n + 7)]],
    ["of one corner of all hashes", (n) => [scrambled(n) >>> 16, scrambled(n + 7)]],
    ["of one high word", (n) => [0x1234_5678, n]],
    ["of one low word", (n) => [n, 0x1234_5678]],
    ["that differ in their upper bits", (n) => [n << 17, n << 16]],
  ];
  test.each(hashesChosen)("with hashes %s", (_, hashOf) => {
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(detoursOfHashes(seed, hashOf)).toBeLessThan(3 * entries);
      }),
      { numRuns: 10 },
    );
  });
});

/** HalfSipHash-1-3 of the first `length` numbers, as its authors define it. */
function definition(length: number, key: readonly [number, number]): number {
  const rotated = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
  let [v0, v1, v2, v3] = [key[0], key[1], key[0] ^ 0x6c796765, key[1] ^ 0x74656462];
  const round = (): void => {
    v0 = (v0 + v1) | 0;
    v1 = rotated(v1, 5) ^ v0;
    v0 = rotated(v0, 16);
    v2 = (v2 + v3) | 0;
    v3 = rotated(v3, 8) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = rotated(v3, 7) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = rotated(v1, 13) ^ v2;
    v2 = rotated(v2, 16);
  };
  const padded = new Uint8Array(4 * (Math.floor(length / 4) + 1)).map((_, i) =>
    i < length ? i : 0,
  );
  padded[padded.length - 1] = length;
  const view = new DataView(padded.buffer);
  for (let at = 0; at < padded.length; at += 4) {
    v3 ^= view.getInt32(at, true);
    round();
    v0 ^= view.getInt32(at, true);
  }
  v2 ^= 0xff;
  for (let i = 0; i < 3; i++) round();
  return (v1 ^ v3) >>> 0;
}

test("an id's slot is HalfSipHash-1-3 of its words, lowest byte first", () => {
  const [id0, id1] = [0x03020100, 0x07060504];
  // The first of the vectors that Linux tests its own with (lib/siphash_kunit.c).
  expect([0, 1, 2, 3].map((length) => definition(length, [id0, id1]))).toEqual([
    0x5814c896, 0xe7e864ca, 0xbc4b0e30, 0x01539939,
  ]);
  const seed = { id0, id1, mask: 0, lowFactor: 1, highFactor: 1 };
  const words = Uint32Array.of(9, 0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c);
  expect(idSlot(seed, words, 1)).toBe(definition(16, [id0, id1]));
});
