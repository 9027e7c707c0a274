import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { StoreClock } from "../../engine/log/store-clock.ts";

const epochMs = 1_795_361_400_000;

function dateOf(storeMs: number): number {
  return Math.floor(storeMs / 1_000) * 1_000;
}

describe("the store's clock", () => {
  test("is not known before an answer was dated, or by one that took too long", () => {
    const clock = new StoreClock();
    expect(clock.nowMs(0)).toBeUndefined();
    clock.observe({ sentMs: 0, receivedMs: 10, dateMs: Number.NaN });
    expect(clock.nowMs(10)).toBeUndefined();
    clock.observe({ sentMs: 0, receivedMs: 1_001, dateMs: epochMs });
    expect(clock.nowMs(1_001)).toBeUndefined();
    clock.observe({ sentMs: 0, receivedMs: 1_000, dateMs: epochMs });
    expect(clock.nowMs(1_001)).toBe(epochMs + 1);
    expect(clock.nowMs(1_003)).toBeUndefined();
    clock.observe({ sentMs: 1_500, receivedMs: 1_510, dateMs: epochMs + 1_000 });
    expect(clock.nowMs(1_510)).toBe(epochMs + 1_000);
  });

  test("is known to some milliseconds once an answer falls on each side of a second", () => {
    const clock = new StoreClock();
    // The store is at the full second when this process is at 500.
    clock.observe({ sentMs: 490, receivedMs: 498, dateMs: epochMs - 1_000 });
    clock.observe({ sentMs: 502, receivedMs: 510, dateMs: epochMs });
    expect(clock.nowMs(510)).toBe(epochMs);
    clock.observe({ sentMs: 700, receivedMs: 710, dateMs: epochMs });
    expect(epochMs + 210 - (clock.nowMs(710) ?? 0)).toBeLessThan(20);
  });

  test("begins anew where an answer contradicts what was known: this machine has slept", () => {
    const clock = new StoreClock();
    clock.observe({ sentMs: 0, receivedMs: 10, dateMs: epochMs });
    clock.observe({ sentMs: 20, receivedMs: 30, dateMs: epochMs + 3_600_000 });
    expect(clock.nowMs(30)).toBe(epochMs + 3_600_000);
  });

  test("is forgotten when no answer comes for long", () => {
    const clock = new StoreClock();
    clock.observe({ sentMs: 0, receivedMs: 10, dateMs: epochMs });
    expect(clock.nowMs(60_000)).toBeDefined();
    expect(clock.nowMs(3_600_000)).toBeUndefined();
  });

  test("is not ahead after minutes in which this machine's clock gained a thousandth", () => {
    const clock = new StoreClock();
    clock.observe({ sentMs: 0, receivedMs: 0, dateMs: epochMs });
    expect(clock.nowMs(400_000)).toBeLessThanOrEqual(epochMs + 400_000 * 0.999);
  });

  test("is never ahead, nor further behind than its bound, by any delays and drift", () => {
    const answer = fc.record({
      pauseMs: fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 120_000 })),
      thereMs: fc.nat({ max: 1_500 }),
      backMs: fc.nat({ max: 1_500 }),
    });
    const scene = fc.record({
      offsetMs: fc.integer({ min: -1e12, max: 1e12 }),
      drift: fc.double({ min: -0.001, max: 0.001, noNaN: true }),
      answers: fc.array(answer, { minLength: 1, maxLength: 30 }),
    });
    fc.assert(
      fc.property(scene, ({ offsetMs, drift, answers }) => {
        const clock = new StoreClock();
        const storeAt = (localMs: number): number => epochMs + offsetMs + localMs * (1 + drift);
        let localMs = 0;
        for (const { pauseMs, thereMs, backMs } of answers) {
          const sentMs = localMs + pauseMs;
          const receivedMs = sentMs + thereMs + backMs;
          clock.observe({ sentMs, receivedMs, dateMs: dateOf(storeAt(sentMs + thereMs)) });
          localMs = receivedMs;
          for (const laterMs of [0, 40, 5_000]) {
            const nowMs = clock.nowMs(localMs + laterMs);
            if (nowMs === undefined) continue;
            const behindMs = storeAt(localMs + laterMs) - nowMs;
            expect(behindMs).toBeGreaterThanOrEqual(-0.001);
            expect(behindMs).toBeLessThanOrEqual(limits.storeClockErrorMsMax);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
