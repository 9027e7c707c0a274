/**
 * What this process's own transactions are about to write: sealed, and without a verdict yet.
 * Another transaction of the process may read it before it is committed (chained-reads.ts), and
 * then shares its fate. Nothing here outlives the verdict.
 */
import { assert } from "../../core/assert.ts";
import type { StoredItem } from "../../core/ports.ts";
import type { Tail } from "../../core/tail.ts";
import type { KeyRead, PredicateRead, TransactionReads } from "../../core/transaction-reads.ts";
import type { Item, KeyHash, Timestamp, WriteHashes } from "../../core/types.ts";

/** What stands in the way; `timestamp` is missing where it is not committed itself. */
export type LocalConflict = {
  readonly read: KeyRead | PredicateRead;
  readonly timestamp: Timestamp | undefined;
};

/**
 * How a commit went; what nobody may rely on has not been committed, as far as this process can
 * tell.
 */
export type LocalVerdict =
  | { readonly kind: "committed"; readonly timestamp: Timestamp }
  | { readonly kind: "not-committed" };

/** A commit of this process from its sealing on, as those see it who read what it writes. */
export interface UndecidedCommit {
  /** Undefined as long as it is open; known at the latest when `decided` resolves. */
  verdict(tail: Tail): LocalVerdict | undefined;
  /** Why it cannot commit any more, as far as the tail shows. */
  conflict(tail: Tail): LocalConflict | undefined;
  /**
   * Whether the write is what the commit leaves of its item: not replaced by one that joined later.
   */
  isLast(write: LocalWrite): boolean;
  /** Resolves with the verdict; never rejects. */
  readonly decided: Promise<void>;
}

export type LocalWrite = {
  readonly commit: UndecidedCommit;
  /** Of the item; equal hashes may be of different ones. */
  readonly identity: string;
  /** Undefined deletes. */
  readonly item: Item | undefined;
  readonly hashes: WriteHashes;
};

type Place = { readonly write: LocalWrite; readonly below: Place | undefined };

export class LocalCommits {
  /** Newest first; what lies below belongs to commits that the newer ones are chained to. */
  readonly #places = new Map<KeyHash, Place>();
  /** Undecided writes under each partition and table. */
  readonly #under = new Map<KeyHash, number>();
  /** Of the commits that count there: one entry for each of their writes. */
  readonly #counted = new Map<UndecidedCommit, WriteHashes[]>();

  /** The newest write of an item: undecided, or committed and not known to be installed. */
  find(hash: KeyHash, identity: string): LocalWrite | undefined {
    const write = this.#places.get(hash)?.write;
    return write?.identity === identity ? write : undefined;
  }

  /**
   * What this process has committed there last, as far as the tail tells, and may still be
   * installing.
   */
  committed(hash: KeyHash, identity: string, tail: Tail): StoredItem | undefined {
    for (let place = this.#places.get(hash); place; place = place.below) {
      if (place.write.identity !== identity) continue;
      const verdict = place.write.commit.verdict(tail);
      if (verdict?.kind !== "committed") continue;
      // probe: read-own-commit-from-memory
      const { item } = place.write;
      return { item, version: verdict.timestamp, tombstone: item === undefined };
    }
    return undefined;
  }

  /**
   * Whether another commit writes over it, as far as the tail does not show: one that was sealed
   * later, or, once it is decided itself, any that is undecided.
   */
  isOverwritten(write: LocalWrite, tail: Tail): boolean {
    const isDecided = write.commit.verdict(tail) !== undefined;
    for (let place = this.#places.get(write.hashes.key); place; place = place.below) {
      const other = place.write;
      if (other === write && !isDecided) return false;
      if (other.identity !== write.identity) continue;
      if (!isDecided || other.commit.verdict(tail) === undefined) return true;
    }
    return false;
  }

  /** Enters a write, in place of the same commit's earlier one of this item. */
  add(write: LocalWrite): void {
    const { hashes, commit } = write;
    const top = this.#places.get(hashes.key);
    if (top?.write.commit === commit && top.write.identity === write.identity) {
      this.#places.set(hashes.key, { write, below: top.below });
      return;
    }
    this.#places.set(hashes.key, { write, below: top });
    const counted = this.#counted.get(commit);
    if (counted === undefined) this.#counted.set(commit, [hashes]);
    else counted.push(hashes);
    this.#count(hashes, 1);
  }

  #count({ partition, table }: WriteHashes, by: 1 | -1): void {
    for (const hash of [partition, table]) {
      const count = (this.#under.get(hash) ?? 0) + by;
      assert(count >= 0, "I8: an undecided write stops counting once");
      if (count === 0) this.#under.delete(hash);
      else this.#under.set(hash, count);
    }
  }

  /**
   * The commit has its verdict: its writes are the log's now. They can be read from here until they
   * are removed.
   */
  decide(commit: UndecidedCommit): void {
    for (const hashes of this.#counted.get(commit) ?? []) this.#count(hashes, -1);
    this.#counted.delete(commit);
  }

  /**
   * Forgets the writes of a commit that is decided, and whose writes are in their tables, or never
   * will be.
   */
  remove(commit: UndecidedCommit, writes: Iterable<{ readonly hashes: WriteHashes }>): void {
    for (const { hashes } of writes) {
      const rest = without(this.#places.get(hashes.key), commit);
      if (rest === undefined) this.#places.delete(hashes.key);
      else this.#places.set(hashes.key, rest);
    }
  }

  /**
   * Something read from the tables that an undecided commit is about to overwrite: whoever read it
   * comes before that commit, so he cannot read from it (I8), and is most likely too late to commit
   * before it.
   */
  overtakes(reads: TransactionReads, tail: Tail): LocalConflict | undefined {
    if (this.#counted.size === 0) return undefined;
    for (const [hash, read] of reads.keys) {
      for (let place = this.#places.get(hash); place; place = place.below) {
        if (place.write.commit.verdict(tail) === undefined) return { read, timestamp: undefined };
      }
    }
    for (const [hash, read] of reads.predicates) {
      if (this.#under.has(hash)) return { read, timestamp: undefined };
    }
    return undefined;
  }
}

function without(place: Place | undefined, commit: UndecidedCommit): Place | undefined {
  if (place === undefined) return undefined;
  const below = without(place.below, commit);
  if (place.write.commit === commit) return below;
  return below === place.below ? place : { write: place.write, below };
}
