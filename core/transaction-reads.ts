/**
 * What a transaction has read, and the timestamp at which all of it is true.
 *
 * Keeps I8: every value handed out is the newest committed one at `readTimestamp`. The read
 * timestamp moves only forward, and only when the tail shows that nothing read so far changed in
 * between: Centiman's local check (§3.3), done at every read instead of at the end.
 */
import { assert } from "./assert.ts";
import type { Tail } from "./tail.ts";
import type { Item, KeyHash, LogBlock, Timestamp, Version } from "./types.ts";

export type KeyRead = {
  readonly table: string;
  /** Undefined after a REST token brought only hashes along. */
  readonly key: Item | undefined;
};

export type PredicateRead = {
  readonly table: string;
  readonly on: "partition" | "table";
  /** The partition key value, for messages; undefined for a table. */
  readonly key: Item | undefined;
};

export type ReadConflict = {
  readonly hash: KeyHash;
  readonly timestamp: Timestamp;
  readonly read: KeyRead | PredicateRead;
};

export class TransactionReads {
  #readTimestamp: Timestamp;
  readonly keys = new Map<KeyHash, KeyRead>();
  readonly predicates = new Map<KeyHash, PredicateRead>();

  constructor(readTimestamp: Timestamp) {
    this.#readTimestamp = readTimestamp;
  }

  get readTimestamp(): Timestamp {
    return this.#readTimestamp;
  }

  get size(): number {
    return this.keys.size + this.predicates.size;
  }

  addKey(hash: KeyHash, read: KeyRead): void {
    if (!this.keys.has(hash)) this.keys.set(hash, read);
  }

  addPredicate(hash: KeyHash, read: PredicateRead): void {
    if (!this.predicates.has(hash)) this.predicates.set(hash, read);
  }

  /**
   * The first read that a commit in `(readTimestamp, tail.newest]` has overtaken. The caller has made
   * sure that `readTimestamp` is not below the tail's floor.
   *
   * `seen` are versions that a query is about to return under one of the predicates: a write that it saw is no
   * conflict. They need not be kept: once handed out, a version is at or below the read timestamp.
   */
  conflict(tail: Tail, seen: ReadonlyMap<KeyHash, Version> = noneSeen): ReadConflict | undefined {
    assert(
      this.#readTimestamp >= tail.floor,
      "I8: the tail must know every commit since the read timestamp",
    );
    for (const [hash, read] of this.keys) {
      const timestamp = tail.lastCommit(hash);
      if (timestamp !== undefined && timestamp > this.#readTimestamp) {
        return { hash, timestamp, read };
      }
    }
    for (const [hash, read] of this.predicates) {
      const newest = tail.lastCommit(hash);
      if (newest === undefined || newest <= this.#readTimestamp) continue;
      const range = { above: this.#readTimestamp, upTo: tail.newest };
      for (const { commit, hashes } of tail.commitsUnder(hash, range)) {
        if ((seen.get(hashes.key) ?? 0) < commit.timestamp) {
          return { hash, timestamp: commit.timestamp, read };
        }
      }
    }
    return undefined;
  }

  /** Moves the read timestamp to the tail's newest, or says what stands in the way. */
  extend(tail: Tail, seen?: ReadonlyMap<KeyHash, Version>): ReadConflict | undefined {
    const conflict = this.conflict(tail, seen);
    if (conflict !== undefined) return conflict;
    this.#advance(tail.newest);
    return undefined;
  }

  /**
   * Folds an old block, read from the log because the tail no longer holds it. Blocks come in order and cover
   * `(readTimestamp, …]` without a gap.
   */
  extendThrough(block: LogBlock): ReadConflict | undefined {
    assert(
      block.previousTimestamp <= this.#readTimestamp,
      "I8: extension must not leave a gap in the log",
    );
    for (const verdict of block.verdicts) {
      if (verdict.kind !== "committed" || verdict.timestamp <= this.#readTimestamp) continue;
      for (const hashes of verdict.writes) {
        for (const hash of [hashes.key, hashes.partition, hashes.table]) {
          const read = this.keys.get(hash) ?? this.predicates.get(hash);
          if (read !== undefined) return { hash, timestamp: verdict.timestamp, read };
        }
      }
    }
    if (block.throughTimestamp > this.#readTimestamp) this.#advance(block.throughTimestamp);
    return undefined;
  }

  #advance(to: Timestamp): void {
    assert(to >= this.#readTimestamp, "I8: a read timestamp never falls");
    this.#readTimestamp = to;
  }
}

const noneSeen: ReadonlyMap<KeyHash, Version> = new Map();
