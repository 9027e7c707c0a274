/** The judge of fairness between processes: whom it finds left out, and whom not. */
import { describe, expect, test } from "vitest";
import type { Timestamp } from "../../core/types.ts";
import type { EngineEvent } from "../../engine/types.ts";
import { StarvationJudge } from "../../simulation/judges/starvation.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";

const bounds = { beatenMax: 5, passedMax: 5 };
const commit: Omit<HistoryTransaction, "process" | "ops"> = {
  ...{ id: "t", kind: "txn", status: "commit", isolation: "serializable", start: 0, end: 1 },
};

function judged() {
  const clock = { nowMs: 0 };
  const judge = new StarvationJudge({
    nowMs: () => clock.nowMs,
    keyOf: (table) => `${table}["x"]`,
    bounds,
  });
  let newest = 1 as Timestamp;
  const beaten = (by: "tail" | "process" | "oracle" = "oracle"): void => {
    clock.nowMs += 100;
    const event: EngineEvent = {
      ...{
        kind: "attempt-aborted",
        call: 1,
        attempt: 1,
        transactionId: undefined,
        reason: "conflict",
      },
      detail: { table: "items", key: {}, version: newest, on: "key", foundBy: by },
      early: false,
    };
    judge.observe("slow", event);
  };
  /** At the same timestamp: certified as one. */
  const commits = (process: string, op: "w" | "r" = "w", times = 1): void => {
    newest = (newest + 1) as Timestamp;
    for (let i = 0; i < times; i += 1) {
      judge.ended({ ...commit, process, ops: [[op, 'items["x"]', "v"]], commitTs: newest });
    }
  };
  return { judge, clock, beaten, commits };
}

describe("a process that is beaten again and again", () => {
  test("while others commit there is left out", () => {
    const { judge, beaten, commits } = judged();
    for (let i = 0; i < 7; i += 1) {
      beaten();
      commits("fast");
    }
    expect(judge.findings).toEqual([
      'fairness: slow at items["x"] was beaten 7 times in a row, while others committed 6 times',
    ]);
  });

  test("by groups is beaten once by each", () => {
    const { judge, beaten, commits } = judged();
    for (let i = 0; i < 4; i += 1) {
      for (let member = 0; member < 10; member += 1) beaten();
      commits("fast", "w", 10);
    }
    expect(judge.longest).toMatchObject({ beaten: 4, passed: 3 });
    expect(judge.findings).toEqual([]);
  });

  test("and commits there in between is not", () => {
    const { judge, beaten, commits } = judged();
    for (let i = 0; i < 20; i += 1) {
      beaten();
      commits(i % 4 === 3 ? "slow" : "fast");
    }
    expect(judge.findings).toEqual([]);
  });

  test("by its own transactions, or while others only read there, is not", () => {
    const { judge, beaten, commits } = judged();
    for (let i = 0; i < 20; i += 1) {
      beaten("process");
      commits("fast");
    }
    for (let i = 0; i < 20; i += 1) {
      beaten();
      commits("fast", "r");
    }
    expect(judge.findings).toEqual([]);
  });

  test("on its own tail only, where nobody else can see it, is not", () => {
    const { judge, beaten, commits } = judged();
    for (let i = 0; i < 20; i += 1) {
      beaten("tail");
      commits("fast");
    }
    expect(judge.findings).toEqual([]);
  });

  test("at times on its own tail is left out by what the log shows", () => {
    const { judge, beaten, commits } = judged();
    for (let i = 0; i < 14; i += 1) {
      beaten(i % 2 === 0 ? "tail" : "oracle");
      commits("fast");
    }
    expect(judge.longest).toMatchObject({ beaten: 7, passed: 13 });
    expect(judge.findings).toHaveLength(1);
  });

  test("and pauses for long has given up: its count begins anew", () => {
    const { judge, clock, beaten, commits } = judged();
    for (let i = 0; i < 20; i += 1) {
      if (i % 4 === 0) clock.nowMs += 60_000;
      beaten();
      commits("fast");
    }
    expect(judge.findings).toEqual([]);
  });
});
