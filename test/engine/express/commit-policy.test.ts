import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import type { MakerNumber } from "../../../core/types.ts";
import { CommitPolicy, type CommitMode } from "../../../engine/express/commit-policy.ts";
import { contend, type Outcome } from "./log-contention.ts";

const other = 7 as MakerNumber;
const putMs = 8;

function wayOf(policy: CommitPolicy, nowMs: number): string {
  return policy.decide({ nowMs, mayExpress: true, random: 0.5 }).way;
}

function lose(policy: CommitPolicy, nowMs: number, to: MakerNumber | undefined): void {
  policy.saw({ atMs: nowMs, maker: to, decisions: 1 });
  policy.lost({ nowMs, tookMs: putMs, to });
}

describe("which way a commit goes", () => {
  test.each<[CommitMode, boolean, string]>([
    ["auto", true, "express"],
    ["auto", false, "stream"],
    ["express", true, "express"],
    ["express", false, "neither"],
    ["stream", true, "stream"],
    ["stream", false, "stream"],
  ])("at first: %s, allowed: %s", (mode, mayExpress, way) => {
    const decision = new CommitPolicy(mode).decide({ nowMs: 0, mayExpress, random: 0.5 });
    expect(decision).toEqual({ way, waitMs: 0 });
  });

  test("to the stream after a few losses in a row; a win between them begins anew", () => {
    const policy = new CommitPolicy("auto");
    for (let n = 1; n < limits.expressLossesMax; n++) lose(policy, n, other);
    policy.won({ nowMs: 10, tookMs: putMs });
    for (let n = 1; n < limits.expressLossesMax; n++) lose(policy, 20 + n, other);
    expect(wayOf(policy, 30)).toBe("express");
    lose(policy, 31, other);
    expect(wayOf(policy, 32)).toBe("stream");
  });

  test("to the stream after one loss to an oracle", () => {
    const policy = new CommitPolicy("auto");
    lose(policy, 1, undefined);
    expect(wayOf(policy, 2)).toBe("stream");
  });

  test("to the stream when others take more than half of the log's time, before any loss", () => {
    const policy = new CommitPolicy("auto");
    policy.won({ nowMs: 0, tookMs: 10 });
    for (let n = 0; n <= 50; n++) {
      expect(wayOf(policy, 10 * n)).toBe("express");
      policy.saw({ atMs: 10 * n, maker: other, decisions: 1 });
    }
    expect(wayOf(policy, 510)).toBe("stream");
  });

  test("comes back when the log was calm for seconds, and waits longer after a relapse", () => {
    const policy = new CommitPolicy("auto");
    policy.won({ nowMs: 0, tookMs: putMs });
    lose(policy, 1, undefined);
    expect(wayOf(policy, limits.expressCalmMsMin)).toBe("stream");
    expect(wayOf(policy, limits.expressCalmMsMin + 1)).toBe("express");
    const backMs = limits.expressCalmMsMin + 1;
    lose(policy, backMs + 1, undefined);
    expect(wayOf(policy, backMs + limits.expressCalmMsMin + 1)).toBe("stream");
    expect(wayOf(policy, backMs + 2 * limits.expressCalmMsMin + 1)).toBe("express");
  });

  test("does not come back while an oracle's blocks carry what would make it busy again", () => {
    const policy = new CommitPolicy("auto");
    lose(policy, 0, undefined);
    // Few blocks, many commits.
    for (let atMs = 100; atMs < 60_000; atMs += 100) {
      policy.saw({ atMs, maker: undefined, decisions: 10 });
      expect(wayOf(policy, atMs)).toBe("stream");
    }
  });
});

test("waits never, or for a bounded time that randomness spreads; never in the past", () => {
  const event = fc.record({
    laterMs: fc.nat({ max: 200 }),
    what: fc.constantFrom("saw", "won", "lost", "decide"),
    maker: fc.option(fc.nat({ max: 40 }), { nil: undefined }),
    tookMs: fc.integer({ min: 1, max: 2_000 }),
    decisions: fc.nat({ max: 500 }),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    mayExpress: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.constantFrom<CommitMode>("auto", "express", "stream"),
      fc.array(event, { maxLength: 80 }),
      (mode, events) => {
        const policy = new CommitPolicy(mode);
        let nowMs = 0;
        for (const { laterMs, what, tookMs, decisions, random, mayExpress, ...rest } of events) {
          nowMs += laterMs;
          const maker = rest.maker as MakerNumber | undefined;
          if (what === "saw") policy.saw({ atMs: nowMs, maker, decisions });
          else if (what === "won") policy.won({ nowMs, tookMs });
          else if (what === "lost") policy.lost({ nowMs, tookMs, to: maker });
          const { way, waitMs } = policy.decide({ nowMs, mayExpress, random });
          expect(waitMs).toBeGreaterThanOrEqual(0);
          expect(waitMs).toBeLessThanOrEqual(limits.expressWaitMsMax);
          if (way !== "express") expect(waitMs).toBe(0);
          if (!mayExpress || mode === "stream") expect(way).not.toBe("express");
          if (mode === "express") expect(way).toBe(mayExpress ? "express" : "neither");
          if (mode === "auto") expect(way).not.toBe("neither");
        }
      },
    ),
  );
});

/**
 * Puts of 5 to 11 ms, reads of 3, the stream 50. Commits a second, and refused puts per win:
 *
 *     processes, pause      auto                            express only (without waits)
 *      1, none               91   0     all express
 *      2, 50 ms              32   0.06  all express
 *      4, 100 ms             35   0.11  all express
 *      8, 1 s                 8   0.04  all express
 *      8, none              126   0.004 a commit, all stream       107   0.65   (3.3)
 *     32, none              491   0.004 a commit, all stream       148   1.4    (13)
 */
describe("processes at one log, in virtual time", () => {
  const minuteMs = 60_000;

  function sum(values: readonly number[]): number {
    return values.reduce((all, value) => all + value, 0);
  }
  function expectFair({ commits }: Outcome): void {
    expect(Math.min(...commits)).toBeGreaterThan(0.6 * Math.max(...commits));
  }

  test("one alone goes express, and loses nothing", () => {
    const outcome = contend({ processes: 1, thinkMs: () => 0, untilMs: minuteMs });
    expect(outcome).toMatchObject({ refused: 0, oracleBlocks: 0 });
    expect(outcome.wins / 60).toBeGreaterThan(85);
  });

  test.each([
    [2, 50],
    [4, 100],
    [8, 1_000],
  ])(
    "%i that pause for %i ms stay express, with few refused puts, fairly",
    (processes, pauseMs) => {
      for (let seed = 1; seed <= 5; seed++) {
        const outcome = contend({ processes, thinkMs: () => pauseMs, untilMs: minuteMs, seed });
        expect(outcome.refused / outcome.wins).toBeLessThan(0.25);
        expect(sum(outcome.streamShare) / outcome.streamShare.length).toBeLessThan(0.1);
        expectFair(outcome);
        expect(Math.max(...outcome.longestMs)).toBeLessThan(400);
      }
    },
  );

  test.each([4, 8, 32])("%i that commit without a pause find the stream, fairly", (processes) => {
    for (let seed = 1; seed <= 5; seed++) {
      const outcome = contend({ processes, thinkMs: () => 0, untilMs: 20_000, seed });
      expect(Math.min(...outcome.streamShare.slice(1))).toBeGreaterThan(0.95);
      expect(outcome.refused / sum(outcome.commits)).toBeLessThan(0.02);
      // Of the first moment, when nobody knows of anybody.
      expect(outcome.refused).toBeLessThan(10 * processes);
      expectFair(outcome);
      expect(Math.max(...outcome.longestMs)).toBeLessThan(400);
    }
  });

  test.each([
    [8, 1],
    [32, 2],
  ])("%i with nowhere else to go: at most %i refused puts per win, fairly", (processes, most) => {
    for (let seed = 1; seed <= 3; seed++) {
      const scene = { processes, mode: "express", thinkMs: () => 0, untilMs: 20_000 } as const;
      const outcome = contend({ ...scene, seed });
      expect(outcome.refused / outcome.wins).toBeLessThan(most);
      expect(outcome.wins / 20).toBeGreaterThan(85);
      expectFair(outcome);
    }
  });

  test("they come back to express when the load has gone", () => {
    const outcome = contend({
      processes: 8,
      thinkMs: (nowMs) => (nowMs < 20_000 ? 0 : 1_000),
      untilMs: minuteMs,
    });
    expect(Math.min(...outcome.streamShare.slice(2, 20))).toBeGreaterThan(0.95);
    expect(Math.max(...outcome.streamShare.slice(40))).toBeLessThan(0.2);
  });

  test.each<[CommitMode, number]>([
    ["auto", 0.1],
    ["express", 2],
  ])("one without the right is not starved beside others that go %s", (mode, refusedMax) => {
    for (let seed = 1; seed <= 5; seed++) {
      const scene = { processes: 5, without: 1, mode, thinkMs: () => 0, untilMs: minuteMs, seed };
      const outcome = contend(scene);
      expect(outcome.longestMs[0]).toBeLessThan(400);
      expect(outcome.oracleRefused / outcome.oracleBlocks).toBeLessThan(refusedMax);
    }
  });
});
