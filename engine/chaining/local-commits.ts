/**
 * What this process's own transactions are about to write: sealed, and without a verdict yet.
 * Another transaction of the process may read it before it is committed (chained-reads.ts), and
 * then shares its fate. Nothing here outlives the verdict.
 */
import { assert } from "../../core/assert.ts";
import type { StoredItem } from "../../core/ports.ts";
import type { Tail } from "../../core/tail.ts";
import type { KeyRead, PredicateRead, TransactionReads } from "../../core/transaction-reads.ts";
import type { Item, KeyHash, Timestamp, TransactionId, WriteHashes } from "../../core/types.ts";
import type { LocalVerdict } from "../committing/commit-under-way.ts";

/** What stands in the way; `timestamp` is missing where it is not committed itself. */
export type LocalConflict = {
  readonly read: KeyRead | PredicateRead;
  readonly timestamp: Timestamp | undefined;
};

/** A commit of this process from its sealing on, as those see it who read what it writes. */
export interface UndecidedCommit {
  readonly id: TransactionId;
  /** Undefined as long as it is open; known at the latest when `decided` resolves. */
  verdict(tail: Tail): LocalVerdict | undefined;
  /** Why it cannot commit any more, as far as the tail shows. */
  conflict(tail: Tail): LocalConflict | undefined;
  /**
   * Whether the write is what the commit leaves of its item: not replaced by one that joined later.
   */
  isLast(write: LocalWrite): boolean;
  /** How many undecided commits had to come before it, one after another, when it was sealed. */
  readonly depth: number;
  /** Resolves with the verdict; never rejects. */
  readonly decided: Promise<void>;
}

export type LocalWrite = {
  readonly commit: UndecidedCommit;
  /** Which item it is; equal hashes may belong to different ones. */
  readonly identity: string;
  /** Undefined deletes. */
  readonly item: Item | undefined;
  readonly hashes: WriteHashes;
  /** See `Write`. */
  readonly sawVersion: boolean;
};

export class LocalCommits {
  /** By key, in the order of sealing: what each commit leaves there. */
  readonly #writes = new Map<KeyHash, readonly LocalWrite[]>();
  /** Undecided writes under each partition and table. */
  readonly #under = new Map<KeyHash, number>();
  /** The commits that count there, with an entry for each of their writes. */
  readonly #counted = new Map<UndecidedCommit, WriteHashes[]>();
  #decisions = 0;

  /** How many have had their verdicts so far: each may change what others rest on. */
  get decisions(): number {
    return this.#decisions;
  }

  /** Whether no commit is on its way, and none is being installed. */
  get isEmpty(): boolean {
    return this.#writes.size === 0 && this.#counted.size === 0;
  }

  #of(hash: KeyHash, identity: string): readonly LocalWrite[] {
    const writes = this.#writes.get(hash);
    return writes === undefined ? [] : writes.filter((write) => write.identity === identity);
  }

  /** Whether anything of this process is being written there, undecided or decided. */
  has(hash: KeyHash, identity: string): boolean {
    return this.#of(hash, identity).length > 0;
  }

  /**
   * The write that stands on top of the tables: the last one sealed among those that are undecided,
   * and not bound to fail: what such a one was to replace stands. Requests may reach the log in
   * another order than that of their sealing, so one that was sealed later may be decided, and is
   * below those that are not:
   *
   *   A   put(k, 1)  sealed ── send, slow ─────────────────── committed at 41
   *   B                 put(k, 2)  sealed ── send ─ committed at 40
   *   C                                                 get(k): 1 on top of 2
   */
  undecided(hash: KeyHash, identity: string, tail: Tail): LocalWrite | undefined {
    // mutant: doomed-writes-cover
    return this.#of(hash, identity).findLast(
      (write) => isUndecided(write, tail) && mayCommit(write, tail),
    );
  }

  /** Resolves once all that are undecided there now have their verdicts. */
  async decided(hash: KeyHash, identity: string): Promise<void> {
    await Promise.all(this.#of(hash, identity).map(({ commit }) => commit.decided));
  }

  /**
   * What this process has committed there last, as far as the tail tells, and may still be
   * installing.
   */
  committed(hash: KeyHash, identity: string, tail: Tail): StoredItem | undefined {
    let newest: StoredItem | undefined;
    for (const { commit, item } of this.#of(hash, identity)) {
      const verdict = commit.verdict(tail);
      if (verdict?.kind !== "committed") continue;
      if (newest !== undefined && newest.version > verdict.timestamp) continue;
      // probe: read-own-commit-from-memory
      newest = { item, version: verdict.timestamp, tombstone: item === undefined };
    }
    return newest;
  }

  /**
   * Whether another commit may write over it, as far as the tail does not show: an undecided one
   * that was sealed later, or, once it is decided itself, any that is undecided.
   */
  isOverwritten(write: LocalWrite, tail: Tail): boolean {
    const isDecided = !isUndecided(write, tail);
    const others = this.#of(write.hashes.key, write.identity);
    const later = isDecided ? others : others.slice(others.indexOf(write) + 1);
    return later.some((other) => isUndecided(other, tail) && mayCommit(other, tail));
  }

  /** Enters a write, in place of the same commit's earlier one of this item. */
  add(write: LocalWrite): void {
    const { hashes, commit, identity } = write;
    const writes = this.#writes.get(hashes.key) ?? [];
    const others = writes.filter((each) => each.commit !== commit || each.identity !== identity);
    this.#writes.set(hashes.key, [...others, write]);
    if (others.length < writes.length) return;
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
   * are removed, or a newer one is committed: what waits for slow tables must not pile up in the
   * way of every read.
   */
  decide(commit: UndecidedCommit, tail: Tail): void {
    this.#decisions += 1;
    for (const hashes of this.#counted.get(commit) ?? []) {
      this.#count(hashes, -1);
      this.#forgetSuperseded(hashes.key, tail);
    }
    this.#counted.delete(commit);
  }

  #forgetSuperseded(hash: KeyHash, tail: Tail): void {
    const writes = this.#writes.get(hash) ?? [];
    if (writes.length < 2) return;
    const newest = new Map<string, number>();
    const timestampOf = ({ commit }: LocalWrite): number | undefined => {
      const verdict = commit.verdict(tail);
      return verdict?.kind === "committed" ? verdict.timestamp : undefined;
    };
    for (const write of writes) {
      const timestamp = timestampOf(write) ?? 0;
      if (timestamp >= (newest.get(write.identity) ?? 0)) newest.set(write.identity, timestamp);
    }
    const isNeeded = (write: LocalWrite): boolean => {
      const timestamp = timestampOf(write);
      return timestamp === undefined || timestamp === newest.get(write.identity);
    };
    this.#writes.set(hash, writes.filter(isNeeded));
  }

  /**
   * Forgets the writes of a commit that is decided, and whose writes are in their tables, or never
   * will be.
   */
  remove(commit: UndecidedCommit, writes: Iterable<{ readonly hashes: WriteHashes }>): void {
    for (const { hashes } of writes) {
      const rest = this.#writes.get(hashes.key)?.filter((write) => write.commit !== commit) ?? [];
      if (rest.length === 0) this.#writes.delete(hashes.key);
      else this.#writes.set(hashes.key, rest);
    }
  }

  /**
   * Something read from the tables that an undecided commit is about to overwrite: the reader
   * comes before that commit, so it cannot read from it (I8), and is most likely too late to commit
   * before it.
   */
  overtakes(reads: TransactionReads, tail: Tail): LocalConflict | undefined {
    if (this.#counted.size === 0) return undefined;
    for (const [hash, read] of reads.keys) {
      const writes = this.#writes.get(hash);
      if (writes?.some((write) => isUndecided(write, tail) && mayCommit(write, tail)) === true) {
        return { read, timestamp: undefined };
      }
    }
    for (const [hash, read] of reads.predicates) {
      if (this.#under.has(hash)) return { read, timestamp: undefined };
    }
    return undefined;
  }
}

function mayCommit({ commit }: LocalWrite, tail: Tail): boolean {
  return commit.conflict(tail) === undefined;
}

function isUndecided({ commit }: LocalWrite, tail: Tail): boolean {
  return commit.verdict(tail) === undefined;
}
