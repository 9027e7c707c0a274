/** What the checker costs, in counts of nodes, edges and looks at edges: never in seconds. */
import { describe, expect, test } from "vitest";
import { checkHistory } from "../../testing/checker/check-history.ts";
import type { HistoryOp, HistoryTransaction } from "../../testing/history/types.ts";

const keysCount = 500;
const opsEach = 6;

/**
 * A serial history: each transaction reads three keys and writes them; intervals overlap their
 * neighbours'.
 */
function serial(count: number, { timestamps }: { readonly timestamps: boolean }) {
  const state = new Map<string, string>();
  return Array.from({ length: count }, (_each, i): HistoryTransaction => {
    const ops = [0, 1, 2].flatMap((n): HistoryOp[] => {
      const key = `k${(i * 7 + n * 131) % keysCount}`;
      const read: HistoryOp = ["r", key, state.get(key) ?? null];
      state.set(key, `${i}.${n}`);
      return [read, ["w", key, `${i}.${n}`]];
    });
    return {
      ...{ id: `t${i}`, process: "p", start: 10 * i, end: 10 * i + 55, status: "commit" },
      ...{ kind: "txn", isolation: i % 3 === 0 ? "snapshot" : "serializable", ops },
      ...(timestamps ? { snapshotTs: 10 * i + 1, commitTs: 10 * i + 2 } : {}),
    };
  });
}

// What counts is the work, which is asserted below; a busy machine may take its time for it.
describe("the cost of checking", { timeout: 600_000 }, () => {
  test.each([
    { count: 100_000, timestamps: true },
    { count: 10_000, timestamps: false },
  ])("is a multiple of the operations: %o", ({ count, timestamps }) => {
    const transactions = serial(count, { timestamps });
    const { findings, work, undecided } = checkHistory({ transactions }, { strict: true });
    expect(findings).toEqual([]);
    expect(undecided).toEqual({ keys: 0, nullReads: 0 });
    const size = transactions.length * opsEach;
    expect(work.edges).toBeLessThan(3 * size);
    expect(work.nodes).toBeLessThan(size);
    expect(work.visits).toBeLessThan(3 * size);
  });

  test("stays bounded when everything is entangled in one cycle", () => {
    const transactions = serial(20_000, { timestamps: true });
    const last = transactions.at(-1)!;
    const old: HistoryOp = ["r", "k0", "0.0"];
    const late = last.ops.flatMap(([kind, key, version]): HistoryOp[] =>
      kind === "w" ? [["r", key, version]] : [],
    );
    const judged = (ops: readonly HistoryOp[], strict: boolean) => {
      const { commitTs: _none, ...reader } = {
        ...last,
        id: "reader",
        start: 10 ** 6,
        end: 10 ** 6,
      };
      return checkHistory({ transactions: [...transactions, { ...reader, ops }] }, { strict });
    };
    const stale = judged([old], true);
    expect(stale.findings.map(({ anomaly }) => anomaly)).toEqual(["stale read"]);
    expect(stale.findings[0]?.cycle).toHaveLength(2);
    const torn = judged([old, ...late], false);
    expect(torn.findings.map(({ anomaly }) => anomaly)).toEqual(["G-single"]);
    for (const { work } of [stale, torn]) expect(work.visits).toBeLessThan(50_000_000);
  });
});
