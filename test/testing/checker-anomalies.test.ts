/**
 * Each anomaly in a history made by hand, and its nearest neighbour that is legal: one read, one
 * place in the order, or one time differs.
 */
import { describe, expect, test } from "vitest";
import { checkHistory, type CheckOptions } from "../../testing/checker/check-history.ts";
import type { Anomaly } from "../../testing/checker/findings.ts";
import type { History, HistoryTransaction } from "../../testing/history/types.ts";
import { aborted, during, init, orders, snapshot, tx, unknown } from "./history-builder.ts";

type Order = readonly string[];
type Case = {
  readonly title: string;
  readonly finds: Anomaly;
  readonly bad: readonly HistoryTransaction[];
  readonly good: readonly HistoryTransaction[];
  /** Version orders of both; or of each. */
  readonly order?: Order;
  readonly goodOrder?: Order;
  readonly final?: History["finalState"];
  readonly goodFinal?: History["finalState"];
  readonly options?: Partial<CheckOptions>;
};

const start = init("w x 0, w y 0");
const at = (snapshotTs: number, commitTs?: number): Partial<HistoryTransaction> => ({
  snapshotTs,
  ...(commitTs === undefined ? {} : { commitTs }),
});

const cases: readonly Case[] = [
  {
    title: "G0: two transactions overwrite each other",
    finds: "G0",
    bad: [tx("a", "w x 1, w y 1"), tx("b", "w x 2, w y 2")],
    order: ["x: 1 2", "y: 2 1"],
    good: [tx("a", "w x 1, w y 1"), tx("b", "w x 2, w y 2")],
    goodOrder: ["x: 1 2", "y: 1 2"],
  },
  {
    title: "G0: another write comes between two of one transaction",
    finds: "G0",
    bad: [tx("a", "w x 1, w x 2"), tx("b", "w x 3")],
    order: ["x: 1 3 2"],
    good: [tx("a", "w x 1, w x 2"), tx("b", "w x 3")],
    goodOrder: ["x: 1 2 3"],
  },
  {
    title: "G1a: an aborted write is read",
    finds: "G1a",
    bad: [start, tx("a", "w x 1", aborted), tx("b", "r x 1")],
    good: [start, tx("a", "w x 1", aborted), tx("b", "r x 0")],
  },
  {
    title: "G1b: a write is read that its transaction replaced",
    finds: "G1b",
    bad: [tx("a", "w x 1, w x 2"), tx("b", "r x 1")],
    good: [tx("a", "w x 1, w x 2"), tx("b", "r x 2")],
  },
  {
    title: "G1b: a list is read between two appends of one transaction",
    finds: "G1b",
    bad: [tx("a", "a x 1, a x 2"), tx("b", "r x 1")],
    order: ["x: 1 2"],
    good: [tx("a", "a x 1, a x 2"), tx("b", "r x 2")],
  },
  {
    title: "G1c: two transactions read from each other",
    finds: "G1c",
    bad: [start, tx("a", "w x 1, r y 2"), tx("b", "w y 2, r x 1")],
    good: [start, tx("a", "w x 1, r y 0"), tx("b", "w y 2, r x 1")],
  },
  {
    title: "G-single: half of a transaction is seen",
    finds: "G-single",
    bad: [start, tx("a", "w x 1, w y 1"), tx("b", "r x 1, r y 0")],
    good: [start, tx("a", "w x 1, w y 1"), tx("b", "r x 1, r y 1")],
  },
  {
    title: "G-single: a snapshot, too, sees all of a transaction or nothing",
    finds: "G-single",
    bad: [start, tx("a", "w x 1, w y 1", snapshot), tx("b", "r x 0, r y 1", snapshot)],
    good: [start, tx("a", "w x 1, w y 1", snapshot), tx("b", "r x 0, r y 0", snapshot)],
  },
  {
    title: "phantom: a row is missing from the search and known by its sum",
    finds: "phantom",
    bad: [start, tx("a", "w row 1, w x 1"), tx("b", "r row -, r x 1")],
    good: [start, tx("a", "w row 1, w x 1"), tx("b", "r row -, r x 0")],
  },
  {
    title: "lost update: two transactions write from one version",
    finds: "lost update",
    bad: [start, tx("a", "r x 0, w x 1"), tx("b", "r x 0, w x 2")],
    good: [start, tx("a", "r x 0, w x 1"), tx("b", "r x 1, w x 2")],
  },
  {
    title: "lost update: snapshot transactions may not lose one either",
    finds: "lost update",
    bad: [start, tx("a", "r x 0, w x 1", snapshot), tx("b", "r x 0, w x 2", snapshot)],
    order: ["x: 1 2"],
    good: [start, tx("a", "r x 0, w x 1", snapshot), tx("b", "r x 0, w y 2", snapshot)],
    goodOrder: ["x: 1", "y: 2"],
  },
  {
    title: "lost update: two appends follow one element",
    finds: "lost update",
    bad: [tx("a", "r x -, a x 1"), tx("b", "r x 1, a x 2"), tx("c", "r x 1, a x 3")],
    good: [tx("a", "r x -, a x 1"), tx("b", "r x 1, a x 2"), tx("c", "r x 2, a x 3")],
  },
  {
    title: "write skew: each of two reads what the other writes",
    finds: "write skew",
    bad: [start, tx("a", "r x 0, r y 0, w x 1"), tx("b", "r x 0, r y 0, w y 1")],
    good: [
      start,
      tx("a", "r x 0, r y 0, w x 1", snapshot),
      tx("b", "r x 0, r y 0, w y 1", snapshot),
    ],
  },
  {
    title: "G2-item: three transactions each miss the next one's write",
    finds: "G2-item",
    bad: [
      init("w x 0, w y 0, w z 0"),
      tx("a", "r x 0, w y 1"),
      tx("b", "r y 0, w z 2"),
      tx("c", "r z 0, w x 3"),
    ],
    good: [
      init("w x 0, w y 0, w z 0"),
      tx("a", "r x 0, w y 1"),
      tx("b", "r y 0, w z 2"),
      tx("c", "r z 2, w x 3"),
    ],
  },
  {
    title: "G2: each of two inserts what the other has looked for",
    finds: "G2",
    bad: [tx("a", "r row1 -, r row2 -, w row1 1"), tx("b", "r row1 -, r row2 -, w row2 2")],
    good: [tx("a", "r row1 -, r row2 -, w row1 1"), tx("b", "r row1 1, r row2 -, w row2 2")],
  },
  {
    title: "long fork: two readers see two writes in different orders",
    finds: "long fork",
    bad: [
      start,
      tx("a", "w x 1", snapshot),
      tx("b", "w y 1", snapshot),
      tx("c", "r x 1, r y 0", snapshot),
      tx("d", "r x 0, r y 1", snapshot),
    ],
    good: [
      start,
      tx("a", "w x 1", snapshot),
      tx("b", "w y 1", snapshot),
      tx("c", "r x 1, r y 0", snapshot),
      tx("d", "r x 1, r y 1", snapshot),
    ],
  },
  {
    title: "stale read: an acknowledged write is missed",
    finds: "stale read",
    options: { strict: true },
    bad: [start, tx("a", "w x 1", during(10, 20)), tx("b", "r x 0", during(21, 30))],
    good: [start, tx("a", "w x 1", during(10, 20)), tx("b", "r x 0", during(20, 30))],
  },
  {
    title: "stale read: a snapshot misses an acknowledged write",
    finds: "stale read",
    options: { strict: true },
    bad: [
      start,
      tx("a", "w x 1", during(10, 20)),
      tx("b", "r x 0", { ...during(21, 30), ...snapshot }),
    ],
    good: [
      start,
      tx("a", "w x 1", during(10, 20)),
      tx("b", "r x 0", { ...during(21, 30), ...snapshot, strict: false }),
    ],
  },
  {
    title: "stale read: two readers go back in time",
    finds: "stale read",
    options: { strict: true },
    bad: [
      start,
      tx("a", "w x 1", during(10, 90)),
      tx("b", "r x 1", during(20, 30)),
      tx("c", "r x 0", during(40, 50)),
    ],
    good: [
      start,
      tx("a", "w x 1", during(10, 90)),
      tx("b", "r x 0", during(20, 30)),
      tx("c", "r x 1", during(40, 50)),
    ],
  },
  {
    title: "G1c-realtime: a write is read before it began",
    finds: "G1c-realtime",
    options: { strict: true },
    bad: [start, tx("a", "r x 1", during(10, 20)), tx("b", "w x 1", during(30, 40))],
    good: [start, tx("a", "r x 1", during(10, 30)), tx("b", "w x 1", during(30, 40))],
  },
  {
    title: "G0-realtime: writes stand in the wrong order",
    finds: "G0-realtime",
    options: { strict: true },
    bad: [tx("a", "w x 1", during(10, 20)), tx("b", "w x 2", during(30, 40))],
    order: ["x: 2 1"],
    good: [tx("a", "w x 1", during(10, 20)), tx("b", "w x 2", during(30, 40))],
    goodOrder: ["x: 1 2"],
  },
  {
    title: "G2-realtime: two missed writes contradict real time together, and neither alone",
    finds: "G2-realtime",
    options: { strict: true },
    bad: [
      init("w x 0, w z 0"),
      tx("a", "w x 1", during(10, 20)),
      tx("b", "r z 0", during(30, 40)),
      tx("c", "r x 0, w z 1", during(10, 60)),
    ],
    good: [
      init("w x 0, w z 0"),
      tx("a", "w x 1", during(10, 20)),
      tx("b", "r z 1", during(30, 40)),
      tx("c", "r x 0, w z 1", during(10, 60)),
    ],
  },
  {
    title: "internal: the own write is not seen",
    finds: "internal",
    bad: [start, tx("a", "w x 1, r x 0")],
    good: [start, tx("a", "w x 1, r x 1")],
  },
  {
    title: "internal: the own deletion is not seen",
    finds: "internal",
    bad: [start, tx("a", "d x 1, r x 0")],
    good: [start, tx("a", "d x 1, r x -")],
  },
  {
    title: "internal: a second read differs from the first",
    finds: "internal",
    bad: [start, tx("a", "w x 1"), tx("b", "r x 0, r x 1")],
    good: [start, tx("a", "w x 1"), tx("b", "r x 1, r x 1")],
  },
  {
    title: "garbage read: a version that nobody wrote",
    finds: "garbage read",
    bad: [start, tx("a", "r x 7")],
    good: [start, tx("a", "r x 0")],
  },
  {
    title: "garbage read: the version of another key",
    finds: "garbage read",
    bad: [init("w x 0, w y 0"), tx("a", "r x =y0")],
    good: [init("w x 0, w y 0"), tx("a", "r y 0")],
  },
  {
    title: "duplicate: a version is written twice",
    finds: "duplicate",
    bad: [tx("a", "w x 1"), tx("b", "w x 1")],
    order: ["x: 1"],
    good: [tx("a", "w x 1"), tx("b", "w x 2")],
    goodOrder: ["x: 1 2"],
  },
  {
    title: "duplicate: two commits at one timestamp",
    finds: "duplicate",
    bad: [tx("a", "w x 1", at(1, 5)), tx("b", "w x 2", at(1, 5))],
    good: [tx("a", "w x 1", at(1, 5)), tx("b", "w x 2", at(1, 6))],
  },
  {
    title: "dirty write: an aborted write is in the stores",
    finds: "dirty write",
    bad: [tx("a", "w x 1", aborted), tx("b", "w x 2")],
    order: ["x: 1 2"],
    good: [tx("a", "w x 1", aborted), tx("b", "w x 2")],
    goodOrder: ["x: 2"],
  },
  {
    title: "dirty write: the end of the run shows an aborted write",
    finds: "dirty write",
    bad: [start, tx("a", "w x 1", aborted)],
    final: [{ key: "x", version: "x1" }],
    good: [start, tx("a", "w x 1", aborted)],
    goodFinal: [{ key: "x", version: "x0" }],
  },
  {
    title: "lost write: the order of versions lacks an acknowledged one",
    finds: "lost write",
    bad: [tx("a", "w x 1"), tx("b", "w x 2")],
    order: ["x: 2"],
    good: [tx("a", "w x 1"), tx("b", "w x 2", unknown)],
    goodOrder: ["x: 1"],
  },
  {
    title: "lost write: an unknown transaction took effect in part",
    finds: "lost write",
    bad: [start, tx("a", "w x 1, w y 1", unknown)],
    order: ["x: 1", "y: "],
    good: [start, tx("a", "w x 1, w y 1", unknown)],
    goodOrder: ["x: 1", "y: 1"],
  },
  {
    title: "lost write: nothing is left of a key that was written last",
    finds: "lost write",
    bad: [tx("a", "w x 1")],
    final: [{ key: "x", version: null }],
    good: [tx("a", "w x 1"), tx("b", "r x 1, d x 2")],
    goodFinal: [{ key: "x", version: null }],
  },
  {
    title: "final-state mismatch: an old version stands at the end",
    finds: "final-state mismatch",
    bad: [start, tx("a", "r x 0, w x 1")],
    final: [{ key: "x", version: "x0" }],
    good: [start, tx("a", "r x 0, w x 1")],
    goodFinal: [{ key: "x", version: "x1" }],
  },
  {
    title: "G-single: what an unknown transaction has left must be all of it",
    finds: "G-single",
    bad: [start, tx("a", "w x 1, w y 1", unknown), tx("b", "r x 1, r y 0")],
    good: [start, tx("a", "w x 1, w y 1", unknown), tx("b", "r x 1, r y 1")],
  },
  {
    title: "G-SIa: a snapshot reads what was committed after it",
    finds: "G-SIa",
    bad: [start, tx("a", "w x 1", at(1, 8)), tx("b", "r x 1", { ...snapshot, ...at(7) })],
    good: [start, tx("a", "w x 1", at(1, 8)), tx("b", "r x 1", { ...snapshot, ...at(8) })],
  },
  {
    title: "G-SIa: the first committer wins, by timestamps",
    finds: "G-SIa",
    bad: [
      tx("a", "w x 1", { ...snapshot, ...at(1, 8) }),
      tx("b", "r y -, w x 2", { ...snapshot, ...at(7, 9) }),
    ],
    good: [
      tx("a", "w x 1", { ...snapshot, ...at(1, 8) }),
      tx("b", "r y -, w x 2", { ...snapshot, ...at(8, 9) }),
    ],
  },
  {
    title: "G-SIb: a snapshot misses what was committed before it",
    finds: "G-SIb",
    bad: [start, tx("a", "w x 1", at(1, 8)), tx("b", "r x 0", { ...snapshot, ...at(8) })],
    good: [start, tx("a", "w x 1", at(1, 8)), tx("b", "r x 0", { ...snapshot, ...at(7) })],
  },
  {
    title: "timestamp order: a serializable transaction misses a commit below its own",
    finds: "timestamp order",
    bad: [start, tx("a", "w x 1", at(1, 8)), tx("b", "r x 0, w y 1", at(7, 9))],
    good: [start, tx("a", "w x 1", at(1, 8)), tx("b", "r x 0, w y 1", at(6, 7))],
  },
  {
    title: "G-single: aborted transactions, too, read one state, where that is asked",
    finds: "G-single",
    options: { abortedReads: true },
    bad: [start, tx("a", "w x 1, w y 1"), tx("b", "r x 1, r y 0", aborted)],
    good: [start, tx("a", "w x 1, w y 1"), tx("b", "r x 1, r y 1", aborted)],
  },
];

function check(transactions: readonly HistoryTransaction[], parts: Partial<Case>, order?: Order) {
  return checkHistory(
    {
      transactions,
      ...(order === undefined ? {} : { versionOrder: orders(...order) }),
      ...(parts.final === undefined ? {} : { finalState: parts.final }),
    },
    { strict: false, ...parts.options },
  );
}

describe("anomalies", () => {
  test.each(cases)("$title", ({ bad, good, ...parts }) => {
    const found = check(bad, parts, parts.order).findings;
    expect(found.map(({ anomaly }) => anomaly)).toEqual([parts.finds]);
    expect(found[0]?.transactions.length).toBeGreaterThan(0);
    const { goodFinal: final } = parts;
    const neighbour = check(
      good,
      { ...parts, ...(final === undefined ? {} : { final }) },
      parts.goodOrder ?? parts.order,
    );
    expect(neighbour.findings).toEqual([]);
  });
});

describe("finds nothing", () => {
  test("where two snapshots miss each other's first writes of keys of unknown order", () => {
    const transactions = [
      tx("a", "w y 1, r x -", snapshot),
      tx("b", "w x 2, w y 3", snapshot),
      tx("c", "w x 4, r y -", snapshot),
    ];
    const { findings, undecided } = checkHistory({ transactions }, { strict: true });
    expect(findings).toEqual([]);
    expect(undecided.keys).toBe(2);
  });

  test("where one of several deletions explains every read of nothing", () => {
    const transactions = [
      tx("a", "r x -, w x 1", at(1, 10)),
      tx("b", "r x 1, d x 2, r x -", at(10, 20)),
      tx("c", "r x -, w x 3", at(20, 30)),
      tx("d", "r x 3, d x 4", at(30, 40)),
      tx("e", "r x -, r y -", { ...snapshot, ...at(25) }),
    ];
    expect(checkHistory({ transactions }, { strict: false }).findings).toEqual([]);
  });

  test("where a key may have been deleted by a transaction that nobody knows the end of", () => {
    const transactions = [start, tx("a", "r x 0, d x 1", unknown), tx("b", "r x -")];
    const finalState = [{ key: "x", version: null }];
    const { findings, undecided } = checkHistory({ transactions, finalState }, { strict: true });
    expect(findings).toEqual([]);
    expect(undecided.nullReads).toBe(1);
  });

  test("where a commit has left nothing that was recorded, and a timestamp all the same", () => {
    const transactions = [tx("a", "", at(1, 5)), tx("b", "r x -", at(3, 7))];
    const blind = tx("c", "w y 1", { ...during(200, 210), ...snapshot, ...at(2, 9) });
    transactions.push(blind);
    expect(checkHistory({ transactions }, { strict: true }).findings).toEqual([]);
  });

  test("where an unknown transaction took effect at a time that only its traces tell", () => {
    // Nobody heard its commit timestamp, and it lies above that of "b": its reads, at 5, do not say
    // where it stands.
    const transactions = [
      start,
      tx("a", "r x 0, w y 2", { ...unknown, ...at(5) }),
      tx("b", "w y 1", at(1, 8)),
      tx("c", "r y 2", at(12)),
    ];
    const versionOrder = orders("y: 0 1 2");
    expect(checkHistory({ transactions, versionOrder }, { strict: true }).findings).toEqual([]);
    // A snapshot reads at its timestamp all the same.
    const late = tx("a", "r x 0, w z 1", { ...unknown, ...snapshot, ...at(9) });
    const missed = [start, late, tx("b", "r x 0, w x 1", at(1, 8)), tx("c", "r z 1", at(12))];
    const [finding] = checkHistory({ transactions: missed }, { strict: false }).findings;
    expect(finding?.anomaly).toBe("G-SIb");
  });

  test("where an unknown transaction took effect long after its client gave up", () => {
    const transactions = [
      start,
      tx("a", "w x 1", { ...unknown, ...during(10, 20) }),
      tx("b", "r x 0", during(30, 40)),
      tx("c", "r x 1", during(50, 60)),
    ];
    expect(checkHistory({ transactions }, { strict: true }).findings).toEqual([]);
  });
});

describe("reports", () => {
  test("what snapshot isolation allowed, and serializability would not", () => {
    const transactions = [
      start,
      tx("a", "r x 0, r y 0, w x 1", snapshot),
      tx("b", "r x 0, r y 0, w y 1", snapshot),
    ];
    const report = checkHistory({ transactions }, { strict: true, allowed: true });
    expect(report.findings).toEqual([]);
    expect(report.allowed.map(({ anomaly }) => anomaly)).toEqual(["write skew"]);
  });

  test("a cycle by its steps, with keys, versions and ids", () => {
    const transactions = [start, tx("a", "r x 0, w x 1"), tx("b", "r x 0, w x 2")];
    const [finding] = checkHistory({ transactions }, { strict: false }).findings;
    expect(finding?.cycle?.map(({ from, to, kind, key }) => [from, kind, key, to])).toEqual([
      ["b", "rw", "x", "a"],
      ["a", "ww", "x", "b"],
    ]);
    expect(finding?.description).toBe(
      [
        "a write was based on a version that had been overwritten:",
        "  b read x = x0, before a overwrote it as x1 (rw)",
        "  a wrote x as x1, then b overwrote it as x2 (ww)",
      ].join("\n"),
    );
  });

  test("all findings by number, and no more than wanted by text", () => {
    const transactions = [1, 2, 3, 4].map((n) => tx(`t${n}`, `r x ${n}`));
    const report = checkHistory({ transactions }, { strict: false, findingsMax: 2 });
    expect([report.findings.length, report.findingsCount]).toEqual([2, 4]);
  });
});
