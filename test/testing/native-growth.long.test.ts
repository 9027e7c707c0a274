/** What judging native operations costs, in looks at points and edges: never in seconds. */
import { describe, expect, test } from "vitest";
import { checkHistory } from "../../testing/checker/check-history.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";
import { nativeRun } from "./native-run.ts";

const shape = { processes: 40, nativeShare: 60, keys: 60, span: 20 };

/** One native read, near the end, that finds what was overwritten long before. */
function withStaleRead(transactions: readonly HistoryTransaction[]): readonly HistoryTransaction[] {
  const at = transactions.findLastIndex(
    ({ kind, ops }) => kind === "native" && ops.length === 1 && ops[0]?.[0] === "r",
  );
  const key = transactions[at]!.ops[0]![1];
  const old = transactions
    .slice(0, at / 2)
    .flatMap(({ ops }) => ops)
    .findLast(([kind, name]) => kind === "w" && name === key)!;
  return transactions.with(at, { ...transactions[at]!, ops: [["r", key, old[2]]] });
}

describe("a long history of transactions and native operations", () => {
  test.each([
    { count: 1000, deletions: true },
    { count: 2000, deletions: false },
    { count: 2000, deletions: true },
  ])("is decided by a multiple of its operations: %o", ({ count, deletions }) => {
    const transactions = nativeRun({ ...shape, count, deletions });
    const legal = checkHistory({ transactions }, { strict: true });
    expect(legal.findings).toEqual([]);
    expect(legal.undecided).toEqual({ keys: 0, nullReads: 0 });
    expect(legal.work.edges).toBeLessThan(20 * count);
    expect(legal.work.visits).toBeLessThan(600 * count);
    const stale = checkHistory({ transactions: withStaleRead(transactions) }, { strict: true });
    expect(stale.findings).not.toEqual([]);
    expect(stale.work.visits).toBeLessThan(600 * count);
  });
});
