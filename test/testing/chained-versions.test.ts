/**
 * Where versions belong that were replaced within the commit that made them, and that the log
 * therefore lacks.
 */
import { describe, expect, test } from "vitest";
import { checkHistory } from "../../testing/checker/check-history.ts";
import {
  withChainedVersions,
  type LoggedVersions,
} from "../../testing/history/chained-versions.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";
import { aborted, tx, unknown } from "./history-builder.ts";

/** `x: 1@10 2@20 -@30`: version x1 committed at 10, x2 at 20, x deleted at 30. */
function log(...lines: readonly string[]): LoggedVersions[] {
  return lines.map((line) => {
    const [key = "", entries = ""] = line.split(": ");
    const all = entries.split(" ").map((entry) => {
      const [version = "", timestamp = ""] = entry.split("@");
      return { version: `${key}${version}`, timestamp: Number(timestamp) };
    });
    return {
      key,
      versions: all.filter(({ version }) => version !== `${key}-`),
      deletedAt: all.flatMap(({ version, timestamp }) => (version === `${key}-` ? timestamp : [])),
    };
  });
}

function orderOf(logged: readonly LoggedVersions[], transactions: readonly HistoryTransaction[]) {
  const orders = withChainedVersions(logged, transactions);
  return Object.fromEntries(orders.map(({ key, versions }) => [key, versions.join(" ")]));
}

const at = (commitTs: number, place = 0) => ({ commitTs, ...(place === 0 ? {} : { place }) });
/** One whose body had ended then, and of which nobody knows more. */
const died = (end: number) => ({ ...unknown, end });

describe("versions of one commit", () => {
  test("stand in the order of their places, before the one that the log has", () => {
    const transactions = [
      tx("c", "w x 4", at(20, 2)),
      tx("b", "w x 3", at(20, 1)),
      tx("a", "w x 2", at(20)),
      tx("before", "w x 1", at(10)),
      tx("after", "w x 5", at(30)),
    ];
    expect(orderOf(log("x: 1@10 4@20 5@30"), transactions)).toEqual({ x: "x1 x2 x3 x4 x5" });
  });

  test("are there too where the last of them was a deletion", () => {
    const transactions = [
      tx("before", "w x 1", at(10)),
      tx("a", "w x 2", at(20)),
      tx("b", "w x 3", at(20, 1)),
      tx("c", "d x 4", at(20, 2)),
      tx("after", "w x 5", at(30)),
    ];
    expect(orderOf(log("x: 1@10 5@30"), transactions)).toEqual({ x: "x1 x2 x3 x5" });
  });

  test("are there too where the log has nothing of the key at all", () => {
    const transactions = [tx("a", "w x 1", at(10)), tx("b", "r x 1, d x 2", at(10, 1))];
    expect(orderOf([], transactions)).toEqual({ x: "x1" });
  });

  test("are there too where writers and deleters are unknown and the log has the deletion", () => {
    const transactions = [
      tx("before", "w x 1", at(10)),
      tx("a", "r x 1, w x 2, w y 1", died(30)),
      tx("b", "r x 2, d x 3", died(31)),
      // Neither deleted anything at 20: the one wrote what the log lacks, the other had read
      // nothing of it.
      tx("c", "r x 2, d x 4, w z 1", died(32)),
      tx("d", "d x 5", died(33)),
    ];
    expect(orderOf(log("x: 1@10 -@20", "y: 1@20"), transactions)).toEqual({ x: "x1 x2", y: "y1" });
    // Without it the version stays missing, for the checker to find.
    expect(orderOf(log("x: 1@10", "y: 1@20"), transactions)).toEqual({ x: "x1", y: "y1" });
  });

  test("count once, and by what each left in the end", () => {
    const transactions = [tx("a", "w x 1, w x 2", at(10)), tx("b", "w x 3", at(10, 1))];
    expect(orderOf(log("x: 3@10"), transactions)).toEqual({ x: "x2 x3" });
  });

  test("of keys that only one of them wrote are the log's", () => {
    const transactions = [tx("a", "w x 1, w y 1", at(10)), tx("b", "w x 2", at(10, 1))];
    expect(orderOf(log("x: 2@10", "y: 1@10"), transactions)).toEqual({ x: "x1 x2", y: "y1" });
  });
});

describe("a version that the log should have and has not is left out", () => {
  test("of a commit by itself", () => {
    const transactions = [tx("a", "w x 1", at(10)), tx("b", "w x 2", at(20))];
    expect(orderOf(log("x: 2@20"), transactions)).toEqual({ x: "x2" });
  });

  test("of the last member of a group, so that the checker finds it lost", () => {
    const transactions = [tx("a", "w x 1", at(10)), tx("b", "w x 2", at(10, 1))];
    const versionOrder = withChainedVersions(log("x: 1@10"), transactions);
    expect(versionOrder).toEqual([{ key: "x", versions: ["x1"] }]);
    const { findings } = checkHistory({ transactions, versionOrder }, { strict: true });
    expect(findings.map(({ anomaly }) => anomaly)).toEqual(["lost write"]);
  });

  test("of an aborted transaction, whatever it says of itself", () => {
    const transactions = [tx("a", "w x 1", aborted), tx("b", "r x 1, w x 2", at(10))];
    expect(orderOf(log("x: 2@10"), transactions)).toEqual({ x: "x2" });
  });
});

describe("members whose outcome nobody knows", () => {
  test("stand in the chain of those who read them", () => {
    const transactions = [
      tx("before", "w x 1", at(10)),
      tx("c", "r x 3, w x 4", died(43)),
      tx("b", "r x 2, w x 3", died(42)),
      tx("a", "r x 1, w x 2", died(41)),
      tx("after", "w x 5", at(30)),
    ];
    expect(orderOf(log("x: 1@10 4@20 5@30"), transactions)).toEqual({ x: "x1 x2 x3 x4 x5" });
  });

  test("are found by what was read of them in other keys", () => {
    // The log has nothing of a but what b has read: y1 was replaced by b, and so was x2.
    const transactions = [
      tx("before", "w x 1, w z 1", at(10)),
      tx("a", "w x 2, w y 1", died(41)),
      tx("b", "r y 1, d y 2, w z 2", died(42)),
      tx("c", "w x 3", died(43)),
    ];
    const orders = orderOf(log("x: 1@10 3@20", "z: 1@10 2@20"), transactions);
    expect(orders).toEqual({ x: "x1 x2 x3", z: "z1 z2", y: "y1" });
  });

  test("come after what they read of a member whose place is known", () => {
    const transactions = [
      tx("a", "w x 1", at(10)),
      tx("b", "r x 1, w x 2", died(42)),
      tx("reader", "r x 2, w y 1", at(10, 2)),
      tx("c", "w x 3", at(10, 3)),
    ];
    expect(orderOf(log("x: 3@10", "y: 1@10"), transactions)["x"]).toBe("x1 x2 x3");
  });

  test("are known by the verdict to have deleted, where the log lacks what the others left", () => {
    const transactions = [
      tx("a", "w x 1, w y 1", at(10)),
      tx("b", "d x 2, w y 2", { ...died(42) }),
    ];
    expect(orderOf(log("y: 2@10"), transactions)).toEqual({ x: "x1", y: "y1 y2" });
  });

  test("stand in one order in all keys, by what was read in any", () => {
    const transactions = [
      tx("b", "r x 1, w x 2, w y 2", died(40)),
      tx("a", "w x 1, w y 1", died(40)),
      tx("c", "d y 3, w z 1", at(10, 2)),
    ];
    const orders = orderOf(log("x: 2@10", "z: 1@10"), transactions);
    expect(orders).toEqual({ x: "x1 x2", y: "y1 y2", z: "z1" });
  });

  test("are left out where nothing shows that they were committed", () => {
    const transactions = [tx("a", "r x 1, w x 2", died(41)), tx("b", "w x 1", at(10))];
    expect(orderOf(log("x: 1@10"), transactions)).toEqual({ x: "x1" });
  });

  test("of another process do not count as members: what they wrote is lost", () => {
    const transactions = [
      tx("a", "w x 1", { ...died(41), process: "q" }),
      tx("b", "r x 1, w x 2", at(10)),
    ];
    expect(orderOf(log("x: 2@10"), transactions)).toEqual({ x: "x2" });
  });
});
