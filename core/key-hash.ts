/**
 * Hashes of tables, partitions and keys: 64 bits of MurmurHash3 x86_128, chained table → partition
 * → key with a seed per level (docs/protocol.md §2), so that one index serves keys and predicates.
 * A collision may abort a transaction needlessly; it never commits one wrongly.
 *
 * Paper: Centiman §3 validates by key; a hash keeps requests and the index small.
 */
import type { KeyHash } from "./types.ts";

/** One seed per kind of hash keeps the kinds apart within the one space. */
export const hashSeeds = { table: 1, partition: 2, key: 3, content: 4 } as const;

const c1 = 0x239b961b;
const c2 = 0xab0e9789;
const c3 = 0x38b34ae5;
const c4 = 0xa1e38b93;

/**
 * A reusable scratch for hashing without allocation. `high` and `low` hold the last hash as
 * two's-complement words (`>>> 0` makes them unsigned): those are the first eight bytes of the
 * 128-bit hash, its words written big-endian.
 */
export class KeyHasher {
  high = 0;
  low = 0;

  /** Hashes `bytes[start, end)`. */
  hash(seed: number, bytes: Uint8Array, start: number, end: number): void {
    const blocksEnd = start + ((end - start) & ~15);
    this.begin(seed);
    this.blocks(bytes, start, blocksEnd);
    this.tail(bytes, blocksEnd, end);
    this.finish(end - start);
  }

  /** Hashes the eight bytes of the current hash, followed by `bytes[start, end)`. */
  chain(seed: number, bytes: Uint8Array, start: number, end: number): void {
    const k1 = reversed(this.high);
    const k2 = reversed(this.low);
    this.begin(seed);
    const length = end - start;
    if (length < 8) {
      // The prefix and what follows fit one unfinished block.
      this.h3 ^= mixed(partialWord(bytes, start, Math.min(end, start + 4)), c3, 17, c4);
      if (length > 4) this.h4 ^= mixed(partialWord(bytes, start + 4, end), c4, 18, c1);
      this.h2 ^= mixed(k2, c2, 16, c3);
      this.h1 ^= mixed(k1, c1, 15, c2);
    } else {
      this.block(k1, k2, wordAt(bytes, start), wordAt(bytes, start + 4));
      const rest = start + 8;
      const blocksEnd = rest + ((end - rest) & ~15);
      this.blocks(bytes, rest, blocksEnd);
      this.tail(bytes, blocksEnd, end);
    }
    this.finish(length + 8);
  }

  /** Continues from a hash computed earlier. */
  set(high: number, low: number): void {
    this.high = high | 0;
    this.low = low | 0;
  }

  /** The last hash as the rest of the system spells it. */
  keyHash(): KeyHash {
    return keyHash(this.high, this.low);
  }

  private h1 = 0;
  private h2 = 0;
  private h3 = 0;
  private h4 = 0;

  private begin(seed: number): void {
    this.h1 = seed;
    this.h2 = seed;
    this.h3 = seed;
    this.h4 = seed;
  }

  private blocks(bytes: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end; at += 16) {
      this.block(
        wordAt(bytes, at),
        wordAt(bytes, at + 4),
        wordAt(bytes, at + 8),
        wordAt(bytes, at + 12),
      );
    }
  }

  private block(k1: number, k2: number, k3: number, k4: number): void {
    let h = this.h1 ^ mixed(k1, c1, 15, c2);
    h = (rotated(h, 19) + this.h2) | 0;
    this.h1 = (Math.imul(h, 5) + 0x561ccd1b) | 0;
    h = this.h2 ^ mixed(k2, c2, 16, c3);
    h = (rotated(h, 17) + this.h3) | 0;
    this.h2 = (Math.imul(h, 5) + 0x0bcaa747) | 0;
    h = this.h3 ^ mixed(k3, c3, 17, c4);
    h = (rotated(h, 15) + this.h4) | 0;
    this.h3 = (Math.imul(h, 5) + 0x96cd1c35) | 0;
    h = this.h4 ^ mixed(k4, c4, 18, c1);
    h = (rotated(h, 13) + this.h1) | 0;
    this.h4 = (Math.imul(h, 5) + 0x32ac3b17) | 0;
  }

  /** The last, unfinished block: words without bytes mix to 0 and change nothing. */
  private tail(bytes: Uint8Array, start: number, end: number): void {
    if (start === end) return;
    this.h1 ^= mixed(partialWord(bytes, start, Math.min(end, start + 4)), c1, 15, c2);
    if (end > start + 4) {
      this.h2 ^= mixed(partialWord(bytes, start + 4, Math.min(end, start + 8)), c2, 16, c3);
    }
    if (end > start + 8) {
      this.h3 ^= mixed(partialWord(bytes, start + 8, Math.min(end, start + 12)), c3, 17, c4);
    }
    if (end > start + 12) this.h4 ^= mixed(partialWord(bytes, start + 12, end), c4, 18, c1);
  }

  private finish(length: number): void {
    let h1 = this.h1 ^ length;
    let h2 = this.h2 ^ length;
    let h3 = this.h3 ^ length;
    let h4 = this.h4 ^ length;
    h1 = (h1 + h2 + h3 + h4) | 0;
    h2 = (h2 + h1) | 0;
    h3 = (h3 + h1) | 0;
    h4 = (h4 + h1) | 0;
    h1 = avalanche(h1);
    h2 = avalanche(h2);
    h1 = (h1 + h2 + avalanche(h3) + avalanche(h4)) | 0;
    this.high = h1;
    this.low = (h2 + h1) | 0;
  }
}

/** Two words as one 64-bit hash. */
export function keyHash(high: number, low: number): KeyHash {
  return ((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)) as KeyHash;
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function mixed(word: number, before: number, bits: number, after: number): number {
  return Math.imul(rotated(Math.imul(word, before), bits), after);
}

function avalanche(word: number): number {
  let h = word ^ (word >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
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

/** Up to four bytes, little-endian, the missing ones 0. */
function partialWord(bytes: Uint8Array, start: number, end: number): number {
  let word = 0;
  for (let at = end - 1; at >= start; at--) word = (word << 8) | (bytes[at] ?? 0);
  return word;
}

function reversed(word: number): number {
  return ((word & 0xff) << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
}
