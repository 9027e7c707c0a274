/**
 * SipHash-1-3 in halves of 32 bits: a keyed hash of which nobody can find collisions without the
 * key, however well they know the algorithm. One round per eight bytes and three at the end, as
 * Rust, Python and Ruby hash what strangers choose (docs/adr/0012-hashes-have-a-secret.md).
 */
import { assert } from "./assert.ts";

export const sipKeyBytes = 16;
const wordBytes = 8;
const finalRounds = 3;

/**
 * What the key's halves are mixed with, high word before low: "somepseudorandomlygeneratedbytes".
 */
const constants = [
  0x736f6d65, 0x70736575, 0x646f7261, 0x6e646f6d, 0x6c796765, 0x6e657261, 0x74656462, 0x79746573,
] as const;

export class SipHash {
  /** The last hash as two's-complement words; `>>> 0` makes them unsigned. */
  high = 0;
  low = 0;
  /** Four words of 64 bits, high before low, as every hash begins. */
  readonly #state: Int32Array;

  constructor(key: Uint8Array) {
    assert(key.length === sipKeyBytes, "a hash secret has 16 bytes");
    const k0 = [wordAt(key, 4), wordAt(key, 0)];
    const k1 = [wordAt(key, 12), wordAt(key, 8)];
    const keys = [...k0, ...k1, ...k0, ...k1];
    this.#state = Int32Array.from(constants, (constant, i) => constant ^ (keys[i] ?? 0));
  }

  /** Hashes `bytes[start, end)`. */
  hash(bytes: Uint8Array, start: number, end: number): void {
    this.#run(bytes, start, start, end);
  }

  /** Hashes the eight bytes of a hash, lowest first, followed by `bytes[start, end)`. */
  chain(high: number, low: number, bytes: Uint8Array, start: number, end: number): void {
    this.high = high;
    this.low = low;
    this.#run(bytes, start - wordBytes, start, end);
  }

  /**
   * One loop for all rounds, so that the state lives in registers: `at` goes on by eight from
   * `first`, over the prefix that would lie before `start`, the bytes, and the final rounds that
   * have none.
   */
  #run(bytes: Uint8Array, first: number, start: number, end: number): void {
    const state = this.#state;
    let v0h = state[0] ?? 0;
    let v0l = state[1] ?? 0;
    let v1h = state[2] ?? 0;
    let v1l = state[3] ?? 0;
    let v2h = state[4] ?? 0;
    let v2l = state[5] ?? 0;
    let v3h = state[6] ?? 0;
    let v3l = state[7] ?? 0;
    const last = end - ((end - start) & (wordBytes - 1));
    const stop = last + wordBytes * (1 + finalRounds);
    for (let at = first; at < stop; at += wordBytes) {
      let high = 0;
      let low = 0;
      if (at < start) {
        high = this.high;
        low = this.low;
      } else if (at < last) {
        high = wordAt(bytes, at + 4);
        low = wordAt(bytes, at);
      } else if (at === last) {
        high = partialWord(bytes, at + 4, end) | ((end - first) << 24);
        low = partialWord(bytes, at, Math.min(at + 4, end));
      } else if (at === last + wordBytes) v2l ^= 0xff;
      v3h ^= high;
      v3l ^= low;
      // One round: additions carry from the low half, rotations by 32 swap the halves.
      let sum = (v0l + v1l) | 0;
      v0h = (v0h + v1h + (sum >>> 0 < v1l >>> 0 ? 1 : 0)) | 0;
      v0l = sum;
      sum = (v2l + v3l) | 0;
      v2h = (v2h + v3h + (sum >>> 0 < v3l >>> 0 ? 1 : 0)) | 0;
      v2l = sum;
      let turned = (v1h << 13) | (v1l >>> 19);
      v1l = ((v1l << 13) | (v1h >>> 19)) ^ v0l;
      v1h = turned ^ v0h;
      turned = (v3h << 16) | (v3l >>> 16);
      v3l = ((v3l << 16) | (v3h >>> 16)) ^ v2l;
      v3h = turned ^ v2h;
      // v0 is turned by 32: from here on its halves have changed places.
      sum = (v2l + v1l) | 0;
      v2h = (v2h + v1h + (sum >>> 0 < v1l >>> 0 ? 1 : 0)) | 0;
      v2l = sum;
      sum = (v0h + v3l) | 0;
      v0h = (v0l + v3h + (sum >>> 0 < v3l >>> 0 ? 1 : 0)) | 0;
      v0l = sum;
      turned = (v1h << 17) | (v1l >>> 15);
      v1l = ((v1l << 17) | (v1h >>> 15)) ^ v2l;
      v1h = turned ^ v2h;
      turned = (v3h << 21) | (v3l >>> 11);
      v3l = ((v3l << 21) | (v3h >>> 11)) ^ v0l;
      v3h = turned ^ v0h;
      turned = v2h;
      v2h = v2l;
      v2l = turned;
      v0h ^= high;
      v0l ^= low;
    }
    this.high = v0h ^ v1h ^ v2h ^ v3h;
    this.low = v0l ^ v1l ^ v2l ^ v3l;
  }
}

/** Little-endian, as the algorithm reads its input. */
function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  );
}

/** Up to four bytes of `bytes[start, end)`, little-endian, the missing ones 0. */
function partialWord(bytes: Uint8Array, start: number, end: number): number {
  let word = 0;
  for (let at = end - 1; at >= start; at--) word = (word << 8) | (bytes[at] ?? 0);
  return word;
}
