import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import type { LogPosition, MakerNumber } from "../../../core/types.ts";
import { CommitPolicy } from "../../../engine/express/commit-policy.ts";
import type { CommitPreference } from "../../../engine/types.ts";
import { sweep } from "../../harness/sweep.ts";
import { contend, type Outcome } from "./log-contention.ts";

const other = 7 as MakerNumber;
const putMs = 8;

function wayOf(policy: CommitPolicy, nowMs: number): string {
  return policy.way(nowMs);
}

/** Of the log in which they all put their blocks. */
let position = 0;
function nextPosition(): LogPosition {
  return (position += 1) as LogPosition;
}

function win(policy: CommitPolicy, nowMs: number, tookMs = putMs): void {
  policy.won({ nowMs, tookMs, units: 1, position: nextPosition(), decisions: 1 });
}

function see(policy: CommitPolicy, atMs: number, maker: MakerNumber | undefined, more = {}): void {
  policy.saw({ position: nextPosition(), atMs, maker, decisions: 1, units: 1, ...more });
}

function lose(policy: CommitPolicy, nowMs: number, to: MakerNumber | undefined): void {
  see(policy, nowMs, to);
  policy.lost({ nowMs, tookMs: putMs, units: 1 });
}

/** Makers 1 to `count` in turn, a block every put. */
function seeBusy(policy: CommitPolicy, count: number, fromMs: number, more = {}): number {
  let atMs = fromMs;
  for (let n = 0; n < 120; n++) {
    atMs = fromMs + putMs * n;
    see(policy, atMs, ((n % count) + 1) as MakerNumber, more);
  }
  return atMs;
}

function conflict(policy: CommitPolicy, times: number, nowMs = 0): void {
  for (let n = 0; n < times; n++) policy.ended({ nowMs, isConflict: true });
}

function commit(policy: CommitPolicy, times: number, nowMs = 0): void {
  for (let n = 0; n < times; n++) policy.ended({ nowMs, isConflict: false });
}

/** Losses by themselves make a process leave, unless most of what it does is in conflict. */
function staysInSpiteOfLosses(policy: CommitPolicy, nowMs: number): boolean {
  for (let n = 0; n < limits.expressLossesMax; n++) lose(policy, nowMs, other);
  return wayOf(policy, nowMs) === "express";
}

/** Until it is this process's turn, as far as the policy knows: the others stand still. */
function waitedMs(policy: CommitPolicy, nowMs: number, random = 0.5): number {
  let sumMs = 0;
  for (;;) {
    const wait = policy.wait(nowMs + sumMs, random);
    if (wait === undefined) return sumMs;
    sumMs += wait.forMs;
    expect(sumMs).toBeLessThan(2 * limits.expressWaitMsMax);
  }
}

describe("which way a commit goes", () => {
  test.each<[CommitPreference, string]>([
    ["auto", "express"],
    ["express", "express"],
    ["stream", "stream"],
  ])("at first, asked for %s: %s", (mode, way) => {
    const policy = new CommitPolicy(mode);
    expect(policy.way(0)).toBe(way);
    expect(policy.wait(0, 0.5)).toBeUndefined();
  });

  test("to the stream after many losses in a row; a win between them begins anew", () => {
    const policy = new CommitPolicy("auto");
    for (let n = 1; n < limits.expressLossesMax; n++) lose(policy, n, other);
    win(policy, 20);
    for (let n = 1; n < limits.expressLossesMax; n++) lose(policy, 20 + n, other);
    expect(wayOf(policy, 40)).toBe("express");
    lose(policy, 41, other);
    expect(wayOf(policy, 42)).toBe("stream");
  });

  test("stays where as many as take turns fill the log, and leaves where they are more", () => {
    const few = new CommitPolicy("auto");
    expect(wayOf(few, seeBusy(few, limits.expressMakersMax - 1, 0))).toBe("express");
    const many = new CommitPolicy("auto");
    expect(wayOf(many, seeBusy(many, limits.expressMakersMax, 0))).toBe("stream");
  });

  test("stays, and comes back at once, where what it does is in conflict with others", () => {
    const policy = new CommitPolicy("auto");
    conflict(policy, 20);
    const nowMs = seeBusy(policy, 30, 0);
    for (let n = 0; n < 2 * limits.expressLossesMax; n++) lose(policy, nowMs, other);
    expect(wayOf(policy, nowMs)).toBe("express");
    commit(policy, 80, nowMs);
    expect(wayOf(policy, nowMs + 1)).toBe("stream");
    conflict(policy, 160, nowMs + 1);
    expect(wayOf(policy, nowMs + 2)).toBe("express");
  });

  test("a few conflicts in a row among many commits are no hot row", () => {
    const policy = new CommitPolicy("auto");
    for (let round = 0; round < 20; round++) {
      commit(policy, 15, round * 100);
      conflict(policy, 5, round * 100);
    }
    expect(staysInSpiteOfLosses(policy, 2_000)).toBe(false);
  });

  test("a burst of conflicts counts beside the commits of the last second, not of a moment", () => {
    const policy = new CommitPolicy("auto");
    for (let atMs = 0; atMs < 1_000; atMs += 10) commit(policy, 2, atMs);
    conflict(policy, 30, 1_000);
    expect(staysInSpiteOfLosses(policy, 1_000)).toBe(false);
    conflict(policy, 30, 4_000);
    expect(staysInSpiteOfLosses(policy, 4_000)).toBe(true);
  });

  test("leaves when blocks take most of what the partition writes, also in conflict", () => {
    const policy = new CommitPolicy("auto");
    conflict(policy, 20);
    const units = Math.ceil((limits.expressUnitsMax + 200) / 120);
    const nowMs = seeBusy(policy, 2, 0, { units });
    expect(wayOf(policy, nowMs)).toBe("stream");
  });

  test("comes back when there was room for seconds, and waits longer after a relapse", () => {
    const policy = new CommitPolicy("auto");
    const full = (fromMs: number): number => seeBusy(policy, 30, fromMs);
    const leftMs = full(0);
    expect(wayOf(policy, leftMs)).toBe("stream");
    const calm = leftMs + limits.expressWindowMs + limits.expressCalmMsMin;
    expect(wayOf(policy, leftMs + limits.expressCalmMsMin - 1)).toBe("stream");
    expect(wayOf(policy, calm)).toBe("express");
    const againMs = full(calm + 1);
    expect(wayOf(policy, againMs)).toBe("stream");
    expect(wayOf(policy, againMs + limits.expressCalmMsMin + 1)).toBe("stream");
    const later = againMs + limits.expressWindowMs + 2 * limits.expressCalmMsMin;
    expect(wayOf(policy, later)).toBe("express");
  });

  test("goes with the most: by the stream while an oracle's blocks carry more", () => {
    const policy = new CommitPolicy("auto");
    // Few blocks, many commits.
    for (let atMs = 100; atMs < 60_000; atMs += 100) {
      see(policy, atMs, undefined, { decisions: 10 });
      if (atMs > 1_000) expect(wayOf(policy, atMs)).toBe("stream");
    }
    const mixed = new CommitPolicy("auto");
    for (let atMs = 100; atMs < 60_000; atMs += 100) {
      see(mixed, atMs, undefined, { decisions: 10 });
      see(mixed, atMs, other, { decisions: 20 });
      expect(wayOf(mixed, atMs)).toBe("express");
    }
  });
});

describe("turns", () => {
  test("nobody waits on a calm log", () => {
    const policy = new CommitPolicy("auto");
    for (let atMs = 0; atMs < 10_000; atMs += 100) {
      see(policy, atMs, other);
      win(policy, atMs + 20);
      expect(policy.wait(atMs + 50, 0.99)).toBeUndefined();
    }
  });

  test("who has won goes behind all who have put; each of their blocks brings it forward", () => {
    const makers = 20;
    const policy = new CommitPolicy("auto");
    let atMs = seeBusy(policy, makers, 0);
    win(policy, atMs + 1);
    const waits = [];
    // What it sees now are those before it, by the order of their last blocks.
    for (let n = 0; n < makers; n++) {
      waits.push(policy.wait(atMs, 0.5));
      see(policy, (atMs += putMs), ((n % makers) + 1) as MakerNumber);
    }
    expect(policy.wait(atMs, 0.5)).toBeUndefined();
    // Far behind it sleeps; the last ones before it are looked for as they come, the last oftenest.
    expect(waits.every((wait) => wait !== undefined)).toBe(true);
    const [before, last] = waits.slice(-2).map((wait) => wait?.lookEveryMs ?? 0);
    expect(waits.slice(0, -2).every((wait) => wait?.lookEveryMs === undefined)).toBe(true);
    expect(last).toBeLessThan(putMs / 4);
    expect(before).toBeGreaterThan(last ?? 0);
  });

  test("all see the same line, whatever times they have heard of the blocks at", () => {
    const [early, late] = [new CommitPolicy("express"), new CommitPolicy("express")];
    let nowMs = 0;
    // Two that win in turn; each hears of its own block when the put is answered, and dates the
    // other's by when it was put.
    for (let n = 0; n < 60; n++) {
      const at = { position: nextPosition(), decisions: 1, units: 1 };
      nowMs += putMs;
      const [winner, watcher] = n % 2 === 0 ? [early, late] : [late, early];
      winner.won({ ...at, nowMs: nowMs + putMs, tookMs: putMs });
      for (const maker of [1, 2, 3]) {
        const block = { position: nextPosition(), decisions: 1, units: 1, atMs: nowMs };
        for (const each of [early, late])
          each.saw({ ...block, maker: (100 + maker) as MakerNumber });
      }
      watcher.saw({ ...at, atMs: nowMs, maker: (n % 2) as MakerNumber });
    }
    // The last one to have won was `late`.
    const waits = [early, late].map((each) => each.wait(nowMs + putMs, 0)?.forMs ?? 0);
    expect(waits[0]).toBeLessThan(waits[1] ?? 0);
  });

  test("nobody waits for long for those who do not come", () => {
    const policy = new CommitPolicy("auto");
    const nowMs = seeBusy(policy, 3, 0);
    win(policy, nowMs + 1);
    const ms = waitedMs(policy, nowMs + 1);
    expect(ms).toBeGreaterThan(putMs);
    expect(ms).toBeLessThan(6 * putMs);
  });

  test("a newcomer that was beaten waits for the next block, and puts with the first", () => {
    const policy = new CommitPolicy("express");
    const nowMs = seeBusy(policy, 8, 0);
    expect(policy.wait(nowMs, 0.5)).toBeUndefined();
    lose(policy, nowMs + putMs, other);
    expect(policy.wait(nowMs + putMs, 0.5)?.lookEveryMs).toBeDefined();
    see(policy, nowMs + 2 * putMs, other);
    expect(policy.wait(nowMs + 2 * putMs, 0.5)).toBeUndefined();
  });

  test("beside an oracle each leaves it the time for a put behind each block, once", () => {
    const policy = new CommitPolicy("auto");
    const nowMs = seeBusy(policy, 2, 0);
    see(policy, nowMs, undefined);
    win(policy, nowMs);
    expect(waitedMs(policy, nowMs + 1)).toBeGreaterThan(putMs);
    // Those before it come, and it is its turn.
    let atMs = nowMs;
    for (const maker of [1, 2]) see(policy, (atMs += putMs), maker as MakerNumber);
    const wait = policy.wait(atMs, 0);
    expect(wait?.forMs).toBeGreaterThan(putMs);
    expect(policy.wait(atMs + (wait?.forMs ?? 0), 0)).toBeUndefined();
  });
});

test("waits never, or for a bounded time, and for no more than a line of turns", () => {
  const event = fc.record({
    laterMs: fc.nat({ max: 200 }),
    what: fc.constantFrom("saw", "won", "lost", "ended", "wait"),
    maker: fc.option(fc.nat({ max: 40 }), { nil: undefined }),
    tookMs: fc.integer({ min: 1, max: 2_000 }),
    units: fc.integer({ min: 1, max: 400 }),
    decisions: fc.nat({ max: 500 }),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    isConflict: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.constantFrom<CommitPreference>("auto", "express", "stream"),
      fc.array(event, { maxLength: 80 }),
      (mode, events) => {
        const policy = new CommitPolicy(mode);
        let nowMs = 0;
        for (const { laterMs, what, tookMs, units, decisions, random, ...rest } of events) {
          nowMs += laterMs;
          const { isConflict } = rest;
          const maker = rest.maker as MakerNumber | undefined;
          const at = { position: nextPosition(), decisions };
          if (what === "saw") policy.saw({ ...at, atMs: nowMs, maker, units });
          else if (what === "won") policy.won({ ...at, nowMs, tookMs, units });
          else if (what === "lost") policy.lost({ nowMs, tookMs, units });
          else if (what === "ended") policy.ended({ nowMs, isConflict });
          const way = policy.way(nowMs);
          if (mode !== "auto") expect(way).toBe(mode);
          // To ask which way it goes changes nothing of whose turn it is.
          expect(policy.way(nowMs)).toBe(way);
          // A log that stands still is waited for a few times at most.
          const waits: number[] = [];
          for (;;) {
            const wait = policy.wait(nowMs, random);
            if (wait === undefined) break;
            expect(wait.forMs).toBeGreaterThan(0);
            expect(wait.forMs).toBeLessThanOrEqual(limits.expressWaitMsMax);
            expect(wait.lookEveryMs ?? 1).toBeGreaterThanOrEqual(1);
            waits.push(wait.forMs);
            nowMs += wait.forMs;
            expect(waits.length).toBeLessThan(80);
          }
        }
      },
    ),
  );
});

/**
 * Puts of 5 to 11 ms, reads of 3, the stream 50. Commits a second, and refused puts per win:
 *
 *     processes, pause      auto
 *      1, none               91   0
 *      2, 50 ms              32   0.07
 *      4, 100 ms             36   0.12
 *      8, 1 s                 8   0.04
 *      8, none              118   < 2   in turns; by the stream they come to 126
 *     32, none              484   0.03 a commit, all by the stream; in turns 138, and 1.1
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
      for (let seed = 1; seed <= sweep(2, 5); seed++) {
        const outcome = contend({ processes, thinkMs: () => pauseMs, untilMs: minuteMs, seed });
        expect(outcome.refused / outcome.wins).toBeLessThan(0.25);
        expect(sum(outcome.streamShare) / outcome.streamShare.length).toBeLessThan(0.1);
        expectFair(outcome);
        expect(Math.max(...outcome.longestMs)).toBeLessThan(400);
      }
    },
  );

  test.each([4, 8])("%i that commit without a pause take turns, fairly", (processes) => {
    for (let seed = 1; seed <= sweep(1, 3); seed++) {
      const outcome = contend({ processes, thinkMs: () => 0, untilMs: 20_000, seed });
      expect(sum(outcome.streamShare) / outcome.streamShare.length).toBeLessThan(0.1);
      expect(outcome.wins / 20).toBeGreaterThan(115);
      expect(outcome.refused / outcome.wins).toBeLessThan(2);
      expectFair(outcome);
      expect(Math.max(...outcome.longestMs)).toBeLessThan(500);
    }
  });

  test.each([16, 32])("%i that commit without a pause find the stream, fairly", (processes) => {
    for (let seed = 1; seed <= sweep(2, 5); seed++) {
      const outcome = contend({ processes, thinkMs: () => 0, untilMs: 20_000, seed });
      expect(Math.min(...outcome.streamShare.slice(1))).toBeGreaterThan(0.95);
      expect(outcome.refused / sum(outcome.commits)).toBeLessThan(0.05);
      // Of the first moment, when nobody knows of anybody.
      expect(outcome.refused).toBeLessThan(20 * processes);
      expectFair(outcome);
      // At the beginning, when all come at once.
      expect(Math.max(...outcome.longestMs)).toBeLessThan(900);
    }
  });

  test.each([
    [8, 2],
    [32, 2],
  ])("%i with nowhere else to go: at most %i refused puts per win, fairly", (processes, most) => {
    for (let seed = 1; seed <= sweep(1, 3); seed++) {
      const scene = { processes, mode: "express", thinkMs: () => 0, untilMs: 20_000 } as const;
      const outcome = contend({ ...scene, seed });
      expect(outcome.refused / outcome.wins).toBeLessThan(most);
      expect(outcome.wins / 20).toBeGreaterThan(85);
      expectFair(outcome);
    }
  });

  test("they come back to express when the load has gone", () => {
    const outcome = contend({
      processes: 16,
      thinkMs: (nowMs) => (nowMs < 20_000 ? 0 : 1_000),
      untilMs: minuteMs,
    });
    expect(Math.min(...outcome.streamShare.slice(2, 20))).toBeGreaterThan(0.95);
    expect(Math.max(...outcome.streamShare.slice(40))).toBeLessThan(0.2);
  });

  test.each<[CommitPreference, number]>([
    ["auto", 2.5],
    ["express", 2.5],
  ])("one without the right is not starved beside others that go %s", (mode, refusedMax) => {
    for (let seed = 1; seed <= sweep(2, 5); seed++) {
      const scene = { processes: 5, without: 1, mode, thinkMs: () => 0, untilMs: minuteMs, seed };
      const outcome = contend(scene);
      expect(outcome.longestMs[0]).toBeLessThan(400);
      expect(outcome.oracleRefused / outcome.oracleBlocks).toBeLessThan(refusedMax);
    }
  });
});
