/** Who goes first at an item that several processes write, as the log's verdicts say. */
import { beforeEach, describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { KeyHash, Timestamp, TransactionId, Verdict } from "../../core/types.ts";
import { Courtesy } from "../../engine/chaining/courtesy.ts";

const key = 1n as KeyHash;
const patienceMs = 100;
const id = "00000000000000000000000000000001" as TransactionId;

let courtesy: Courtesy;
let nowMs: number;
let last: number;

beforeEach(() => {
  courtesy = new Courtesy();
  nowMs = 0;
  last = 0;
});

function fold(verdict: Verdict, isOwn: boolean): void {
  courtesy.fold(verdict, { isOwn, nowMs });
}

function commit(by: "us" | "others", hash: KeyHash = key): Timestamp {
  last += 10;
  const hashes = { key: hash, partition: hash, table: 9n as KeyHash };
  const payload = { kind: "inline", bytes: new Uint8Array() } as const;
  const verdict = { kind: "committed", id, timestamp: last, writes: [hashes], payload };
  fold(verdict as unknown as Verdict, by === "us");
  return last as Timestamp;
}

function beaten(who: "we" | "others", conflictTimestamp: Timestamp): void {
  last += 1;
  const reason = { kind: "conflict", check: 0, conflictTimestamp } as const;
  fold({ kind: "aborted", id, timestamp: last as Timestamp, reason }, who === "we");
}

const waits = (): boolean => courtesy.waitMs(key, { nowMs, patienceMs }) > 0;

describe("a process", () => {
  test("waits for nobody at an item at which nobody was beaten", () => {
    commit("us");
    commit("others");
    expect(waits()).toBe(false);
    expect(courtesy.isIdle).toBe(true);
  });

  test("that has beaten another lets it commit first", () => {
    beaten("others", commit("us"));
    expect(waits()).toBe(true);
    commit("others");
    expect(waits()).toBe(false);
  });

  test("that was beaten goes at once if it is the first, and after those beaten before it", () => {
    const by = commit("others");
    beaten("we", by);
    beaten("others", by);
    expect(waits()).toBe(false);
    courtesy = new Courtesy();
    const next = commit("others");
    beaten("others", next);
    beaten("we", next);
    expect(waits()).toBe(true);
    commit("others");
    expect(waits()).toBe(false);
  });

  test("keeps its place in line when it is beaten again", () => {
    const by = commit("others");
    beaten("we", by);
    const next = commit("others");
    beaten("others", next);
    beaten("we", next);
    expect(waits()).toBe(false);
  });

  test("goes on after its patience when those it waits for are gone", () => {
    const by = commit("us");
    for (let i = 0; i < 5; i += 1) beaten("others", by);
    nowMs = patienceMs - 1;
    expect(waits()).toBe(true);
    nowMs = patienceMs;
    expect(waits()).toBe(false);
    nowMs += 1;
    expect(waits()).toBe(false);
  });

  test("waits as long anew whenever one of them commits", () => {
    const by = commit("us");
    beaten("others", by);
    beaten("others", by);
    nowMs = patienceMs - 1;
    commit("others");
    nowMs = 2 * patienceMs - 2;
    expect(waits()).toBe(true);
    nowMs += 1;
    expect(waits()).toBe(false);
  });

  test("is not kept waiting for ever by requests that are beaten again and again", () => {
    beaten("others", commit("us"));
    let passed = 0;
    while (waits() && passed < 10) {
      beaten("others", commit("others"));
      passed += 1;
    }
    expect(passed).toBe(3);
  });

  test("is not concerned with who beats whom elsewhere", () => {
    commit("us");
    beaten("others", commit("others"));
    beaten("others", commit("us", 2n as KeyHash));
    expect(waits()).toBe(false);
  });
});

test("remembers a bounded number of commits", () => {
  const first = commit("us");
  for (let i = 0; i < limits.courtesyCommitsMax; i += 1) commit("us", 2n as KeyHash);
  beaten("others", first);
  expect(courtesy.isIdle).toBe(true);
});
