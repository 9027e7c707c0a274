/** What a process's own commits leave of an item, in whatever order the log decides them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { LocalCommits, type UndecidedCommit } from "../../engine/chaining/local-commits.ts";
import type { LocalVerdict } from "../../engine/committing/commit-under-way.ts";
import { idOf } from "./memory-log.ts";
import { Tail } from "../../core/tail.ts";
import type { KeyHash, LogPosition, Timestamp } from "../../core/types.ts";

const hash = 1n as KeyHash;
const hashes = { key: hash, partition: hash, table: 2n as KeyHash, sortKey: undefined };
/** Commits are asked for their verdicts with it, and these know them without. */
const tail = new Tail({ position: 0 as LogPosition, timestamp: 0 as Timestamp });

class ACommit implements UndecidedCommit {
  readonly id;
  readonly depth = 0;
  readonly decided = Promise.resolve();
  readonly write;
  found: LocalVerdict | undefined;

  constructor(n: number) {
    this.id = idOf(n);
    const item = { n: { N: n.toString() } };
    this.write = { commit: this, identity: "k", item, hashes, sawVersion: false };
  }

  verdict(): LocalVerdict | undefined {
    return this.found;
  }

  conflict(): undefined {
    return undefined;
  }

  isLast(): boolean {
    return true;
  }
}

test("of those undecided the last one sealed is on top, the last one committed below", () => {
  const order = fc
    .integer({ min: 1, max: 8 })
    .chain((count) =>
      fc.tuple(
        fc.shuffledSubarray(Array.from({ length: count }, (_, i) => i)),
        fc.array(fc.boolean(), { minLength: count, maxLength: count }),
        fc.constant(count),
      ),
    );
  fc.assert(
    fc.property(order, ([decisions, commits, count]) => {
      const local = new LocalCommits();
      const all = Array.from({ length: count }, (_, i) => new ACommit(i));
      for (const { write } of all) local.add(write);
      let last: ACommit | undefined;
      for (const [at, index] of decisions.entries()) {
        const commit = all[index] as ACommit;
        const isCommitted = commits[at] === true;
        commit.found = isCommitted
          ? { kind: "committed", timestamp: (at + 1) as Timestamp }
          : { kind: "not-committed" };
        local.decide(commit, tail);
        if (isCommitted) last = commit;
        else local.remove(commit, [commit.write]);
        const undecided = all.filter(({ found }) => found === undefined);
        expect(local.undecided(hash, "k", tail)).toBe(undecided.at(-1)?.write);
        expect(local.committed(hash, "k", tail)?.item).toBe(last?.write.item);
        // An undecided commit comes after all that are decided, wherever it was sealed.
        for (const [i, each] of undecided.entries()) {
          expect(local.isOverwritten(each.write, tail)).toBe(i < undecided.length - 1);
        }
        if (last !== undefined) {
          expect(local.isOverwritten(last.write, tail)).toBe(undecided.length > 0);
        }
      }
      for (const commit of all) {
        commit.found ??= { kind: "not-committed" };
        local.decide(commit, tail);
        local.remove(commit, [commit.write]);
      }
      expect(local.isEmpty).toBe(true);
    }),
  );
});
