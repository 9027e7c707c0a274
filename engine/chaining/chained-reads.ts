/**
 * What a transaction has read from undecided commits of its own process: values that are not
 * committed yet, and that it may rely on only if those commits come first.
 *
 *   A   get(k) = 1  put(k, 2)  sealed ──── sent ──────────── committed at 40
 *   B                          get(k) = 2  put(k, 3)  sealed ─ waits for A ─ sent, checked from 40
 *
 * That is the way by the stream; a block of the process's own may hold both, B behind A.
 *
 * Such a transaction shows nothing to its caller before they are committed: it neither commits, nor
 * ends without writes, nor lets its body's own error out (read-view.ts, `settleChained`). And it
 * never sees a state that could not come to be (I8): what it reads is that of the tables at its
 * read timestamp, with the undecided commits on top.
 */
import type { Tail } from "../../core/tail.ts";
import type { KeyRead, TransactionReads } from "../../core/transaction-reads.ts";
import type { UndecidedRead } from "../express-way.ts";
import type { LocalCommits, LocalConflict, LocalWrite, UndecidedCommit } from "./local-commits.ts";

type ChainedRead = { readonly write: LocalWrite; readonly read: KeyRead };

export class ChainedReads {
  /** By the item's identity. */
  readonly #reads = new Map<string, ChainedRead>();

  get size(): number {
    return this.#reads.size;
  }

  add(write: LocalWrite, read: KeyRead): void {
    this.#reads.set(write.identity, { write, read });
  }

  /** The commits read from that have no verdict yet. */
  undecided(tail: Tail): ReadonlySet<UndecidedCommit> {
    const commits = new Set<UndecidedCommit>();
    for (const { write } of this.#reads.values()) {
      if (write.commit.verdict(tail) === undefined) commits.add(write.commit);
    }
    return commits;
  }

  /** What was read from those. */
  undecidedReads(tail: Tail): readonly UndecidedRead[] {
    return Array.from(this.#reads.values())
      .filter(({ write }) => write.commit.verdict(tail) === undefined)
      .map(({ write, read }) => ({ key: write.hashes.key, from: write.commit.id, read }));
  }

  /** Resolves once every commit read from has its verdict. */
  async decided(): Promise<void> {
    await Promise.all(Array.from(this.#reads.values(), ({ write }) => write.commit.decided));
  }

  /**
   * Why what was read cannot be relied on any more, up to the tail's end.
   * @param local of a transaction that is not sealed yet: nothing may have been written over what
   * it read. Once it is, it has its place in the order, and what comes later is no concern of its.
   *
   * The log has no trace of a write that a later member of its own group replaced, so it does not
   * help to wait for the verdict:
   *
   *   R            get(k) = 2 ────────────────────── put(k, 3)    would lose C's write
   *   group   A: k = 2 ──── C joins: k = 3 ──── committed at 40
   */
  conflict(tail: Tail, local?: LocalCommits): LocalConflict | undefined {
    for (const { write, read } of this.#reads.values()) {
      const { key } = write.hashes;
      const verdict = write.commit.verdict(tail);
      // mutant: replaced-writes-relied-on
      if (!write.commit.isLast(write) || local?.isOverwritten(write, tail) === true) {
        return { read, timestamp: undefined };
      }
      if (verdict === undefined) {
        const conflict = write.commit.conflict(tail);
        if (conflict !== undefined) return conflict;
        continue;
      }
      // mutant: failed-commits-relied-on
      if (verdict.kind === "not-committed") return { read, timestamp: undefined };
      const timestamp = tail.lastCommit(key);
      // mutant: chained-reads-not-current
      if (timestamp !== undefined && timestamp > verdict.timestamp) return { read, timestamp };
    }
    return undefined;
  }

  /**
   * Moves what was read from committed transactions to the ordinary reads: it stands in the log
   * now. The caller has found no conflict up to the tail's end, and moved the reads there, in this
   * very turn.
   */
  settle(tail: Tail, reads: TransactionReads): void {
    for (const [identity, { write, read }] of this.#reads) {
      if (write.commit.verdict(tail)?.kind !== "committed") continue;
      reads.addKey(write.hashes.key, read);
      this.#reads.delete(identity);
    }
  }

  /** Takes over what `other` has read, except from `commit` itself. */
  absorb(other: ChainedReads, commit: UndecidedCommit): void {
    for (const [identity, chained] of other.#reads) {
      if (chained.write.commit === commit || this.#reads.has(identity)) continue;
      this.#reads.set(identity, chained);
    }
  }
}
