/** How native operations are recorded, written to a file, read again and judged. */
import { expect, test } from "vitest";
import { checkHistory } from "../../testing/checker/check-history.ts";
import { beginNative } from "../../testing/history/native-record.ts";
import { parseLines, parseTransaction } from "../../testing/history/parse.ts";
import { HistoryRecorder } from "../../testing/history/recorder.ts";
import { serializeLines, serializeTransaction } from "../../testing/history/serialize.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";

function recorded(body: (recorder: HistoryRecorder) => void): readonly HistoryTransaction[] {
  let nowNs = 0;
  const recorder = new HistoryRecorder({ nowNs: () => (nowNs += 10) });
  body(recorder);
  return recorder.finish();
}

const call = { process: "n", key: "x" };

test("an answer says what was found and what was written, between invocation and answer", () => {
  const [put] = recorded((recorder) => {
    beginNative(recorder, { ...call, writes: "w" }).answered({ found: null });
  });
  expect(put).toEqual({
    ...{ id: "n:1", process: "n", start: 10, end: 30, status: "commit", kind: "native" },
    ...{
      isolation: "serializable",
      ops: [["r", "x", null] as const, ["w", "x", "n:1.1"] as const],
    },
  });
});

test("a refused operation has looked and written nothing", () => {
  const ops = recorded((recorder) => {
    beginNative(recorder, { ...call, writes: "w" }).refused({ found: "other" });
    beginNative(recorder, { ...call, writes: "d" }).refused({ foundOther: null });
  }).map(({ status, ops }) => ({ status, ops }));
  expect(ops).toEqual([
    { status: "commit", ops: [["r", "x", "other"]] },
    { status: "commit", ops: [["x", "x", null]] },
  ]);
});

test("a write without an answer is unknown, a read without one is nothing", () => {
  const statuses = recorded((recorder) => {
    beginNative(recorder, { ...call, writes: "d" }).unknown();
    beginNative(recorder, call).unknown();
    beginNative(recorder, { ...call, writes: "w" }).forget();
  }).map(({ status, ops }) => [status, ops.length]);
  expect(statuses).toContainEqual(["unknown", 1]);
  expect(statuses.filter(([status]) => status === "abort")).toHaveLength(2);
});

test("what a process that dies has under way is unknown, if it writes", () => {
  const intents: HistoryTransaction[] = [];
  let nowNs = 0;
  const recorder = new HistoryRecorder({
    nowNs: () => (nowNs += 10),
    emitIntent: (intent) => intents.push(intent),
  });
  const write = beginNative(recorder, { ...call, writes: "w" });
  beginNative(recorder, call);
  recorder.abandon("n");
  write.answered(); // Too late: nobody hears it.
  expect(recorder.finish().map(({ status }) => status)).toEqual(["unknown", "abort"]);
  expect(intents.map(({ status, ops }) => [status, ops])).toEqual([
    ["unknown", [["w", "x", "n:1.1"]]],
  ]);
});

test("a written file is read again as it was, and judged", () => {
  const transactions = recorded((recorder) => {
    const put = beginNative(recorder, { ...call, writes: "w" });
    put.answered();
    beginNative(recorder, { ...call, writes: "w" }).refused({ foundOther: null });
    beginNative(recorder, { ...call, process: "m", consistent: false }).answered({ found: null });
    beginNative(recorder, { ...call, process: "m" }).answered({ found: put.version });
    beginNative(recorder, { process: "m", key: "y" }).answered({ foundItem: true });
  });
  const text = serializeLines(transactions, serializeTransaction);
  const read = parseLines(text, parseTransaction);
  expect(read).toEqual(transactions);
  const { findings, counts } = checkHistory({ transactions: read }, { strict: true });
  expect(findings).toEqual([]);
  expect(counts.native).toBe(5);
});

test("a transaction tells what it found, never what it did not find", () => {
  const line = serializeTransaction({
    ...{ id: "t", process: "p", start: 0, end: 1, status: "commit", kind: "txn" },
    ...{ isolation: "serializable", ops: [["x", "x", null]] },
  });
  expect(() => parseTransaction(line, 1)).toThrow('ops[0][0]: "x" is of native operations alone');
});
