/**
 * One try of one call on its way to a service and back: what took effect, and what its caller
 * hears.
 */
import { describe, expect, test } from "vitest";
import { Faults, type FaultPlan } from "../../testing/kernel/faults.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { ServiceLink, type ServiceCall } from "../../testing/kernel/service-link.ts";
import { ServiceTrouble } from "../../testing/kernel/service-trouble.ts";
import { exactClock, SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import { Trace } from "../../testing/kernel/trace.ts";
import { VirtualTime } from "../../testing/kernel/virtual-time.ts";
import { Weather } from "../../testing/kernel/weather.ts";
import { ServiceError } from "../../expressions/service-error.ts";

const hourMs = 3600_000;
const callTimeoutMs = 1_000;
const latencyMs = 10;

type Stage = {
  readonly time: VirtualTime;
  readonly process: SimulatedProcess;
  readonly trouble: ServiceTrouble;
  readonly link: ServiceLink;
  /** Moments at which the service did what was asked. */
  readonly effectsAtMs: number[];
  readonly call: ServiceCall;
  readonly attempt: (signal?: AbortSignal) => Promise<unknown>;
};

function stage(plan: FaultPlan, perform: () => unknown = () => "answer"): Stage {
  const time = new VirtualTime(0);
  const random = new SeededRandom("link");
  const faults = new Faults({ plan, random, onStrike: () => undefined });
  const trace = new Trace({ keepLines: false });
  const weather = new Weather({ time, faults, trace });
  const trouble = new ServiceTrouble(time);
  const latency = (): number => latencyMs;
  const link = new ServiceLink({ time, faults, weather, trouble, trace, latency, callTimeoutMs });
  const process = new SimulatedProcess({ name: "p", time, random, clockError: exactClock });
  const effectsAtMs: number[] = [];
  const call: ServiceCall = {
    service: "dynamodb",
    operation: "PutItem",
    target: "table",
    perform: () => {
      effectsAtMs.push(time.nowMs);
      return perform();
    },
  };
  const attempt = (signal?: AbortSignal): Promise<unknown> => link.try(process, call, signal);
  return { time, process, trouble, link, effectsAtMs, call, attempt };
}

/** Runs the try, and tells how it ended and when. */
async function outcomeOf({ time, attempt }: Stage): Promise<{ ends: unknown; atMs: number }> {
  const ends = await time.runUntil(
    attempt().catch((error: unknown) => (error instanceof Error ? error.name : error)),
    hourMs,
  );
  return { ends, atMs: time.nowMs };
}

describe("a try of a call", () => {
  test("takes effect under way, and is answered after its latency", async () => {
    const it = stage({});
    expect(await outcomeOf(it)).toEqual({ ends: "answer", atMs: latencyMs });
    expect(it.effectsAtMs[0]).toBeGreaterThan(0);
    expect(it.effectsAtMs[0]).toBeLessThan(latencyMs);
  });

  test("whose answer is lost took effect once; its caller gets an error", async () => {
    const seen = new Set<unknown>();
    const it = stage({ "answer-lost": 1 });
    for (let i = 0; i < 30; i += 1) seen.add((await outcomeOf(it)).ends);
    expect([...seen].sort()).toEqual(["Error", "TimeoutError"]);
    expect(it.effectsAtMs).toHaveLength(30);
  });

  test("whose answer is slow took effect at once, and comes in time", async () => {
    const it = stage({ "answer-slow": 1 });
    const { ends, atMs } = await outcomeOf(it);
    expect(ends).toBe("answer");
    expect(it.effectsAtMs[0]).toBeLessThan(latencyMs);
    expect(atMs).toBeGreaterThan(5 * latencyMs);
    expect(atMs).toBeLessThan(callTimeoutMs);
  });

  test("whose request is lost has no effect", async () => {
    const it = stage({ "request-lost": 1 });
    expect(["Error", "TimeoutError"]).toContain((await outcomeOf(it)).ends);
    await it.time.runUntil(it.time.sleep(hourMs), 2 * hourMs);
    expect(it.effectsAtMs).toEqual([]);
  });

  test("whose request is late takes effect after its caller has given up", async () => {
    const it = stage({ "request-late": 1 });
    const { ends, atMs } = await outcomeOf(it);
    expect(["Error", "TimeoutError"]).toContain(ends);
    expect(it.effectsAtMs).toEqual([]);
    await it.time.runUntil(it.time.sleep(hourMs), 2 * hourMs);
    expect(it.effectsAtMs).toHaveLength(1);
    expect(it.effectsAtMs[0]).toBeGreaterThan(atMs);
    // A signature is accepted for five minutes.
    expect(it.effectsAtMs[0]).toBeLessThan(5 * 60_000);
  });

  test("answered 500 has done nothing, or all of it", async () => {
    const before = stage({ "service-error": 1 });
    expect((await outcomeOf(before)).ends).toBe("InternalServerError");
    expect(before.effectsAtMs).toEqual([]);
    const after = stage({ "service-error-after-effect": 1 });
    expect((await outcomeOf(after)).ends).toBe("InternalServerError");
    expect(after.effectsAtMs).toHaveLength(1);
  });

  test("that is throttled has no effect", async () => {
    const it = stage({ throttled: 1 });
    expect((await outcomeOf(it)).ends).toBe("ProvisionedThroughputExceededException");
    expect(it.effectsAtMs).toEqual([]);
  });

  test("that the service refuses ends in the service's own error", async () => {
    const it = stage({}, () => {
      throw new ServiceError("ConditionalCheckFailedException", { message: "no" });
    });
    expect((await outcomeOf(it)).ends).toBe("ConditionalCheckFailedException");
  });

  test("that is given up ends at once, and may take effect all the same", async () => {
    const it = stage({});
    const controller = new AbortController();
    it.time.after(1, () => {
      controller.abort();
    });
    const error = it.attempt(controller.signal).catch((reason: unknown) => reason);
    expect(await it.time.runUntil(error, hourMs)).toMatchObject({ name: "AbortError" });
    expect(it.time.nowMs).toBe(1);
    await it.time.runUntil(it.time.sleep(100), hourMs);
    expect(it.effectsAtMs).toHaveLength(1);
    await expect(it.attempt(controller.signal)).rejects.toMatchObject({ name: "AbortError" });
    expect(it.link.calls).toBe(2);
  });
});

describe("the process that makes a call", () => {
  test("may die before it, and then nothing is sent", async () => {
    const it = stage({ "crash-before-call": 1 });
    void it.attempt();
    await it.time.runUntil(it.time.sleep(1_000), hourMs);
    expect({ state: it.process.state, effects: it.effectsAtMs }).toEqual({
      state: "dead",
      effects: [],
    });
  });

  test("may die when the answer is there, and then the call took effect unheard", async () => {
    const it = stage({ "crash-after-call": 1 });
    let heard = false;
    void it.attempt().finally(() => (heard = true));
    await it.time.runUntil(it.time.sleep(1_000), hourMs);
    expect({ state: it.process.state, effects: it.effectsAtMs.length, heard }).toEqual({
      state: "dead",
      effects: 1,
      heard: false,
    });
  });

  test("makes no call any more once it is dead", async () => {
    const it = stage({});
    it.process.crash();
    void it.attempt();
    await it.time.runUntil(it.time.sleep(1_000), hourMs);
    expect(it.effectsAtMs).toEqual([]);
  });

  test("may stop at it: the call goes out, and the answer waits for it to wake", async () => {
    const it = stage({ "freeze-at-call": 1 });
    const { ends, atMs } = await outcomeOf(it);
    expect(ends).toBe("answer");
    expect(it.effectsAtMs[0]).toBeLessThan(latencyMs);
    expect(atMs).toBeGreaterThanOrEqual(20);
    expect(atMs).toBeLessThanOrEqual(30 * 60_000);
  });

  test("may stop just before it, and then the call goes out when it wakes", async () => {
    const it = stage({ "freeze-before-call": 1 });
    const moments: number[] = [];
    for (let i = 0; i < 20; i += 1) {
      const beganMs = it.time.nowMs;
      const { ends, atMs } = await outcomeOf(it);
      expect(ends).toBe("answer");
      const sentMs = (it.effectsAtMs.at(-1) ?? 0) - beganMs;
      expect(atMs - beganMs - sentMs).toBeLessThan(latencyMs);
      moments.push(sentMs);
    }
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(20);
    expect(Math.max(...moments)).toBeLessThan(5 * 60_000);
  });

  test("that stopped for longer than a signature is good for has sent nothing", async () => {
    const it = stage({ "freeze-before-call": 1 });
    const ends = it.attempt().catch((error: unknown) => (error instanceof Error ? "failed" : ""));
    it.process.freeze(10 * 60_000);
    expect(await it.time.runUntil(ends, hourMs)).toBe("failed");
    expect(it.effectsAtMs).toEqual([]);
  });
});

describe("trouble with the log", () => {
  const block = { operation: "PutItem", target: "tidemark-test-log", partition: "shardId-0" };
  const others = [
    // The right to write includes that to spill.
    { ...block, partition: "spill#0660df2729eb00bf" },
    { operation: "Query", target: "tidemark-test-log" },
    { operation: "PutItem", target: "accounts" },
  ];

  test.each([
    ["append-denied", "AccessDeniedException"],
    ["log-throttled", "ProvisionedThroughputExceededException"],
  ] as const)("%s meets blocks that are put, and nothing else", async (fault, error) => {
    const it = stage({ [fault]: 1 });
    await it.time.runUntil(it.time.sleep(1_001), hourMs);
    const end = (call: Partial<ServiceCall>) =>
      it.time.runUntil(
        it.link
          .try(it.process, { ...it.call, ...call }, undefined)
          .catch((thrown: unknown) => (thrown instanceof Error ? thrown.name : thrown)),
        hourMs,
      );
    const met = new Set<unknown>();
    for (let i = 0; i < 10; i += 1) met.add(await end(block));
    expect(met).toContain(error);
    for (const other of others) expect(await end(other)).toBe("answer");
  });

  test("a function keeps the right that clients lose", async () => {
    const it = stage({ "append-denied": 1 });
    await it.time.runUntil(it.time.sleep(1_001), hourMs);
    const random = new SeededRandom("oracle");
    const parts = { name: "oracle", time: it.time, random, clockError: exactClock };
    const oracle = new SimulatedProcess({ ...parts, isAws: true });
    const put = it.link.try(oracle, { ...it.call, ...block }, undefined);
    expect(await it.time.runUntil(put, hourMs)).toBe("answer");
  });
});

describe("ordered trouble", () => {
  test("refuses calls until it is over", async () => {
    const it = stage({});
    it.trouble.refuse("dynamodb", 100);
    expect((await outcomeOf(it)).ends).toBe("ProvisionedThroughputExceededException");
    await it.time.runUntil(it.time.sleep(100), hourMs);
    expect((await outcomeOf(it)).ends).toBe("answer");
  });

  test("slows calls of its service by its factor, and no others", async () => {
    const it = stage({});
    it.trouble.slow("kinesis", { durationMs: 100, factor: 7 });
    expect((await outcomeOf(it)).atMs).toBe(latencyMs);
    it.trouble.slow("dynamodb", { durationMs: 100, factor: 7 });
    expect((await outcomeOf(it)).atMs).toBe(latencyMs + 7 * latencyMs);
    it.trouble.clear();
    expect((await outcomeOf(it)).atMs).toBe(latencyMs + 8 * latencyMs);
  });
});
