/**
 * Who takes turns at a contended item, and that nobody ever waits in a circle or holds for ever.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { KeyHash } from "../../core/types.ts";
import { LocalTurns, TurnTaker } from "../../engine/chaining/local-turns.ts";
import { VirtualTime } from "../../testing/kernel/virtual-time.ts";

const [first, second] = [1n, 2n] as KeyHash[] as [KeyHash, KeyHash];

let time: VirtualTime;
let turns: LocalTurns;

beforeEach(() => {
  time = new VirtualTime(0);
  turns = new LocalTurns({
    nowMs: () => time.nowMs,
    monotonicMs: () => time.nowMs,
    sleep: (durationMs) => time.sleep(durationMs),
  });
});

/** Takes a turn, and notes when it went on. */
function take(taker: TurnTaker, hash: KeyHash, signal?: AbortSignal): { wentOn: boolean } {
  const step = { wentOn: false };
  const goOn = (): void => {
    step.wentOn = true;
  };
  turns.take(taker, hash, signal).then(goOn, goOn);
  return step;
}

function inTime(body: () => Promise<void>): Promise<void> {
  return time.runUntil(Promise.resolve().then(body), 60_000);
}

function takers(count: number): TurnTaker[] {
  return Array.from({ length: count }, () => new TurnTaker(0));
}

describe("a turn", () => {
  test("goes to those who wait, in the order in which they came", () =>
    inTime(async () => {
      const [a, b, c] = takers(3) as [TurnTaker, TurnTaker, TurnTaker];
      await turns.take(a, first, undefined);
      const [ofB, ofC] = [take(b, first), take(c, first)];
      await time.sleep(1);
      expect([ofB.wentOn, ofC.wentOn]).toEqual([false, false]);
      turns.end(a);
      await time.sleep(1);
      expect([ofB.wentOn, ofC.wentOn]).toEqual([true, false]);
      turns.end(b);
      await time.sleep(1);
      expect(ofC.wentOn).toBe(true);
    }));

  test("goes first to the one whose call began first, whenever its attempt did", () =>
    inTime(async () => {
      const [holder, young, old] = [30, 20, 10].map((sinceMs) => new TurnTaker(sinceMs)) as [
        TurnTaker,
        TurnTaker,
        TurnTaker,
      ];
      await turns.take(holder, first, undefined);
      const [ofYoung, ofOld] = [take(young, first), take(old, first)];
      turns.end(holder);
      await time.sleep(1);
      expect([ofYoung.wentOn, ofOld.wentOn]).toEqual([false, true]);
    }));

  test("that was just passed on can be asked for before its new holder has run", () =>
    inTime(async () => {
      const [a, b, c] = takers(3) as [TurnTaker, TurnTaker, TurnTaker];
      await turns.take(a, first, undefined);
      const ofB = take(b, first);
      await time.sleep(1);
      turns.end(a);
      // In the same turn of the event loop: nothing of `b` has run since.
      const ofC = take(c, first);
      expect(b.held).toEqual(new Set([first]));
      await time.sleep(1);
      expect([ofB.wentOn, ofC.wentOn]).toEqual([true, false]);
    }));

  test("is not waited for longer than a courtesy takes", () =>
    inTime(async () => {
      const [a, b] = takers(2) as [TurnTaker, TurnTaker];
      await turns.take(a, first, undefined);
      const ofB = take(b, first);
      await time.sleep(limits.turnWaitMsMax + 1);
      expect(ofB.wentOn).toBe(true);
      expect(b.held.size).toBe(0);
    }));

  test("never goes to one that has ended, whether it waits or comes later", () =>
    inTime(async () => {
      const [a, b, c] = takers(3) as [TurnTaker, TurnTaker, TurnTaker];
      await turns.take(a, first, undefined);
      const ofB = take(b, first);
      turns.end(b);
      await turns.take(b, second, undefined);
      turns.end(a);
      await time.sleep(1);
      expect(ofB.wentOn).toBe(true);
      await turns.take(c, first, undefined);
      await turns.take(c, second, undefined);
      expect(c.held).toEqual(new Set([first, second]));
    }));

  test("is not waited for in a circle", () =>
    inTime(async () => {
      const [a, b] = takers(2) as [TurnTaker, TurnTaker];
      await turns.take(a, first, undefined);
      await turns.take(b, second, undefined);
      const ofA = take(a, second);
      const ofB = take(b, first);
      await time.sleep(1);
      expect([ofA.wentOn, ofB.wentOn]).toEqual([false, true]);
    }));

  test("is not waited for behind a longer row than the limit", () =>
    inTime(async () => {
      const row = takers(limits.turnChainMax + 2);
      const hashes = row.map((_, i) => BigInt(i) as KeyHash);
      for (const [i, taker] of row.entries())
        await turns.take(taker, BigInt(i) as KeyHash, undefined);
      // Each waits for the one before, the last of them for the end of a row that is too long.
      const steps = row.slice(1).map((taker, i) => take(taker, hashes[i] as KeyHash));
      await time.sleep(1);
      expect(steps.map(({ wentOn }) => wentOn)).toEqual(
        steps.map((_, i) => i + 1 > limits.turnChainMax),
      );
    }));
});

test("whatever takers do in one turn of the event loop ends, and leaves nothing held", async () => {
  const count = 5;
  const step = fc.oneof(
    fc.record({ kind: fc.constant("take"), who: fc.nat(count - 1), hash: fc.bigInt(0n, 3n) }),
    fc.record({ kind: fc.constant("end"), who: fc.nat(count - 1) }),
    fc.record({ kind: fc.constant("give up"), who: fc.nat(count - 1) }),
    fc.record({ kind: fc.constant("pause"), ms: fc.nat(150) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      time = new VirtualTime(0);
      turns = new LocalTurns({
        nowMs: () => time.nowMs,
        monotonicMs: () => time.nowMs,
        sleep: (durationMs) => time.sleep(durationMs),
      });
      const all = takers(count);
      const givenUp = all.map(() => new AbortController());
      const waits: { wentOn: boolean }[] = [];
      const isIdle = async (): Promise<void> => {
        for (const each of steps) {
          if (each.kind === "pause" && "ms" in each) await time.sleep(each.ms);
          if (!("who" in each)) continue;
          const taker = all[each.who] as TurnTaker;
          const abort = givenUp[each.who] as AbortController;
          if (each.kind === "take" && "hash" in each) {
            waits.push(take(taker, each.hash as KeyHash, abort.signal));
          } else if (each.kind === "end") turns.end(taker);
          else abort.abort(new Error("given up"));
        }
        for (const taker of all) turns.end(taker);
        await time.sleep(1);
      };
      await inTime(isIdle);
      expect(waits.every(({ wentOn }) => wentOn)).toBe(true);
      expect(turns.isIdle).toBe(true);
    }),
    { numRuns: 300 },
  );
});
