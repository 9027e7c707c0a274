/**
 * What a transaction has read, and the timestamp at which all of it is true.
 *
 * Keeps I8: every value handed out is the newest committed one at `readTimestamp`. The read
 * timestamp moves only forward, and only when the tail shows that nothing read so far changed in
 * between: Centiman's local check (§3.3), done at every read instead of at the end.
 */
import { assert } from "./assert.ts";
import { placeOf } from "./decision.ts";
import type { Tail, TailCommit, UpTo } from "./tail.ts";
import type { Item, KeyHash, LogBlock, Timestamp, WriteHashes } from "./types.ts";

/** Table and key are undefined after a REST token brought only hashes along. */
export type KeyRead = {
  readonly table: string | undefined;
  readonly key: Item | undefined;
};

export type PredicateRead = {
  readonly table: string | undefined;
  readonly on: "partition" | "table";
  /** The partition key value, for messages; undefined for a table. */
  readonly key: Item | undefined;
};

export type ReadConflict = {
  readonly hash: KeyHash;
  readonly timestamp: Timestamp;
  readonly read: KeyRead | PredicateRead;
};

/**
 * One page of a query or scan, by names that are equal for equal pages; `next` is that of the page
 * after it.
 */
export type PageStep = { readonly page: string; readonly next: string | undefined };

/** The page that a query is about to return under the predicate `hash`. */
export type SeenPage = {
  readonly hash: KeyHash;
  readonly page: string;
  /** Whether the page shows this write, or what superseded it, without a doubt. */
  readonly shows: (commit: TailCommit, hashes: WriteHashes) => boolean;
};

export class TransactionReads {
  #readTimestamp: Timestamp;
  /** Its shard must have the same range as at that time: all that is read lies there. */
  #openedAt: Timestamp;
  readonly keys = new Map<KeyHash, KeyRead>();
  readonly predicates = new Map<KeyHash, PredicateRead>();
  /**
   * Per predicate that one single pass of pages has read so far: the page that goes on with it. Its
   * rows are disjoint from those returned before, which is what lets a newer version there be no
   * conflict.
   */
  readonly #nextPages = new Map<KeyHash, string>();

  /** @param openedAt newest timestamp of the tail by which it was said what lies in the shard. */
  constructor(readTimestamp: Timestamp, openedAt = readTimestamp) {
    this.#readTimestamp = readTimestamp;
    this.#openedAt = openedAt;
  }

  get readTimestamp(): Timestamp {
    return this.#readTimestamp;
  }

  /** Whether the shard's range is not that any more in which all of it was read. */
  isMoved({ rangeSince }: Pick<Tail, "rangeSince">): boolean {
    // mutant: reads-by-old-map
    return rangeSince > this.#openedAt;
  }

  get size(): number {
    return this.keys.size + this.predicates.size;
  }

  addKey(hash: KeyHash, read: KeyRead): void {
    if (this.keys.get(hash)?.key === undefined) this.keys.set(hash, read);
  }

  /** @param step undefined: what was read under the predicate is not known. */
  addPredicate(hash: KeyHash, read: PredicateRead, step?: PageStep): void {
    const goesOn = !this.predicates.has(hash) || this.#nextPages.get(hash) === step?.page;
    if (!this.predicates.has(hash)) this.predicates.set(hash, read);
    if (goesOn && step?.next !== undefined) this.#nextPages.set(hash, step.next);
    else this.#nextPages.delete(hash);
  }

  /**
   * The first read that a commit in `(readTimestamp, tail.newest]` has overtaken. The caller has
   * made sure that `readTimestamp` is not below the tail's floor.
   *
   * `seen` is a page about to be returned. A write that it shows is no conflict with its own
   * predicate, provided that the page goes on where the only pass over that predicate stands: rows
   * returned before lie elsewhere. Nothing of it need be kept: once handed out, a version is at or
   * below the read timestamp.
   */
  conflict(tail: Tail, seen?: SeenPage): ReadConflict | undefined {
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
      const shown = this.#goesOn(hash, seen) ? seen : undefined;
      const range = { above: this.#readTimestamp, upTo: endOf(tail) };
      for (const { commit, hashes } of tail.commitsUnder(hash, range)) {
        if (shown?.shows(commit, hashes) === true) continue;
        return { hash, timestamp: placeOf(commit), read };
      }
    }
    return undefined;
  }

  /** Whether a commit by vote in `(readTimestamp, tail.newest]` has written any of it. */
  isOvertakenByVote(tail: Tail): boolean {
    const range = { above: this.#readTimestamp, upTo: tail.newest };
    for (const hash of this.keys.keys()) {
      if (tail.commitsOf(hash, range).some(isByVote)) return true;
    }
    for (const hash of this.predicates.keys()) {
      if ((tail.lastCommit(hash) ?? 0) <= range.above) continue;
      const under = { above: range.above, upTo: endOf(tail) };
      for (const { commit } of tail.commitsUnder(hash, under)) if (isByVote(commit)) return true;
    }
    return false;
  }

  #goesOn(hash: KeyHash, seen: SeenPage | undefined): boolean {
    return seen?.hash === hash && this.#nextPages.get(hash) === seen.page;
  }

  /** Takes over what another transaction has read at the same read timestamp. */
  absorb(other: TransactionReads): void {
    assert(
      other.#readTimestamp === this.#readTimestamp,
      "I8: reads are merged at one read timestamp",
    );
    this.#openedAt = Math.min(this.#openedAt, other.#openedAt) as Timestamp;
    for (const [hash, read] of other.keys) this.addKey(hash, read);
    for (const [hash, read] of other.predicates) this.addPredicate(hash, read);
  }

  /** Moves the read timestamp to the tail's newest, or says what stands in the way. */
  extend(tail: Tail, seen?: SeenPage): ReadConflict | undefined {
    const conflict = this.conflict(tail, seen);
    // mutant: extends-over-conflicts
    if (conflict !== undefined) return conflict;
    this.advance(tail.newest);
    return undefined;
  }

  /** The caller has made sure that nothing read was written in `(readTimestamp, to]`. */
  advance(to: Timestamp): void {
    assert(to >= this.#readTimestamp, "I8: a read timestamp never falls");
    this.#readTimestamp = to;
  }
}

function endOf({ newest }: Tail): UpTo {
  return { by: "place", at: newest };
}

function isByVote({ verdict }: TailCommit): boolean {
  return verdict.payload.kind === "prepared";
}

/**
 * Folds an old block, read from the log because the tail no longer holds it: extends the read
 * timestamp to its end, or says what stands in the way. Blocks come in order and cover
 * `(readTimestamp, …]` without a gap.
 */
export function extendThrough(reads: TransactionReads, block: LogBlock): ReadConflict | undefined {
  assert(
    block.previousTimestamp <= reads.readTimestamp,
    "I8: extension must not leave a gap in the log",
  );
  for (const verdict of block.verdicts) {
    if (verdict.kind !== "committed" || placeOf(verdict) <= reads.readTimestamp) continue;
    for (const hashes of verdict.writes) {
      for (const hash of [hashes.key, hashes.partition, hashes.table]) {
        const read = reads.keys.get(hash) ?? reads.predicates.get(hash);
        if (read !== undefined) return { hash, timestamp: placeOf(verdict), read };
      }
    }
  }
  if (block.throughTimestamp > reads.readTimestamp) reads.advance(block.throughTimestamp);
  return undefined;
}
