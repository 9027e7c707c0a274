/**
 * The ids that an oracle has decided within its window, in order of decision, exact to 128 bits.
 *
 * A ring holds them with their timestamps, each under a running number; a hash table of numbers
 * finds them. What leaves the ring sets the floor: the highest timestamp that has left. Both
 * bounds, stream time and weight, depend on the decisions after an id alone, so an oracle rebuilt
 * from the end of the log forgets exactly what the one that lived through it forgot.
 *
 * The table's buckets are cache lines. Nothing is ever deleted from it: an entry whose number has
 * left the ring is dead, and its place is taken by the next id that comes to the bucket. A bucket
 * that had no place left notes the number that went on to the next one; a search follows only while
 * that lives.
 *
 * What was added since the last `mark` can be undone. Until the next mark, what has left since
 * keeps its place in ring and table, so that going back is to move the ring's ends.
 *
 * Invariants: I3 (a remembered id is never decided again). Paper: Centiman §3.4 (recovery).
 */
import { assert } from "./assert.ts";
import { cacheLines, lineWords } from "./cache-lines.ts";
import * as limits from "./limits.ts";
import { idWords } from "./request-batch.ts";
import { idSlot, type SlotSeed } from "./slot-seed.ts";
import type { Timestamp } from "./types.ts";

const ringMin = 1024;

/**
 * One id of the ring: its four words, its hash, its weight, and its timestamp, which is a double.
 */
const heldWords = 8;
const heldHash = 4;
const heldWeight = 5;
const heldDoubles = heldWords / 2;
const heldTimestamp = 3;

/** Ids per bucket when the ring is full. A bucket has room for seven. */
const idsPerBucket = 2;
/**
 * A bucket: the newest number that passed it by, a word of no use, then entries of hash and number.
 */
const entriesStart = 2;
const entryWords = 2;

export type DecidedIdsBounds = {
  /** Stream time that ids are remembered for, microseconds. */
  readonly windowMicros: number;
  /** Sum of weights remembered; above it the oldest leave early, which raises the floor. */
  readonly weightMax: number;
};

const boundsDefault: DecidedIdsBounds = {
  windowMicros: limits.certificationWindowMicros,
  weightMax: limits.indexEntriesMax,
};

export class DecidedIds {
  #floor: Timestamp;
  readonly #bounds: DecidedIdsBounds;
  readonly #seed: SlotSeed;
  /** Ring of ids, words and doubles of one memory; capacity is a power of two. */
  #ring = new Uint32Array(ringMin * heldWords);
  #ringDoubles = new Float64Array(this.#ring.buffer);
  #capacity = ringMin;
  /** Number of the oldest id, modulo 2^32: it stands at this modulo the capacity. */
  #oldest = 1;
  #size = 0;
  #weight = 0;
  /** What they were at the mark. */
  #markedFloor: Timestamp;
  #markedOldest = 1;
  #markedSize = 0;
  #markedWeight = 0;
  #buckets = cacheLines(ringMin / idsPerBucket);
  #mask = ringMin / idsPerBucket - 1;
  /** Result of the last `touch`: kept, so that its reads cannot be optimised away. */
  touched = 0;
  /** Buckets looked at beyond the first one of a search or an entry, so far. */
  detours = 0;

  /**
   * @param floor initial floor: nothing is known of decisions at or below it.
   * @param seed chooses the buckets, and nothing else.
   */
  constructor(floor: Timestamp, seed: SlotSeed, bounds: DecidedIdsBounds = boundsDefault) {
    this.#seed = seed;
    assert(bounds.windowMicros > 0 && bounds.weightMax > 0, "decided ids: bounds are positive");
    this.#floor = floor;
    this.#markedFloor = floor;
    this.#bounds = bounds;
  }

  /** Highest timestamp that has left, or the initial floor. */
  get floor(): Timestamp {
    return this.#floor;
  }

  /** Ids remembered. */
  get size(): number {
    return this.#size;
  }

  /** Sum of the weights remembered. */
  get weight(): number {
    return this.#weight;
  }

  /** Where the id, four words from `ids[at]` on, is looked for: for the methods that take it. */
  slotOf(ids: Uint32Array, at: number): number {
    return idSlot(this.#seed, ids, at);
  }

  /** Whether the id is remembered. */
  has(ids: Uint32Array, at: number, hash = this.slotOf(ids, at)): boolean {
    const buckets = this.#buckets;
    for (let home = hash & this.#mask; ; home = (home + 1) & this.#mask) {
      const bucket = home * lineWords;
      const end = bucket + lineWords;
      for (let entry = bucket + entriesStart; entry < end; entry += entryWords) {
        if (buckets[entry] !== hash) continue;
        if (this.#holds(buckets[entry + 1] ?? 0, ids, at)) return true;
      }
      if (!this.#lives(buckets[bucket] ?? 0)) return false;
      this.detours += 1;
    }
  }

  /**
   * Reads the buckets of ids `[start, end)`: all these memory accesses at once, instead of one by
   * one when they are needed. Leaves their slots in `slots`, from its beginning on.
   */
  touch(ids: Uint32Array, start: number, end: number, slots: Uint32Array): void {
    const buckets = this.#buckets;
    const mask = this.#mask;
    let all = 0;
    for (let id = start; id < end; id++) {
      const slot = this.slotOf(ids, id * idWords);
      slots[id - start] = slot;
      all |= buckets[(slot & mask) * lineWords] ?? 0;
    }
    this.touched = all;
  }

  /**
   * Remembers a decision and forgets what leaves by it. `weight` is its share of the bound, at most
   * `weightMax`: its own (`limits.decidedIdWeight`), plus the index entries that it makes. An id
   * that is remembered already is so until its later decision leaves.
   */
  add(
    ids: Uint32Array,
    at: number,
    timestamp: Timestamp,
    weight: number,
    hash = this.slotOf(ids, at),
  ): void {
    assert(timestamp > this.#newest(), "I2: decisions rise");
    assert(weight >= 1 && weight <= this.#bounds.weightMax, "decided ids: weight out of range");
    this.#evict(timestamp - this.#bounds.windowMicros, this.#bounds.weightMax - weight);
    if (this.#keptSize === this.#capacity) this.#grow();
    const number = (this.#oldest + this.#size) >>> 0;
    const ring = this.#ring;
    const slot = number & (this.#capacity - 1);
    const held = slot * heldWords;
    ring[held] = ids[at] ?? 0;
    ring[held + 1] = ids[at + 1] ?? 0;
    ring[held + 2] = ids[at + 2] ?? 0;
    ring[held + 3] = ids[at + 3] ?? 0;
    ring[held + heldHash] = hash;
    ring[held + heldWeight] = weight;
    this.#ringDoubles[slot * heldDoubles + heldTimestamp] = timestamp;
    this.#enter(hash, number);
    this.#size += 1;
    this.#weight += weight;
  }

  /** Forgets decisions at or below `through`; the floor is `through` then, or higher. */
  forget(through: Timestamp): void {
    this.#evict(through, this.#bounds.weightMax);
    if (this.#floor < through) this.#floor = through;
  }

  /** What was added and forgotten stands: `undo` comes back to here. */
  mark(): void {
    this.#markedFloor = this.#floor;
    this.#markedOldest = this.#oldest;
    this.#markedSize = this.#size;
    this.#markedWeight = this.#weight;
  }

  /** Comes back to the last mark. Costs what was added since. */
  undo(): void {
    const added = this.#keptSize - this.#markedSize;
    const first = (this.#markedOldest + this.#markedSize) >>> 0;
    for (let i = 0; i < added; i++) this.#remove((first + i) >>> 0, { first, added });
    this.#floor = this.#markedFloor;
    this.#oldest = this.#markedOldest;
    this.#size = this.#markedSize;
    this.#weight = this.#markedWeight;
  }

  /** Ids in the ring, with those that have left since the mark. */
  get #keptSize(): number {
    return (this.#oldest + this.#size - this.#markedOldest) >>> 0;
  }

  /**
   * Takes the entry of an added number out of the table: the number will be given out again. Where
   * one of those that are undone was the newest to pass a bucket by, an older one may have done so
   * before it: the newest that stays is noted, which is sure to be no older.
   */
  #remove(number: number, undone: { readonly first: number; readonly added: number }): void {
    const buckets = this.#buckets;
    const hash = this.#ring[(number & (this.#capacity - 1)) * heldWords + heldHash] ?? 0;
    for (let step = 0; step <= this.#mask; step++) {
      const bucket = ((hash + step) & this.#mask) * lineWords;
      const end = bucket + lineWords;
      for (let entry = bucket + entriesStart; entry < end; entry += entryWords) {
        if (buckets[entry + 1] !== number || buckets[entry] !== hash) continue;
        buckets[entry + 1] = (this.#markedOldest - 1) >>> 0;
        return;
      }
      const passed = ((buckets[bucket] ?? 0) - undone.first) >>> 0;
      if (passed < undone.added) buckets[bucket] = (undone.first - 1) >>> 0;
    }
    assert(false, "decided ids: what the ring holds stands in the table");
  }

  #newest(): number {
    if (this.#size === 0) return this.#floor;
    const slot = (this.#oldest + this.#size - 1) & (this.#capacity - 1);
    return this.#ringDoubles[slot * heldDoubles + heldTimestamp] ?? 0;
  }

  /** Forgets ids at or below `through`, then the oldest until `weightMax` is met. */
  #evict(through: number, weightMax: number): void {
    while (this.#size > 0) {
      const slot = this.#oldest & (this.#capacity - 1);
      const timestamp = this.#ringDoubles[slot * heldDoubles + heldTimestamp] ?? 0;
      if (timestamp > through && this.#weight <= weightMax) return;
      this.#floor = timestamp as Timestamp;
      this.#weight -= this.#ring[slot * heldWords + heldWeight] ?? 0;
      this.#oldest = (this.#oldest + 1) >>> 0;
      this.#size -= 1;
    }
    assert(this.#weight === 0, "decided ids: an empty ring weighs nothing");
  }

  /** Whether the number is that of an id in the ring. */
  #lives(number: number): boolean {
    return (number - this.#oldest) >>> 0 < this.#size;
  }

  /** Whether it lives, or would after an `undo`. */
  #isKept(number: number): boolean {
    return (number - this.#markedOldest) >>> 0 < this.#keptSize;
  }

  #holds(number: number, ids: Uint32Array, at: number): boolean {
    const ring = this.#ring;
    const held = (number & (this.#capacity - 1)) * heldWords;
    return (
      this.#lives(number) &&
      ring[held] === ids[at] &&
      ring[held + 1] === ids[at + 1] &&
      ring[held + 2] === ids[at + 2] &&
      ring[held + 3] === ids[at + 3]
    );
  }

  /** Enters a new number where an entry is not kept: a bucket is rarely full of kept ones. */
  #enter(hash: number, number: number): void {
    const buckets = this.#buckets;
    for (let home = hash & this.#mask; ; home = (home + 1) & this.#mask) {
      const bucket = home * lineWords;
      const end = bucket + lineWords;
      for (let entry = bucket + entriesStart; entry < end; entry += entryWords) {
        if (this.#isKept(buckets[entry + 1] ?? 0)) continue;
        buckets[entry] = hash;
        buckets[entry + 1] = number;
        return;
      }
      buckets[bucket] = number;
      this.detours += 1;
    }
  }

  /** Doubles the ring, which is full of what is kept, and makes the table anew. */
  #grow(): void {
    const old = this.#ring;
    const oldMask = this.#capacity - 1;
    const capacity = this.#capacity * 2;
    const ring = new Uint32Array(capacity * heldWords);
    this.#ring = ring;
    this.#ringDoubles = new Float64Array(ring.buffer);
    this.#capacity = capacity;
    this.#buckets = cacheLines(capacity / idsPerBucket);
    this.#mask = capacity / idsPerBucket - 1;
    const kept = this.#keptSize;
    for (let i = 0; i < kept; i++) {
      const number = (this.#markedOldest + i) >>> 0;
      const from = (number & oldMask) * heldWords;
      const to = (number & (capacity - 1)) * heldWords;
      for (let word = 0; word < heldWords; word++) ring[to + word] = old[from + word] ?? 0;
      this.#enter(ring[to + heldHash] ?? 0, number);
    }
  }
}
