/**
 * Where an oracle's tables keep what: by a seed of the process that nobody outside knows, so that
 * nobody can choose ids or keys that meet in one place. Decisions do not depend on it.
 */
import { assert } from "./assert.ts";

export const slotSeedWords = 5;

/** Random words, made once per process. */
export type SlotSeed = {
  /** The key of `idSlot`. */
  readonly id0: number;
  readonly id1: number;
  /** What hashes are mixed with; the factors are odd. */
  readonly mask: number;
  readonly lowFactor: number;
  readonly highFactor: number;
};

/** @param bytes random, four for each of `slotSeedWords`. */
export function slotSeedOf(bytes: Uint8Array): SlotSeed {
  assert(bytes.length === 4 * slotSeedWords, "a slot seed has four bytes a word");
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const word = (index: number): number => words.getInt32(4 * index, true);
  return {
    id0: word(0),
    id1: word(1),
    mask: word(2),
    lowFactor: word(3) | 1,
    highFactor: word(4) | 1,
  };
}

/**
 * HalfSipHash-1-3 of an id's four words, under 64 bits of the seed: an unsigned word. A client may
 * choose all 128 bits of its ids, so nothing less than a keyed hash will do here. It costs what a
 * hash of short keys costs, once per request.
 */
export function idSlot(seed: SlotSeed, ids: Uint32Array, at: number): number {
  let v0 = seed.id0;
  let v1 = seed.id1;
  let v2 = seed.id0 ^ 0x6c796765;
  let v3 = seed.id1 ^ 0x74656462;
  // Four words, the word that ends sixteen bytes, three rounds without any.
  for (let i = 0; i < 8; i++) {
    const word = i < 4 ? (ids[at + i] ?? 0) : i === 4 ? 16 << 24 : 0;
    if (i === 5) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}

/**
 * One step of mixing a hash. Of two different words the upper k bits of the products with an odd
 * secret factor agree with a probability of 2^(1 − k) at most, whoever chose them; the second
 * product breaks up the rows that evenly spaced words would make.
 */
export function spread(word: number, factor: number): number {
  let product = Math.imul(word, factor);
  product = Math.imul(product ^ (product >>> 15), 0x2c1b3c6d);
  return product ^ (product >>> 13);
}

/** Where a table of the process keeps a 64-bit hash: the upper bits of this word. */
export function hashSlot(
  { mask, lowFactor, highFactor }: SlotSeed,
  hashHigh: number,
  hashLow: number,
): number {
  return spread(hashLow ^ spread(hashHigh ^ mask, lowFactor), highFactor);
}
