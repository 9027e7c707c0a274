/** Judges of items of mixed tables: what each of them finds, and what it lets pass. */
import { expect, test } from "vitest";
import { fenceBytesOf } from "../../core/item-identity.ts";
import type {
  Item,
  LogBlock,
  LogPosition,
  ShardId,
  Stamp,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { lostWrites } from "../../simulation/judges/last-writes.ts";
import { withStoredOrders } from "../../simulation/judges/mixed-orders.ts";
import { MixedStoreJudge } from "../../simulation/judges/mixed-store.ts";
import { mixedTable, withoutTables } from "../../simulation/mixed-tables.ts";
import type { HistoryOp, HistoryTransaction } from "../../testing/history/types.ts";
import { testTable } from "../../testing/test-tables.ts";

const table = mixedTable(testTable("t", { partitionKey: "id" }));
const key = { id: { S: "x" } };
const id = "1".repeat(32) as TransactionId;
const nonce = new Uint8Array(16).fill(3);
const stamp: Stamp = { kind: "nonce", nonce };
const fenced: Item = { ...key, _n: { B: nonce }, _f: { B: fenceBytesOf(id) }, _h: { S: "old" } };
const installed: Item = { ...key, _v: { N: "7" }, _h: { S: "new" } };
const shard = "shardId-000000000000" as ShardId;
const voted = { shard, id, table, key, item: installed, timestamp: 7 as Timestamp, stamp };

function judgeOf(...states: readonly (Item | undefined)[]): MixedStoreJudge {
  const judge = new MixedStoreJudge([table]);
  let before: Item | undefined;
  for (const after of states) {
    judge.observe({ table: "t", before, after });
    before = after;
  }
  return judge;
}

function judged(states: readonly (Item | undefined)[], claim?: number): readonly string[] {
  const judge = judgeOf(...states);
  judge.judgeInstalls([voted], () => claim);
  judge.judgeEnd();
  return judge.findings;
}

test("a commit that was put over its stamp, or superseded by a native write, is fine", () => {
  const native = { ...key, _n: { B: new Uint8Array(16).fill(4) }, _h: { S: "native" } };
  expect(judged([fenced, installed], 3)).toEqual([]);
  expect(judged([fenced, native], 3)).toEqual([]);
  expect(judged([fenced, undefined], 3)).toEqual([]);
});

test("a commit put over anything else is found", () => {
  const native = { ...key, _n: { B: new Uint8Array(16).fill(4) }, _h: { S: "native" } };
  const lateFence = { ...native, _f: { B: fenceBytesOf(id) } };
  for (const before of [native, lateFence, undefined]) {
    expect(judged([fenced, before, installed]).join()).toContain("I10: 7 was installed at t");
  }
});

test("a watermark beyond what waits for its install is found, and a stamp that comes back", () => {
  expect(judged([fenced, installed], 2).join()).toContain("I7: the watermark has passed 7");
  expect(judged([fenced, installed, undefined, fenced], 3).join()).toContain("I7");
});

test("what is left in the end is found: fences, placeholders, and what nobody decided", () => {
  expect(judged([fenced]).join()).toContain(`a fence of ${id} is left on t["x"]`);
  expect(judged([{ ...key, _x: { BOOL: true } }]).join()).toContain("a placeholder is left");
  const judge = judgeOf();
  const verdict = { kind: "prepared", id, timestamp: 5 as Timestamp };
  judge.judgeOpen([{ position: 1 as LogPosition, verdicts: [verdict] } as unknown as LogBlock]);
  expect(judge.findings.join()).toContain(`${id} is prepared, and nobody has decided it`);
});

function operation(
  name: string,
  [start, end]: readonly [number, number],
  ops: readonly HistoryOp[],
  status: HistoryTransaction["status"] = "commit",
): HistoryTransaction {
  const fixed = { process: "p", kind: "native", isolation: "serializable" } as const;
  return { ...{ id: name, start, end, status, ops }, ...fixed };
}

test("what was acknowledged after the last write there had ended was lost", () => {
  const [one, two] = [
    operation("one", [0, 10], [["w", "k", "1"]]),
    operation("two", [11, 20], [["d", "k", "2"]]),
  ];
  expect(lostWrites([one, two], [{ key: "k", version: null }])).toEqual([]);
  expect(lostWrites([one, two], [{ key: "k", version: "1" }]).join()).toContain("lost write: k");
  const beside = operation("two", [9, 20], [["d", "k", "2"]]);
  expect(lostWrites([one, beside], [{ key: "k", version: "1" }])).toEqual([]);
  const unknown = operation("two", [11, 20], [["d", "k", "2"]], "unknown");
  expect(lostWrites([one, unknown], [{ key: "k", version: "1" }])).toEqual([]);
});

test("orders of log and stores become one where no native write came in between", () => {
  const logged = [{ key: "k", versions: ["1", "2", "4"] }];
  const stored = new Map([["k", ["1", "local", "4"]]]);
  expect(withStoredOrders(logged, stored, [])).toEqual([
    { key: "k", versions: ["1", "local", "2", "4"] },
  ]);
  const native = operation("n", [0, 1], [["w", "k", "n"]]);
  expect(withStoredOrders(logged, stored, [native])).toEqual([
    { key: "k", versions: ["1", "2", "4"] },
    { key: "k", versions: ["1", "local", "4"] },
  ]);
});

test("a table that is not judged is in no part of the history", () => {
  const transactions = [
    operation("n", [0, 1], [["w", 'loose["a"]', "n"]]),
    operation("m", [0, 1], [["w", 't["a"]', "m"]]),
  ];
  const finalState = [{ key: 'loose["a"]', version: "n" }];
  const history = withoutTables({ transactions, finalState }, ["loose"]);
  expect(history.transactions.map(({ id: name }) => name)).toEqual(["m"]);
  expect(history.finalState).toEqual([]);
});
