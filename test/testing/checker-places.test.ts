/** Transactions that were committed as one: equal timestamps, told apart by their places. */
import { describe, expect, test } from "vitest";
import { checkHistory } from "../../testing/checker/check-history.ts";
import { Findings } from "../../testing/checker/findings.ts";
import { buildModel } from "../../testing/checker/model.ts";
import { guessChoices, isTimed, nullReadsOf } from "../../testing/checker/null-reads.ts";
import { versionOrders } from "../../testing/checker/version-order.ts";
import type { History, HistoryTransaction } from "../../testing/history/types.ts";
import { init, orders, snapshot, tx, unknown } from "./history-builder.ts";

function anomalies(
  transactions: readonly HistoryTransaction[],
  more: Omit<History, "transactions"> = {},
): readonly string[] {
  const { findings } = checkHistory({ transactions, ...more }, { strict: true });
  return findings.map(({ anomaly }) => anomaly);
}

const at = (commitTs: number, place = 0) => ({ commitTs, ...(place === 0 ? {} : { place }) });

describe("writers of one key with one timestamp", () => {
  test("are in order by their places, whatever their order in the file", () => {
    const [a, b, c] = [
      tx("a", "w x 1", at(10)),
      tx("b", "r x 1, w x 2", at(10, 1)),
      tx("c", "r x 2, w x 3", at(10, 2)),
    ];
    expect(anomalies([c, a, b], { finalState: [{ key: "x", version: "x3" }] })).toEqual([]);
    expect(anomalies([c, a, b], { finalState: [{ key: "x", version: "x2" }] })).toEqual([
      "final-state mismatch",
    ]);
  });

  test("are duplicates where they have a place in common", () => {
    expect(anomalies([tx("a", "w x 1", at(10, 1)), tx("b", "w x 2", at(10, 1))])).toEqual([
      "duplicate",
    ]);
    expect(anomalies([tx("a", "w x 1", at(10)), tx("b", "w x 2", at(10, 1))])).toEqual([]);
  });

  test("contradict what they read where their places are the wrong way round", () => {
    const wrong = [tx("a", "w x 1", at(10, 1)), tx("b", "r x 1, w x 2", at(10))];
    expect(anomalies(wrong)).not.toEqual([]);
    expect(anomalies(wrong, { versionOrder: orders("x: 1 2") })).toEqual(["timestamp order"]);
  });

  test("have their deletions placed by place, where the stores know no deletion", () => {
    const first = tx("first", "w x 1", at(5));
    const versionOrder = orders("x: 1 2");
    const reader = (reads: string) => tx("c", `r x ${reads}, w y 1`, at(10, 2));
    const deletedFirst = [tx("a", "d x 9", at(10)), tx("b", "w x 2", at(10, 1))];
    expect(anomalies([first, ...deletedFirst, reader("2")], { versionOrder })).toEqual([]);
    expect(anomalies([first, ...deletedFirst, reader("-")], { versionOrder })).not.toEqual([]);
    const deletedLast = [tx("a", "w x 2", at(10)), tx("b", "d x 9", at(10, 1))];
    expect(anomalies([first, ...deletedLast, reader("-")], { versionOrder })).toEqual([]);
    expect(anomalies([first, ...deletedLast, reader("2")], { versionOrder })).not.toEqual([]);
  });
});

describe("timestamps", () => {
  test("of one commit put its members in the order of their places", () => {
    const skew = (a: number, b: number) => [
      init("w x 0, w y 0"),
      tx("a", "r x 0, w y 1", at(10, a)),
      tx("b", "w x 1", at(10, b)),
    ];
    expect(anomalies(skew(0, 1))).toEqual([]);
    expect(anomalies(skew(1, 0))).toEqual(["timestamp order"]);
  });

  test("put a snapshot after all members of the commit at its timestamp", () => {
    const reads = (version: string) => [
      tx("a", "w x 1", at(10)),
      tx("b", "r x 1, w x 2", at(10, 1)),
      tx("reader", `r x ${version}`, { ...snapshot, snapshotTs: 10 }),
    ];
    expect(anomalies(reads("2"))).toEqual([]);
    expect(anomalies(reads("1"))).not.toEqual([]);
  });
});

test("a read of nothing is of the deletion that comes before it by place", () => {
  const members = (deleter: number, reader: number) => [
    tx("first", "w x 1", at(5)),
    tx("a", "d x 9", at(10, deleter)),
    tx("b", "r x -, w y 1", at(10, reader)),
    tx("last", "w x 2", at(20)),
  ];
  expect(anomalies(members(0, 1))).toEqual([]);
  expect(anomalies(members(1, 0))).not.toEqual([]);
});

test.each([
  // Nothing stood there before "a" wrote it, nor after "c" had deleted it.
  ["before its own commit's later deletion", 0, -1],
  ["after its own commit's earlier deletion", 3, 1],
])("a read of nothing is guessed to lie %s", (_where, place, candidate) => {
  const transactions = [
    tx("reader", "r x -, w y 1", at(10, place)),
    tx("a", "w x 1", at(10, 1)),
    tx("c", "r x 1, d x 2", at(10, 2)),
  ];
  const findings = new Findings(10);
  const model = buildModel({ transactions }, { abortedReads: false, findings });
  const keyOrders = versionOrders(model, { transactions }, findings);
  const reads = nullReadsOf(model, keyOrders, () => true);
  const choices = guessChoices(model, keyOrders, reads);
  expect(reads.map((read) => choices.get(read))).toEqual([candidate]);
});

test("a read of nothing by one that nobody saw commit is guessed before its own write", () => {
  const transactions = [
    tx("first", "w x 1", at(2)),
    tx("gone", "r x 1, d x 2", at(4)),
    tx("again", "r x -, w x 3", at(10)),
    // Of the same process as the next one, which reads what this is about to leave.
    tx("deleter", "r x 3, d x 4", at(20)),
    tx("open", "r x -, w x 5", { ...unknown, snapshotTs: 10 }),
    tx("reader", "r x 5, w y 1", at(30)),
  ];
  const versionOrder = orders("x: 1 2 3 4 5");
  expect(anomalies(transactions, { versionOrder })).toEqual([]);
  const findings = new Findings(10);
  const model = buildModel({ transactions }, { abortedReads: false, findings });
  const keyOrders = versionOrders(model, { transactions, versionOrder }, findings);
  const [, read] = nullReadsOf(model, keyOrders, () => true);
  if (read === undefined) throw new Error("two transactions read nothing");
  expect(guessChoices(model, keyOrders, [read]).get(read)).toBe(3);
  expect(isTimed(model, keyOrders, read)).toBe(false);
});
