/**
 * Whose turn it is at items that several processes write. A process that is beaten must read again
 * before it can send, while the process that has won sends its next group in the very turn of its
 * verdict. So it would win again and again:
 *
 *   A   commit 10 ─ send ────────── commit 20 ─ send ────────── commit 30 …
 *   B   send ── beaten by 10 ─ read, send ── beaten by 20 ─ read, send ── beaten by 30 …
 *
 * The log shows each request that was beaten, and by which commit. Such requests stand in a line at
 * each item of that commit. One leaves the line when another process commits there. Who has been
 * beaten goes after those that were beaten before; who has committed goes after all of them, within
 * bounds (`isOurTurn`):
 *
 *   A   commit 10 ── waits: one was beaten ────────────────── commit 20 shows ─ read, send …
 *   B   send ── beaten by 10 ─ read, send ────── commit 20
 *
 * A process cannot tell whose a beaten request was, nor whether it comes again. So a line is a
 * guess, and a courtesy: nothing relies on it. When nothing is committed at an item for a while,
 * no process stands in line there any more. A pure fold over the log's verdicts. Not in the papers.
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type { CommittedVerdict, KeyHash, Timestamp, Verdict } from "../../core/types.ts";

/** Whether it is on a request of this process, and the monotonic time at which it was seen. */
export type Seen = { readonly isOwn: boolean; readonly nowMs: number };

type Commit = {
  readonly writes: CommittedVerdict["writes"];
  readonly isOwn: boolean;
  /** Requests of other processes that it has beaten. */
  beaten: number;
};

type Line = {
  /** Requests of other processes. */
  waiting: number;
  /** Those of them that stand before one of our own; undefined when none of ours stands there. */
  aheadOfOurs: number | undefined;
  /** As many as stood there because of our own last commit, at most. */
  waitingAtOurCommit: number;
  /** Commits of others since then. */
  commitsSince: number;
  /** Monotonic time of the last commit there, or at which the line came about. */
  sinceMs: number;
};

export class Courtesy {
  /** Commits of late: whom they have beaten shows only later. The oldest first. */
  readonly #commits = new Map<Timestamp, Commit>();
  readonly #lines = new Map<KeyHash, Line>();

  /** Whether nobody is waited for anywhere. */
  get isIdle(): boolean {
    return this.#lines.size === 0;
  }

  /** Takes in the next verdict of the log. */
  fold(verdict: Verdict, seen: Seen): void {
    if (verdict.kind === "committed") this.#committed(verdict, seen);
    else if (verdict.kind === "aborted" && verdict.reason.kind === "conflict") {
      this.#beaten(verdict.reason.conflictTimestamp, seen);
    }
  }

  #committed({ timestamp, writes }: CommittedVerdict, { isOwn, nowMs }: Seen): void {
    if (writes.length <= limits.courtesyWritesMax) {
      this.#commits.set(timestamp, { writes, isOwn, beaten: 0 });
      dropOldest(this.#commits, limits.courtesyCommitsMax);
    }
    if (this.isIdle) return;
    for (const { key } of writes) {
      const line = this.#lines.get(key);
      if (line === undefined) continue;
      line.sinceMs = nowMs;
      if (isOwn) {
        line.aheadOfOurs = undefined;
        line.waitingAtOurCommit = line.waiting;
        line.commitsSince = 0;
      } else {
        line.commitsSince += 1;
        line.waiting = Math.max(0, line.waiting - 1);
        if (line.aheadOfOurs !== undefined) line.aheadOfOurs = Math.max(0, line.aheadOfOurs - 1);
      }
    }
  }

  #beaten(by: Timestamp, { isOwn, nowMs }: Seen): void {
    const commit = this.#commits.get(by);
    if (commit === undefined) return;
    for (const { key } of commit.writes) {
      // Where no request of ours was beaten, nor has beaten any, the line is of no concern to us.
      if (isOwn || commit.isOwn) this.#lineAt(key, { waiting: commit.beaten, nowMs });
      const line = this.#lines.get(key);
      if (line === undefined) continue;
      if (isOwn) {
        line.aheadOfOurs ??= line.waiting;
        continue;
      }
      line.waiting += 1;
      if (line.commitsSince === 0) line.waitingAtOurCommit = line.waiting;
    }
    if (!isOwn) commit.beaten += 1;
  }

  #lineAt(key: KeyHash, { waiting, nowMs }: Pick<Line, "waiting"> & { nowMs: number }): void {
    if (this.#lines.has(key)) return;
    this.#lines.set(key, {
      waiting,
      aheadOfOurs: undefined,
      waitingAtOurCommit: waiting,
      commitsSince: 0,
      sinceMs: nowMs,
    });
    dropOldest(this.#lines, limits.contendedKeysMax);
  }

  /**
   * How long this process lets others go first at the item, at most; 0 when it is its turn.
   * @param patienceMs how long a commit there is waited for. After that the line is forgotten.
   */
  waitMs(
    key: KeyHash,
    { nowMs, patienceMs }: { readonly nowMs: number; readonly patienceMs: number },
  ): number {
    const line = this.#lines.get(key);
    if (line === undefined) return 0;
    const { aheadOfOurs, sinceMs } = line;
    if (isOurTurn(line)) {
      if (nowMs > sinceMs + limits.contendedMsMax) this.#lines.delete(key);
      return 0;
    }
    if (nowMs < sinceMs + patienceMs) return sinceMs + patienceMs - nowMs;
    line.waiting = 0;
    line.aheadOfOurs = aheadOfOurs === undefined ? undefined : 0;
    return 0;
  }
}

/**
 * Requests are taken for gone when others commit: a process that has its turn too often would keep
 * one of ours from its own for ever. So twice as many as stood there may go first, and no more.
 */
function isOurTurn({ waiting, aheadOfOurs, waitingAtOurCommit, commitsSince }: Line): boolean {
  assert((aheadOfOurs ?? 0) <= waiting, "those before us are among those in line");
  if (aheadOfOurs !== undefined) return aheadOfOurs === 0;
  return waiting === 0 || commitsSince > 2 * waitingAtOurCommit;
}

function dropOldest<Key>(map: Map<Key, unknown>, max: number): void {
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
