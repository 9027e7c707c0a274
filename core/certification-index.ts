/**
 * The certification index: 64-bit hash → newest commit timestamp, for keys, partitions and tables
 * alike. It answers the one question of certification: was this hash written after `checkedTo`?
 *
 * Open addressing over one typed array, twelve bytes a slot: both words of the hash, then the
 * timestamp relative to an epoch that moves with the floor. Five slots make a bucket of one cache
 * line. Probing goes around a hash's home bucket, from the slot that its low word chooses, and then
 * around the buckets that follow: nearly every probe costs one memory access. The home bucket is
 * `hash · buckets / 2^64` (the high word decides), so any number of buckets will do, and a rebuild
 * walks the old and the new table from front to back instead of jumping about in memory.
 *
 * What is stored and looked for is not the hash itself but a one-to-one mixture of it with the
 * process's seed: whoever knows the shard's hash secret can choose keys for one corner of the
 * hashes, but not for one corner of the table.
 *
 * Entries at or below the floor are dead: whatever is certified has `checkedTo ≥ floor`, so they
 * can cause no conflict. An insertion takes over a dead slot that it passes; a rebuild drops the
 * rest.
 *
 * What was entered since the last `mark` can be undone. Each entry notes the slot that it writes; a
 * rebuild leaves the old table as it was, so that going back is to take that one again.
 *
 * Invariants: I4, I5 (a live entry is never lost or lowered). Paper: Centiman §3.1 (validators).
 */
import { assert } from "./assert.ts";
import { cacheLines, lineWords } from "./cache-lines.ts";
import * as limits from "./limits.ts";
import { SlotJournal, slotWords } from "./slot-journal.ts";
import { spread, type SlotSeed } from "./slot-seed.ts";
import type { Timestamp } from "./types.ts";

/** A slot is high word, low word, timestamp − epoch (0: it is empty). */
const slotsPerBucket = 5;
const bucketsMin = 205;
/** Where in a bucket its slots end. */
const slotsEnd = slotsPerBucket * slotWords;
/** First slot of a hash within its buckets = low word · this, truncated. */
const slotScale = slotsPerBucket / 0x1_0000_0000;
/** Occupied slots (dead ones included) at which the table is rebuilt. */
const loadMax = 0.75;
/** Live load after a rebuild. So a rebuild is paid for by at least 0.2 · capacity insertions. */
const loadRebuilt = 0.55;
/** Relative timestamps stay below 2^31, which keeps them small integers in the compiled loops. */
const relativeMax = 0x7fff_ffff;
const twoTo32 = 0x1_0000_0000;

/** A table that a rebuild has replaced. */
type Replaced = {
  readonly slots: Uint32Array;
  readonly scale: number;
  readonly occupied: number;
  readonly occupiedMax: number;
  readonly epoch: number;
  /** The journal's when it was replaced: what was noted later is of the new table. */
  readonly journalLength: number;
};

export class CertificationIndex {
  #slots: Uint32Array;
  /** Home bucket of a hash = high word · scale, truncated. */
  #scale: number;
  /** Slots that are not empty, dead ones included. */
  #occupied = 0;
  #occupiedMax: number;
  #epoch: number;
  #floor: number;
  /** The floor as the slots spell it; 0 while it lies below the epoch. */
  #floorRelative = 0;
  /** Newest timestamp entered: entries rise (I2). */
  #newest: number;
  /** Slots written since the mark, and what the index was there. */
  readonly #journal = new SlotJournal();
  #replaced: Replaced | undefined;
  #markedFloor: number;
  #markedNewest: number;
  readonly #entriesMax: number;
  readonly #seed: SlotSeed;
  /** Buckets looked at beyond the first one of a search or an entry, so far. */
  detours = 0;
  /** Result of the last `touch`: kept, so that its reads cannot be optimised away. */
  touched = 0;

  /**
   * @param floor everything at or below it is unknown and counts as dead.
   * @param seed chooses the slots, and nothing else.
   * @param entriesMax bound on live entries; the owner raises the floor before it is passed.
   */
  constructor(floor: Timestamp, seed: SlotSeed, entriesMax: number = limits.indexEntriesMax) {
    this.#seed = seed;
    assert(entriesMax > 0 && entriesMax <= limits.indexEntriesMax, "index: bound out of range");
    this.#floor = floor;
    this.#epoch = floor;
    this.#newest = floor;
    this.#markedFloor = floor;
    this.#markedNewest = floor;
    this.#entriesMax = entriesMax;
    this.#scale = bucketsMin / twoTo32;
    this.#occupiedMax = Math.floor(bucketsMin * slotsPerBucket * loadMax);
    this.#slots = cacheLines(bucketsMin);
  }

  get floor(): Timestamp {
    return this.#floor as Timestamp;
  }

  /** Bytes allocated for slots. */
  get byteLength(): number {
    return this.#slots.byteLength;
  }

  /** Slots in use, the dead ones among them included. */
  get occupied(): number {
    return this.#occupied;
  }

  /**
   * Newest timestamp entered for the hash, or 0. Below or at the floor the answer may be either
   * the dead entry or 0.
   */
  lookup(hashHigh: number, hashLow: number): Timestamp {
    const { mask, lowFactor, highFactor } = this.#seed;
    const low = (hashLow ^ spread(hashHigh ^ mask, lowFactor)) >>> 0;
    const high = (hashHigh ^ spread(low, highFactor)) >>> 0;
    const slots = this.#slots;
    let bucket = ((high * this.#scale) | 0) * lineWords;
    const first = ((low * slotScale) | 0) * slotWords;
    let at = bucket + first;
    for (;;) {
      const relative = slots[at + 2] ?? 0;
      if (relative === 0) return 0 as Timestamp;
      if (slots[at] === high && slots[at + 1] === low) {
        return (this.#epoch + relative) as Timestamp;
      }
      at += slotWords;
      if (at === bucket + slotsEnd) at = bucket;
      if (at !== bucket + first) continue;
      this.detours += 1;
      bucket = bucket + lineWords === slots.length ? 0 : bucket + lineWords;
      at = bucket + first;
    }
  }

  /**
   * Reads the home buckets of hashes `[start, end)`, each of `stride` words of which the last two
   * are the hash, and does nothing with them. In a loop of its own the processor waits for all of
   * these memory accesses at once; certification, which branches on each, waits for one by one.
   */
  touch(words: Uint32Array, start: number, end: number, stride: number): void {
    const slots = this.#slots;
    const scale = this.#scale;
    const wordsEnd = end * stride;
    const { mask, lowFactor, highFactor } = this.#seed;
    let all = 0;
    for (let at = start * stride + stride - 2; at < wordsEnd; at += stride) {
      const hashHigh = words[at] ?? 0;
      const low = (words[at + 1] ?? 0) ^ spread(hashHigh ^ mask, lowFactor);
      const high = (hashHigh ^ spread(low, highFactor)) >>> 0;
      all |= slots[((high * scale) | 0) * lineWords] ?? 0;
    }
    this.touched = all;
  }

  /**
   * Enters a commit of the hash at `timestamp`: above the floor, and not below any entered before.
   * Both words are unsigned.
   */
  enter(hashHigh: number, hashLow: number, timestamp: Timestamp): void {
    assert(timestamp >= this.#newest && timestamp > this.#floor, "I2: index entries rise");
    if (timestamp - this.#epoch > relativeMax) this.#rebuild(timestamp);
    this.#newest = timestamp;
    const relative = timestamp - this.#epoch;
    const { mask, lowFactor, highFactor } = this.#seed;
    const low = (hashLow ^ spread(hashHigh ^ mask, lowFactor)) >>> 0;
    const high = (hashHigh ^ spread(low, highFactor)) >>> 0;
    const slots = this.#slots;
    const floorRelative = this.#floorRelative;
    let bucket = ((high * this.#scale) | 0) * lineWords;
    const first = ((low * slotScale) | 0) * slotWords;
    let at = bucket + first;
    let dead = -1;
    for (;;) {
      const stored = slots[at + 2] ?? 0;
      if (stored === 0) break;
      if (slots[at] === high && slots[at + 1] === low) {
        this.#journal.note(slots, at);
        slots[at + 2] = relative;
        return;
      }
      if (stored <= floorRelative && dead < 0) dead = at;
      at += slotWords;
      if (at === bucket + slotsEnd) at = bucket;
      if (at !== bucket + first) continue;
      this.detours += 1;
      bucket = bucket + lineWords === slots.length ? 0 : bucket + lineWords;
      at = bucket + first;
    }
    // Only now is it certain that the hash has no slot further on, so that a dead one may be taken.
    if (dead >= 0) at = dead;
    else this.#occupied += 1;
    this.#journal.note(slots, at);
    slots[at] = high;
    slots[at + 1] = low;
    slots[at + 2] = relative;
    if (this.#occupied > this.#occupiedMax) this.#rebuild(timestamp);
  }

  /** Declares entries at or below `floor` dead. The floor never falls. */
  raiseFloor(floor: Timestamp): void {
    assert(floor >= this.#floor, "index: the floor never falls");
    this.#setFloor(floor);
  }

  #setFloor(floor: number): void {
    this.#floor = floor;
    this.#floorRelative = Math.min(Math.max(floor - this.#epoch, 0), relativeMax);
  }

  /** What was entered, and where the floor is, stands: `undo` comes back to here. */
  mark(): void {
    this.#journal.clear();
    this.#replaced = undefined;
    this.#markedFloor = this.#floor;
    this.#markedNewest = this.#newest;
  }

  /** Comes back to the last mark. Costs what was entered since; a rebuild costs nothing more. */
  undo(): void {
    const replaced = this.#replaced;
    const journalLength = replaced?.journalLength ?? this.#journal.length;
    if (replaced !== undefined) {
      this.#slots = replaced.slots;
      this.#scale = replaced.scale;
      this.#occupied = replaced.occupied;
      this.#occupiedMax = replaced.occupiedMax;
      this.#epoch = replaced.epoch;
    }
    this.#occupied -= this.#journal.restore(this.#slots, journalLength);
    this.#newest = this.#markedNewest;
    this.#setFloor(this.#markedFloor);
    this.mark();
  }

  /** Live entries, counted by a walk over all slots. */
  countLive(): number {
    return this.#survey(this.#newest as Timestamp).live;
  }

  /**
   * Moves the live entries to a table of the size that suits them, larger or smaller, and the
   * epoch to just below the oldest of them. `timestamp` is the newest that must fit: the window of
   * stream time is far shorter than the range of a relative timestamp, so all of them do.
   */
  #rebuild(timestamp: Timestamp): void {
    const old = this.#slots;
    this.#replaced ??= {
      slots: old,
      scale: this.#scale,
      occupied: this.#occupied,
      occupiedMax: this.#occupiedMax,
      epoch: this.#epoch,
      journalLength: this.#journal.length,
    };
    const { live, oldest } = this.#survey(timestamp);
    assert(live <= this.#entriesMax, "index: more live entries than its bound");
    const shift = oldest - 1;
    const epoch = this.#epoch + shift;
    assert(timestamp - epoch <= relativeMax, "index: live entries span more than a window");
    const buckets = Math.max(bucketsMin, Math.ceil(live / (slotsPerBucket * loadRebuilt)));
    const scale = buckets / twoTo32;
    const slots = cacheLines(buckets);
    for (let bucket = 0; bucket < old.length; bucket += lineWords) {
      for (let from = bucket; from < bucket + slotsEnd; from += slotWords) {
        const relative = old[from + 2] ?? 0;
        if (relative <= this.#floorRelative) continue;
        const high = old[from] ?? 0;
        const low = old[from + 1] ?? 0;
        const to = emptySlot(slots, ((high * scale) | 0) * lineWords, low);
        slots[to] = high;
        slots[to + 1] = low;
        slots[to + 2] = relative - shift;
      }
    }
    this.#slots = slots;
    this.#scale = scale;
    this.#occupied = live;
    this.#occupiedMax = Math.floor(buckets * slotsPerBucket * loadMax);
    this.#epoch = epoch;
    this.#floorRelative = Math.max(this.#floor - epoch, 0);
  }

  /**
   * How many entries live, and the relative timestamp of the oldest; that of `timestamp` if none
   * does.
   */
  #survey(timestamp: Timestamp): { readonly live: number; readonly oldest: number } {
    const slots = this.#slots;
    let live = 0;
    let oldest = timestamp - this.#epoch;
    for (let bucket = 0; bucket < slots.length; bucket += lineWords) {
      for (let at = bucket; at < bucket + slotsEnd; at += slotWords) {
        const relative = slots[at + 2] ?? 0;
        if (relative <= this.#floorRelative) continue;
        live += 1;
        if (relative < oldest) oldest = relative;
      }
    }
    return { live, oldest };
  }
}

/** The empty slot that a new entry of the hash takes. */
function emptySlot(slots: Uint32Array, home: number, low: number): number {
  const first = ((low * slotScale) | 0) * slotWords;
  let bucket = home;
  let at = bucket + first;
  while (slots[at + 2] !== 0) {
    at += slotWords;
    if (at === bucket + slotsEnd) at = bucket;
    if (at !== bucket + first) continue;
    bucket = bucket + lineWords === slots.length ? 0 : bucket + lineWords;
    at = bucket + first;
  }
  return at;
}
