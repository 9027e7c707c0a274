/**
 * How load is put on a store, in virtual time: what a stall costs is seen by whoever was due
 * meanwhile.
 */
import { describe, expect, test } from "vitest";
import { runLoad, type Loop } from "../../bench/harness/drivers.ts";
import { VirtualTime } from "../../testing/kernel/virtual-time.ts";

const serviceMs = 1;
const stall = { fromMs: 1_000, untilMs: 2_000 };

/** One worker's store answers in 1 ms, but for one second it answers nothing. */
async function drive(
  loop: Loop,
  options: { readonly workers?: number; readonly durationMs?: number; readonly slow?: number } = {},
) {
  const time = new VirtualTime(0);
  const latencies: number[] = [];
  const begun: number[] = [];
  const report = await time.runUntil(
    runLoad<number>({
      loop,
      workers: options.workers ?? 1,
      durationMs: options.durationMs ?? 4_000,
      clock: { nowMs: () => time.nowMs, sleep: (ms) => time.sleep(ms) },
      operate: async (worker) => {
        const startMs = time.nowMs;
        begun.push(startMs);
        const stalled = startMs >= stall.fromMs && startMs < stall.untilMs;
        await time.sleep((stalled ? stall.untilMs - startMs : 0) + (options.slow ?? serviceMs));
        return worker;
      },
      record: (_worker, latencyMs) => latencies.push(latencyMs),
    }),
    100_000,
  );
  const late = latencies.filter((latencyMs) => latencyMs > 2 * serviceMs);
  return { report, latencies, begun, late };
}

describe("an open loop", () => {
  const at100 = { kind: "open", ratePerSecond: 100 } as const;

  test("shows a stall in every operation that was due while it lasted", async () => {
    const { latencies, late } = await drive(at100);
    expect(latencies).toHaveLength(400);
    // 100 were due in the stalled second; those due first waited longest, and the backlog delays
    // some after it.
    expect(late.length).toBeGreaterThanOrEqual(100);
    expect(Math.max(...latencies)).toBeCloseTo(1_000 + serviceMs, 6);
    const waited = late.reduce((sum, latencyMs) => sum + latencyMs, 0);
    expect(waited).toBeGreaterThan(100 * 450);
  });

  test("begins each operation when it is due while workers are free", async () => {
    const { begun } = await drive(at100, { durationMs: 500 });
    expect(begun).toEqual(Array.from({ length: 50 }, (_, n) => n * 10));
  });

  test("counts what was due and never begun when the store cannot keep up", async () => {
    const { latencies, report } = await drive(at100, { durationMs: 500, slow: 100 });
    expect(report.unstarted).toBeGreaterThan(0);
    expect(latencies.length + report.unstarted).toBe(50);
    expect(report.elapsedMs).toBeLessThan(1_000);
  });

  test("shares one row of due times between its workers", async () => {
    const { begun } = await drive(at100, { durationMs: 500, workers: 5 });
    expect(begun).toHaveLength(50);
    expect(new Set(begun).size).toBe(50);
  });
});

describe("a closed loop", () => {
  test("hides the same stall in one operation, which is why there is an open one", async () => {
    const { late } = await drive({ kind: "closed" });
    expect(late).toHaveLength(1);
  });

  test("keeps every worker at work until the time is up", async () => {
    const { latencies, report } = await drive({ kind: "closed" }, { durationMs: 500, workers: 3 });
    expect(latencies).toHaveLength(1_500);
    expect(report).toEqual({ elapsedMs: 500, unstarted: 0 });
  });
});
