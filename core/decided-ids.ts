/**
 * The ids that an oracle has decided within its window, in order of decision, exact to 128 bits.
 *
 * A ring holds them with their timestamps; a hash table of ring slots finds them. What leaves the
 * ring sets the floor: the highest timestamp that has left. Both bounds, stream time and weight,
 * depend on the decisions after an id alone, so an oracle rebuilt from the end of the log forgets
 * exactly what the one that lived through it forgot.
 *
 * Invariants: I3 (a remembered id is never decided again). Paper: Centiman §3.4 (recovery).
 */
import { assert } from "./assert.ts";
import { limits } from "./limits.ts";
import { idWords } from "./request-batch.ts";
import type { Timestamp } from "./types.ts";

const ringMin = 1024;
/** Table slots per ring slot: the table is at most half full. */
const tablePerRing = 2;
const entryWords = 2;
const absent = -1;

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
  /** Ring of ids; capacity is a power of two; the oldest is at `#oldest`. */
  #ids = new Uint32Array(ringMin * idWords);
  #timestamps = new Float64Array(ringMin);
  #weights = new Uint32Array(ringMin);
  #capacity = ringMin;
  #oldest = 0;
  #size = 0;
  #weight = 0;
  /**
   * Two words an entry: hash of the id, then ring slot + 1 (0: empty). Linear probing, deletion by
   * shifting back. The hash stands here too, so that probing rarely looks into the ring.
   */
  #table = new Uint32Array(ringMin * tablePerRing * entryWords);
  #mask = ringMin * tablePerRing - 1;
  /** Result of the last `touch`: kept, so that its reads cannot be optimised away. */
  touched = 0;

  /** @param floor initial floor: nothing is known of decisions at or below it. */
  constructor(floor: Timestamp, bounds: DecidedIdsBounds = boundsDefault) {
    assert(bounds.windowMicros > 0 && bounds.weightMax > 0, "decided ids: bounds are positive");
    this.#floor = floor;
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

  /** Whether the id, four words from `ids[at]` on, is remembered. */
  has(ids: Uint32Array, at: number): boolean {
    return this.#find(ids, at) !== absent;
  }

  /**
   * Reads the table at the homes of ids `[start, end)`, and of as many that leave next: all these
   * memory accesses at once, instead of one by one when they are needed.
   */
  touch(ids: Uint32Array, start: number, end: number): void {
    const table = this.#table;
    const mask = this.#mask;
    let all = 0;
    for (let at = start * idWords; at < end * idWords; at += idWords) {
      all |= table[(hashOf(ids, at) & mask) * entryWords] ?? 0;
    }
    const held = this.#ids;
    for (let i = 0; i < end - start; i++) {
      const slot = (this.#oldest + i) & (this.#capacity - 1);
      all |= table[(hashOf(held, slot * idWords) & mask) * entryWords] ?? 0;
    }
    this.touched = all;
  }

  /**
   * Remembers a decision and forgets what leaves by it. `weight` is its share of the bound, at most
   * `weightMax`: one, plus the index entries that it makes.
   */
  add(ids: Uint32Array, at: number, timestamp: Timestamp, weight: number): void {
    assert(timestamp > this.#newest(), "I2: decisions rise");
    assert(this.#find(ids, at) === absent, "I3: an id is decided at most once");
    assert(weight >= 1 && weight <= this.#bounds.weightMax, "decided ids: weight out of range");
    this.#evict(timestamp - this.#bounds.windowMicros, this.#bounds.weightMax - weight);
    if (this.#size === this.#capacity) this.#grow();
    const slot = (this.#oldest + this.#size) & (this.#capacity - 1);
    for (let word = 0; word < idWords; word++) {
      this.#ids[slot * idWords + word] = ids[at + word] ?? 0;
    }
    this.#timestamps[slot] = timestamp;
    this.#weights[slot] = weight;
    this.#size += 1;
    this.#weight += weight;
    this.#enter(slot);
  }

  #newest(): number {
    if (this.#size === 0) return this.#floor;
    return this.#timestamps[(this.#oldest + this.#size - 1) & (this.#capacity - 1)] ?? 0;
  }

  /** Forgets ids at or below `through`, then the oldest until `weightMax` is met. */
  #evict(through: number, weightMax: number): void {
    while (this.#size > 0) {
      const slot = this.#oldest;
      const timestamp = this.#timestamps[slot] ?? 0;
      if (timestamp > through && this.#weight <= weightMax) return;
      this.#remove(slot);
      this.#floor = timestamp as Timestamp;
      this.#weight -= this.#weights[slot] ?? 0;
      this.#oldest = (slot + 1) & (this.#capacity - 1);
      this.#size -= 1;
    }
    assert(this.#weight === 0, "decided ids: an empty ring weighs nothing");
  }

  /** Ring slot of the id, or `absent`. */
  #find(ids: Uint32Array, at: number): number {
    const table = this.#table;
    const hash = hashOf(ids, at);
    for (let entry = hash & this.#mask; ; entry = (entry + 1) & this.#mask) {
      const slot = (table[entry * entryWords + 1] ?? 0) - 1;
      if (slot < 0) return absent;
      if (table[entry * entryWords] !== hash) continue;
      const held = slot * idWords;
      if (
        this.#ids[held] === ids[at] &&
        this.#ids[held + 1] === ids[at + 1] &&
        this.#ids[held + 2] === ids[at + 2] &&
        this.#ids[held + 3] === ids[at + 3]
      ) {
        return slot;
      }
    }
  }

  #enter(slot: number): void {
    const table = this.#table;
    const hash = hashOf(this.#ids, slot * idWords);
    let entry = hash & this.#mask;
    while (table[entry * entryWords + 1] !== 0) entry = (entry + 1) & this.#mask;
    table[entry * entryWords] = hash;
    table[entry * entryWords + 1] = slot + 1;
  }

  /**
   * Empties the slot's entry and moves later entries of the run back over the gap, as far as their
   * homes allow, so that probing needs no markers for the deleted.
   */
  #remove(slot: number): void {
    const table = this.#table;
    const mask = this.#mask;
    let gap = hashOf(this.#ids, slot * idWords) & mask;
    while (table[gap * entryWords + 1] !== slot + 1) {
      assert(table[gap * entryWords + 1] !== 0, "I3: the table holds every id of the ring");
      gap = (gap + 1) & mask;
    }
    let entry = (gap + 1) & mask;
    while (table[entry * entryWords + 1] !== 0) {
      const hash = table[entry * entryWords] ?? 0;
      // An entry may move to the gap unless its home lies after the gap.
      if (((entry - hash) & mask) >= ((entry - gap) & mask)) {
        table[gap * entryWords] = hash;
        table[gap * entryWords + 1] = table[entry * entryWords + 1] ?? 0;
        gap = entry;
      }
      entry = (entry + 1) & mask;
    }
    table[gap * entryWords + 1] = 0;
  }

  #grow(): void {
    const capacity = this.#capacity * 2;
    const ids = new Uint32Array(capacity * idWords);
    const timestamps = new Float64Array(capacity);
    const weights = new Uint32Array(capacity);
    for (let i = 0; i < this.#size; i++) {
      const slot = (this.#oldest + i) & (this.#capacity - 1);
      ids.set(this.#ids.subarray(slot * idWords, (slot + 1) * idWords), i * idWords);
      timestamps[i] = this.#timestamps[slot] ?? 0;
      weights[i] = this.#weights[slot] ?? 0;
    }
    this.#ids = ids;
    this.#timestamps = timestamps;
    this.#weights = weights;
    this.#capacity = capacity;
    this.#oldest = 0;
    this.#table = new Uint32Array(capacity * tablePerRing * entryWords);
    this.#mask = capacity * tablePerRing - 1;
    for (let slot = 0; slot < this.#size; slot++) this.#enter(slot);
  }
}

/** An unsigned word. Most of an id is random, but not all, and a client may choose badly. */
function hashOf(ids: Uint32Array, at: number): number {
  let hash = Math.imul(ids[at] ?? 0, 0x9e3779b1) ^ Math.imul(ids[at + 1] ?? 0, 0x85ebca6b);
  hash ^= Math.imul(ids[at + 2] ?? 0, 0xc2b2ae35) ^ (ids[at + 3] ?? 0);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
