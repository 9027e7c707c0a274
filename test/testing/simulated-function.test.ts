/** A function as Lambda runs it: instances, what is frozen when, and what is ended how. */
import { expect, test } from "vitest";
import { Faults, type FaultPlan } from "../../testing/kernel/faults.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import {
  InvocationFailedError,
  SimulatedFunction,
  type Handler,
} from "../../testing/kernel/simulated-function.ts";
import { exactClock, SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import { Trace } from "../../testing/kernel/trace.ts";
import { VirtualTime } from "../../testing/kernel/virtual-time.ts";

const hourMs = 3600_000;
const timeLimitMs = 60_000;
/** Instances start within it. */
const coldStartMsMax = 1_500;

function stage(
  plan: FaultPlan,
  start: (process: SimulatedProcess) => Handler<string, string>,
): { time: VirtualTime; fn: SimulatedFunction<string, string>; instances: SimulatedProcess[] } {
  const time = new VirtualTime(0);
  const random = new SeededRandom("function");
  const faults = new Faults({ plan, random: random.fork("faults"), onStrike: () => undefined });
  const instances: SimulatedProcess[] = [];
  const fn = new SimulatedFunction<string, string>(
    { name: "f", timeLimitMs, start },
    {
      time,
      faults,
      random,
      trace: new Trace({ keepLines: false }),
      startProcess: (name) => {
        const process = new SimulatedProcess({ name, time, random, clockError: exactClock });
        instances.push(process);
        return process;
      },
    },
  );
  return { time, fn, instances };
}

test("a first invocation waits for an instance, and later ones find it warm", async () => {
  let started = 0;
  const { time, fn, instances } = stage({}, () => {
    started += 1;
    return (event) => Promise.resolve(`${event} by ${started.toString()}`);
  });
  expect(await time.runUntil(fn.invoke("a"), hourMs)).toBe("a by 1");
  const coldMs = time.nowMs;
  expect(coldMs).toBeGreaterThan(100);
  expect(coldMs).toBeLessThanOrEqual(coldStartMsMax);
  expect(await time.runUntil(fn.invoke("b"), hourMs)).toBe("b by 1");
  expect(time.nowMs).toBe(coldMs);
  expect(instances).toHaveLength(1);
});

test("invocations at the same time have an instance each", async () => {
  const { time, fn, instances } = stage({}, ({ clock, name }) => async () => {
    await clock.sleep(5_000);
    return name;
  });
  const names = await time.runUntil(Promise.all([fn.invoke("a"), fn.invoke("b")]), hourMs);
  expect(names).toEqual(["f.1", "f.2"]);
  await time.runUntil(Promise.all([fn.invoke("c"), fn.invoke("d")]), hourMs);
  expect(instances).toHaveLength(2);
});

test("a lost instance is replaced by a new one", async () => {
  const { time, fn, instances } = stage(
    { "cold-start": 1 },
    ({ name }) =>
      () =>
        Promise.resolve(name),
  );
  expect(await time.runUntil(fn.invoke("a"), hourMs)).toBe("f.1");
  expect(await time.runUntil(fn.invoke("b"), hourMs)).toBe("f.2");
  expect(instances.map(({ state }) => state)).toEqual(["dead", "frozen"]);
});

test("what goes on after an answer stands still until the next invocation", async () => {
  const done: number[] = [];
  const { time, fn } = stage({}, ({ clock }) => async (event) => {
    if (event === "leaves work") void clock.sleep(100).then(() => done.push(time.nowMs));
    else await clock.sleep(50);
    return event;
  });
  await time.runUntil(fn.invoke("leaves work"), hourMs);
  await time.runUntil(time.sleep(10 * 60_000), hourMs);
  expect(done).toEqual([]);
  const againMs = time.nowMs;
  await time.runUntil(fn.invoke("next"), hourMs);
  expect(done).toEqual([againMs]);
});

test("an invocation past its time limit is ended, and fails", async () => {
  const remaining: number[] = [];
  let wentOn = false;
  const { time, fn, instances } = stage({}, ({ clock }) => async (event, { remainingMs }) => {
    remaining.push(remainingMs());
    await clock.sleep(timeLimitMs - 1);
    remaining.push(remainingMs());
    await clock.sleep(1_000);
    wentOn = true;
    return event;
  });
  const failed = fn.invoke("slow").catch((error: unknown) => error);
  expect(await time.runUntil(failed, hourMs)).toBeInstanceOf(InvocationFailedError);
  expect(time.nowMs).toBeLessThanOrEqual(timeLimitMs + coldStartMsMax);
  await time.runUntil(time.sleep(hourMs), 2 * hourMs);
  expect({ remaining, wentOn }).toEqual({ remaining: [timeLimitMs, 1], wentOn: false });
  expect(instances[0]?.state).toBe("dead");
});

test("an instance that exits fails its invocation", async () => {
  const { time, fn } = stage({}, (process) => async (event) => {
    if (event === "exits") process.crash();
    await process.clock.sleep(1);
    return process.name;
  });
  const failed = fn.invoke("exits").catch((error: unknown) => error);
  expect(await time.runUntil(failed, hourMs)).toBeInstanceOf(InvocationFailedError);
  expect(await time.runUntil(fn.invoke("goes on"), hourMs)).toBe("f.2");
});

test("what a handler throws reaches its caller, and the instance stays", async () => {
  const { time, fn, instances } = stage(
    {},
    () => (event) =>
      event === "bad" ? Promise.reject(new RangeError("bad event")) : Promise.resolve(event),
  );
  await expect(time.runUntil(fn.invoke("bad"), hourMs)).rejects.toThrow("bad event");
  expect(await time.runUntil(fn.invoke("good"), hourMs)).toBe("good");
  expect(instances).toHaveLength(1);
});

test("an invocation that stops wakes up minutes later, beside its successor", async () => {
  const steps: string[] = [];
  const { time, fn } = stage({ "frozen-invocation": 1 }, ({ clock, name }) => async (event) => {
    steps.push(`${name} begins`);
    await clock.sleep(1_000);
    steps.push(`${name} ends`);
    return event;
  });
  const failed = fn.invoke("a").catch((error: unknown) => error);
  expect(await time.runUntil(failed, hourMs)).toBeInstanceOf(InvocationFailedError);
  const againFailed = fn.invoke("a").catch((error: unknown) => error);
  await time.runUntil(againFailed, hourMs);
  expect(steps).toEqual(["f.1 begins", "f.2 begins"]);
  await time.runUntil(time.sleep(hourMs), 2 * hourMs);
  expect([...steps].sort()).toEqual(["f.1 begins", "f.1 ends", "f.2 begins", "f.2 ends"]);
});
