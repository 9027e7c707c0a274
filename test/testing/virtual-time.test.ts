import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { exactClock, SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import {
  DeadlockError,
  TooManyEventsError,
  VirtualTime,
  VirtualTimeoutError,
} from "../../testing/kernel/virtual-time.ts";

const startMs = 1_000_000;
const hourMs = 3600_000;

function processOn(time: VirtualTime, clockError = exactClock): SimulatedProcess {
  return new SimulatedProcess({ name: "p", time, random: new SeededRandom("p"), clockError });
}

describe("virtual time", () => {
  test("runs events in the order of their moments, and of their making within one", async () => {
    const time = new VirtualTime(startMs);
    const seen: string[] = [];
    const note = (what: string) => () => seen.push(`${what} ${(time.nowMs - startMs).toString()}`);
    time.after(30, note("c"));
    time.after(10, note("a"));
    time.after(10, note("b"));
    for (let i = 0; i < 200; i += 1) time.after(((i * 7919) % 100) + 31, () => seen.push("x"));
    await time.runUntil(time.sleep(200), hourMs);
    expect(seen.slice(0, 3)).toEqual(["a 10", "b 10", "c 30"]);
    expect(seen).toHaveLength(203);
  });

  test("finishes all promise reactions of one event before the next, however many", async () => {
    const time = new VirtualTime(startMs);
    const seen: string[] = [];
    const chain = async (): Promise<void> => {
      for (let i = 0; i < 50; i += 1) await Promise.resolve();
      seen.push("end of the chain");
    };
    time.after(1, () => void chain());
    time.after(1.001, () => seen.push("next event"));
    await time.runUntil(time.sleep(2), hourMs);
    expect(seen).toEqual(["end of the chain", "next event"]);
  });

  test("does not run what was cancelled", async () => {
    const time = new VirtualTime(startMs);
    const seen: string[] = [];
    const cancel = time.after(1, () => seen.push("cancelled"));
    cancel();
    await time.runUntil(time.sleep(2), hourMs);
    expect(seen).toEqual([]);
  });

  test("tells when nothing can wake what is waited for", async () => {
    const time = new VirtualTime(startMs);
    const never = new Promise<void>(() => undefined);
    await expect(time.runUntil(never, hourMs)).rejects.toBeInstanceOf(DeadlockError);
  });

  test("gives up at the limit, and stands at the last event before it", async () => {
    const time = new VirtualTime(startMs);
    await expect(time.runUntil(time.sleep(500), 100)).rejects.toBeInstanceOf(VirtualTimeoutError);
    expect(time.nowMs).toBe(startMs);
  });

  test.each([0, 0.001])("gives up what tries again without end, every %d ms", async (pauseMs) => {
    const time = new VirtualTime(startMs);
    time.limitEvents(1_000);
    const again = async (): Promise<void> => {
      for (;;) await time.sleep(pauseMs);
    };
    await expect(time.runUntil(again(), hourMs)).rejects.toBeInstanceOf(TooManyEventsError);
    expect(time.eventCount).toBe(1_000);
  });

  test("passes on what the body throws", async () => {
    const time = new VirtualTime(startMs);
    const body = async (): Promise<void> => {
      await time.sleep(5);
      throw new RangeError("the body's");
    };
    await expect(time.runUntil(body(), hourMs)).rejects.toThrow("the body's");
  });
});

describe("a simulated process", () => {
  test("that is frozen gets what was delivered when it thaws, in order", async () => {
    const time = new VirtualTime(startMs);
    const process = processOn(time);
    const seen: string[] = [];
    const sleeper = async (name: string, durationMs: number): Promise<void> => {
      await process.clock.sleep(durationMs);
      seen.push(`${name} at ${(time.nowMs - startMs).toString()}`);
    };
    const both = Promise.all([sleeper("long", 20), sleeper("short", 10)]);
    time.after(5, () => {
      process.freeze(95);
    });
    await time.runUntil(both, hourMs);
    expect(seen).toEqual(["short at 100", "long at 100"]);
  });

  test("that has crashed never goes on, and whoever asked is told", async () => {
    const time = new VirtualTime(startMs);
    const process = processOn(time);
    const seen: string[] = [];
    process.onCrash(() => seen.push("told"));
    void process.clock.sleep(10).then(() => seen.push("went on"));
    time.after(5, () => {
      process.crash();
    });
    await time.runUntil(time.sleep(50), hourMs);
    process.thaw();
    await time.runUntil(time.sleep(50), hourMs);
    expect(seen).toEqual(["told"]);
    expect(process.state).toBe("dead");
  });

  test("reads a clock of its own, which may be wrong and drift", async () => {
    const time = new VirtualTime(startMs);
    const process = processOn(time, { offsetMs: -4_000, drift: 0.001 });
    expect(process.clock.nowMs()).toBe(startMs - 4_000);
    await time.runUntil(time.sleep(1_000_000), hourMs);
    expect(process.clock.nowMs()).toBe(startMs - 4_000 + 1_001_000);
    expect(process.clock.monotonicMs()).toBeCloseTo(1_001_000, 3);
  });

  test("whose pause is aborted goes on at once, with the signal's reason", async () => {
    const time = new VirtualTime(startMs);
    const process = processOn(time);
    const controller = new AbortController();
    const pause = process.clock.sleep(1_000, controller.signal);
    time.after(10, () => {
      controller.abort(new RangeError("enough"));
    });
    await expect(time.runUntil(pause, hourMs)).rejects.toThrow("enough");
    expect(time.nowMs).toBe(startMs + 10);
  });
});

describe("seeded randomness", () => {
  test("is the same for the same name, and another for another", () => {
    const draw = (name: string): number[] => {
      const random = new SeededRandom(name);
      return Array.from({ length: 5 }, () => random.next());
    };
    expect(draw("a")).toEqual(draw("a"));
    expect(draw("a")).not.toEqual(draw("b"));
  });

  test("of a fork does not depend on what its parent has drawn", () => {
    const fresh = new SeededRandom("a").fork("child").next();
    const parent = new SeededRandom("a");
    parent.next();
    expect(parent.fork("child").next()).toBe(fresh);
  });

  test("is spread evenly", () => {
    const random = new SeededRandom("spread");
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < 100_000; i += 1) {
      const bucket = random.integer(0, 9);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });
});
