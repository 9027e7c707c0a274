/**
 * What may go wrong between transactions and native operations, each in a history made by hand, and
 * its nearest neighbour that is legal (docs/formats/history.md, "Native operations").
 */
import { describe, expect, test } from "vitest";
import { checkHistory } from "../../testing/checker/check-history.ts";
import type { Anomaly } from "../../testing/checker/findings.ts";
import type { History, HistoryTransaction } from "../../testing/history/types.ts";
import { aborted, during, init, orders, snapshot, tx, unknown } from "./history-builder.ts";

type Extra = Parameters<typeof tx>[2];
type Case = {
  readonly title: string;
  readonly finds: Anomaly;
  readonly bad: readonly HistoryTransaction[];
  readonly good: readonly HistoryTransaction[];
  readonly final?: string | null;
  readonly goodFinal?: string | null;
  readonly order?: string;
  /** Default true. */
  readonly strict?: boolean;
};

const start = init("w x 0, w y 0");

function native(id: string, steps: string, extra: Extra = {}): HistoryTransaction {
  return tx(id, steps, { kind: "native", process: id, ...extra });
}

function judged({ bad: transactions, final, order, strict = true }: Case) {
  const history: History = {
    transactions,
    ...(final === undefined ? {} : { finalState: [{ key: "x", version: final }] }),
    ...(order === undefined ? {} : { versionOrder: orders(order) }),
  };
  return checkHistory(history, { strict });
}

const cases: readonly Case[] = [
  {
    title: "a native update is lost: a transaction works on the state before it",
    finds: "lost update",
    bad: [start, native("n", "r x 0, w x 1"), tx("t", "r x 0, w x 2")],
    good: [start, native("n", "r x 0, w x 1"), tx("t", "r x 1, w x 2")],
  },
  {
    title: "a native write is overwritten by a late install, and somebody sees it happen",
    finds: "stale read",
    bad: [
      start,
      tx("t", "r x 0, w x 1", during(10, 20)),
      native("n", "w x 2", during(30, 40)),
      native("r", "r x 1", during(50, 60)),
    ],
    good: [
      start,
      tx("t", "r x 0, w x 1", during(10, 30)),
      native("n", "w x 2", during(30, 40)),
      native("r", "r x 2", during(50, 60)),
    ],
  },
  {
    title: "a native write is overwritten by a late install, and only the end shows it",
    finds: "final-state mismatch",
    bad: [tx("t", "w x 1", during(10, 20)), native("n", "w x 2", during(30, 40))],
    final: "x1",
    good: [tx("t", "w x 1", during(10, 20)), native("n", "w x 2", during(30, 40))],
    goodFinal: "x2",
  },
  {
    title: "a native delete is undone by a late install",
    finds: "final-state mismatch",
    bad: [tx("t", "w x 1", during(10, 20)), native("n", "d x 2", during(30, 40))],
    final: "x1",
    good: [tx("t", "w x 1", during(10, 35)), native("n", "d x 2", during(30, 40))],
    goodFinal: "x1",
  },
  {
    title: "a transaction's past holds a native write that it did not see",
    finds: "G-single",
    // u has seen n, and t has seen u.
    bad: [start, native("n", "w x 1"), tx("u", "r x 1, w y 1"), tx("t", "r y 1, r x 0, w z 1")],
    good: [start, native("n", "w x 1"), tx("u", "r x 1, w y 1"), tx("t", "r y 0, r x 0, w z 1")],
  },
  {
    title: "a transaction that began after a native write misses it",
    finds: "stale read",
    bad: [start, native("n", "w x 1", during(10, 20)), tx("t", "r x 0, w y 1", during(30, 40))],
    good: [start, native("n", "w x 1", during(10, 30)), tx("t", "r x 0, w y 1", during(30, 40))],
  },
  {
    title: "two transactions cross, with a native write between them",
    finds: "G2-item",
    // t before n, n before u, and u before t.
    bad: [start, native("n", "w x 1"), tx("t", "r x 0, w y 1"), tx("u", "r x 1, r y 0, w z 1")],
    good: [start, native("n", "w x 1"), tx("t", "r x 0, w y 1"), tx("u", "r x 1, r y 1, w z 1")],
  },
  {
    title: "a native read finds what an aborted transaction wrote",
    finds: "G1a",
    bad: [start, tx("t", "w x 1", aborted), native("r", "r x 1")],
    good: [start, tx("t", "w x 1", aborted), native("r", "r x 0")],
  },
  {
    title: "a native read finds what a transaction replaced before it committed",
    finds: "G1b",
    bad: [start, tx("t", "w x 1, w x 2"), native("r", "r x 1")],
    good: [start, tx("t", "w x 1, w x 2"), native("r", "r x 2")],
  },
  {
    title: "one process's native reads of an item go back",
    finds: "process order",
    strict: false,
    bad: [
      start,
      native("n", "r x 0, w x 1"),
      native("a", "r x 1", { ...during(10, 20), process: "p" }),
      native("b", "r x 0", { ...during(30, 40), process: "p" }),
    ],
    good: [
      start,
      native("n", "r x 0, w x 1"),
      native("a", "r x 1", { ...during(10, 20), process: "p" }),
      native("b", "r x 0", { ...during(30, 40), process: "q" }),
    ],
  },
  {
    title: "a process does not find by a native read what its transaction committed",
    finds: "process order",
    strict: false,
    bad: [
      start,
      tx("t", "r x 0, w x 1, w y 1", { ...during(10, 20), process: "p" }),
      native("a", "r x 0", { ...during(30, 40), process: "p" }),
    ],
    good: [
      start,
      tx("t", "r x 0, w x 1, w y 1", { ...unknown, ...during(10, 20), process: "p" }),
      native("a", "r x 0", { ...during(30, 40), process: "p" }),
    ],
  },
  {
    title: "phantom: a native insert that had ended is missing from a transaction's search",
    finds: "stale read",
    bad: [native("n", "w row 1", during(10, 20)), tx("t", "r row -, w x 1", during(30, 40))],
    good: [native("n", "w row 1", during(10, 30)), tx("t", "r row -, w x 1", during(30, 40))],
  },
  {
    title: "phantom: a native insert is missing from a search, and known by its sum",
    finds: "phantom",
    bad: [start, native("n", "w row 1"), tx("u", "r row 1, w y 1"), tx("t", "r row -, r y 1")],
    good: [start, native("n", "w row 1"), tx("u", "r row 1, w y 1"), tx("t", "r row -, r y 0")],
  },
  {
    title: "lost update: a snapshot transaction overwrites a native write after its snapshot",
    finds: "lost update",
    bad: [start, native("n", "r x 0, w x 1"), tx("t", "r x 0, w x 2", snapshot)],
    good: [start, native("n", "r x 0, w x 1"), tx("t", "r x 0, w y 2", snapshot)],
  },
  {
    title: "an insert on condition that there is nothing is accepted over an item",
    finds: "lost update",
    bad: [start, native("n", "r x -, w x 1")],
    good: [start, native("d", "d x 2"), native("n", "r x -, w x 1")],
  },
  {
    title: "a condition is false although nothing has changed",
    finds: "garbage read",
    bad: [init("w y 0"), native("n", "x x -")],
    good: [init("w y 0"), native("m", "w x 1", unknown), native("n", "x x -")],
  },
];

describe("beside native operations", () => {
  test.each(cases)("$title", (each) => {
    const found = judged(each).findings;
    expect(found.map(({ anomaly }) => anomaly)).toEqual([each.finds]);
    const { good: bad, goodFinal = each.final } = each;
    const neighbour = { ...each, bad, ...(goodFinal === undefined ? {} : { final: goodFinal }) };
    expect(judged(neighbour).findings).toEqual([]);
  });
});

describe("finds nothing", () => {
  const legal = (...transactions: readonly HistoryTransaction[]): void => {
    const { findings, undecided } = checkHistory({ transactions }, { strict: true });
    expect(findings).toEqual([]);
    expect(undecided).toEqual({ keys: 0, nullReads: 0 });
  };

  test("where a native reader sees one half of a transaction, and then misses the other", () => {
    // Mediator's one weakening: different items have no order for native clients.
    legal(
      start,
      tx("t", "w x 1, w y 1", during(10, 60)),
      native("a", "r x 1", { ...during(20, 30), process: "p" }),
      native("b", "r y 0", { ...during(40, 50), process: "p" }),
    );
  });

  test("where native writes of different items are seen against their real time", () => {
    legal(
      start,
      native("a", "w x 1", { ...during(10, 20), process: "p" }),
      native("b", "w y 1", { ...during(30, 40), process: "p" }),
      tx("t", "r x 0, r y 1", during(10, 50)),
    );
  });

  test("where a commit was superseded before anybody saw it", () => {
    legal(
      start,
      tx("t", "w x 1, w y 1"),
      native("n", "w x 2"),
      native("a", "r x 0", during(10, 20)),
      native("b", "r x 2", during(30, 40)),
    );
  });

  test("where an eventually consistent read shows an older state", () => {
    const stale = { ...during(30, 40), strict: false } as const;
    legal(start, native("n", "r x 0, w x 1", during(10, 20)), native("r", "r x 0", stale));
  });

  test("where a native write of unknown outcome takes effect long after", () => {
    legal(
      start,
      native("n", "w x 1", { ...unknown, ...during(10, 20) }),
      native("a", "r x 0", during(30, 40)),
      tx("t", "r x 1, w y 1", during(50, 60)),
    );
  });
});

test("transactions among themselves are judged by their timestamps as ever", () => {
  const at = (snapshotTs: number, commitTs: number) => ({ snapshotTs, commitTs });
  const skewed = [start, tx("a", "w y 1", at(1, 8)), tx("b", "r y 0, w z 1", at(7, 9))];
  const { findings } = checkHistory(
    { transactions: [...skewed, native("n", "w x 1")] },
    { strict: true },
  );
  expect(findings.map(({ anomaly }) => anomaly)).toEqual(["timestamp order"]);
});

test("a native write between them may turn round the order of two commits' timestamps", () => {
  const transactions = [
    start,
    native("n", "w x 1"),
    tx("a", "r x 0, w y 1", { snapshotTs: 1, commitTs: 9 }),
    tx("b", "r x 1, w z 1", { snapshotTs: 1, commitTs: 8 }),
  ];
  expect(checkHistory({ transactions }, { strict: true }).findings).toEqual([]);
});
