/**
 * The clients of a run: how many transactions they begin, when they are through, and what they do
 * to keep the run in balance.
 */
import { describe, expect, test, vi } from "vitest";
import {
  CommitUnknownError,
  CorruptDataError,
  InvalidRequestError,
  UnavailableError,
} from "../../core/errors.ts";
import type { TransactionId } from "../../core/types.ts";
import type { Mood } from "../../simulation/balance.ts";
import { ClientFleet, ownRequestRefused } from "../../simulation/client-fleet.ts";
import type { RestService } from "../../simulation/rest-service.ts";
import { planOf } from "../../simulation/seed-plan.ts";
import type { StepContext } from "../../simulation/workloads/workload.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";
import type { TestProcess } from "../../testing/test-process.ts";

const unanswered = (): Promise<undefined> => Promise.resolve(undefined);
const rest = { callOf: () => unanswered } as unknown as RestService;

type Stage = {
  readonly cloud: TestCloud;
  readonly fleet: ClientFleet;
  readonly processes: readonly TestProcess[];
  readonly begun: readonly string[];
  readonly run: (durationMs: number) => Promise<void>;
};

async function stage(options: {
  readonly clients: number;
  readonly lanes?: number;
  readonly transactions: number;
  readonly mood?: () => Mood;
  readonly isNeeded?: () => boolean;
  readonly step?: (context: StepContext) => Promise<void>;
}): Promise<Stage> {
  const { clients, transactions, mood = () => "even", isNeeded = () => false } = options;
  const { step } = options;
  const cloud = await createTestCloud();
  const processes: TestProcess[] = [];
  const start = cloud.startProcess.bind(cloud);
  vi.spyOn(cloud, "startProcess").mockImplementation((...given) => {
    const process = start(...given);
    processes.push(process);
    return process;
  });
  const begun: string[] = [];
  const fleet = new ClientFleet({
    cloud,
    workload: {
      tables: [],
      setUp: () => Promise.resolve(),
      step: (context) => {
        begun.push(context.unique);
        return step?.(context) ?? Promise.resolve();
      },
      judge: () => Promise.resolve([]),
    },
    plan: { ...planOf(1), clients, lanes: options.lanes ?? 1, transactions, pauseMs: 10 },
    clientOptions: () => ({}),
    onCrash: () => undefined,
    rest,
    mood,
    isNeeded,
  });
  const run = (durationMs: number): Promise<void> => cloud.run(() => cloud.clock.sleep(durationMs));
  return { cloud, fleet, processes, begun, run };
}

describe("the clients of a run", () => {
  test("begin as many transactions as planned, each once, however many wait", async () => {
    const { fleet, begun, run } = await stage({ clients: 8, transactions: 13 });
    fleet.start();
    await run(10_000);
    expect(fleet.isIdle).toBe(true);
    expect(new Set(begun).size).toBe(13);
    expect([begun.length, fleet.counts.begun, fleet.counts.done]).toEqual([13, 13, 13]);
  });

  test("are not through because one that was through has crashed", async () => {
    const slowly = ({ unique, pause }: StepContext): Promise<void> =>
      unique.endsWith("/1") ? pause(60_000) : Promise.resolve();
    const { fleet, processes, begun, run } = await stage({
      clients: 2,
      transactions: 2,
      step: slowly,
    });
    fleet.start();
    await run(5_000);
    const slow = begun.find((unique) => unique.endsWith("/1"))?.startsWith("client-1/") ? 0 : 1;
    processes[1 - slow]?.crash();
    await run(5_000);
    expect([fleet.isIdle, fleet.counts.crashed, processes.length]).toEqual([false, 1, 2]);
    await run(60_000);
    expect(fleet.isIdle).toBe(true);
    // Nobody works in either any more; the second crash must not count as another client's end
    // either.
    processes[slow]?.crash();
    expect([fleet.isIdle, fleet.counts.crashed]).toEqual([true, 2]);
  });

  test("run as many transactions at a time as they have lanes, down to the last", async () => {
    let under = 0;
    let most = 0;
    const { fleet, begun, run } = await stage({
      clients: 2,
      lanes: 3,
      transactions: 30,
      step: async ({ pause, random }) => {
        under += 1;
        most = Math.max(most, under);
        await pause(random.between(500, 2_000));
        under -= 1;
      },
    });
    fleet.start();
    await run(5_000);
    expect(fleet.isIdle).toBe(false);
    await run(30_000);
    expect([most, under, begun.length, fleet.isIdle]).toEqual([6, 0, 30, true]);
  });

  test("that crash at work are replaced, and their transaction counts as begun once", async () => {
    const { fleet, processes, begun, run } = await stage({
      clients: 1,
      transactions: 3,
      step: ({ pause }) => pause(1_000),
    });
    fleet.start();
    await run(500);
    processes[0]?.crash();
    await run(20_000);
    expect(begun).toEqual(["client-1/1", "client-2/2", "client-2/3"]);
    expect([fleet.counts.begun, fleet.counts.done, fleet.isIdle]).toEqual([3, 2, true]);
  });

  test("count an error by its code, and keep the id of what ended open", async () => {
    const id = "0".repeat(32) as TransactionId;
    const errors = [new CommitUnknownError("open", id), new UnavailableError("down")];
    const { fleet, run } = await stage({
      clients: 1,
      transactions: 2,
      step: () => Promise.reject(errors.shift() ?? new Error("a third step")),
    });
    fleet.start();
    await run(10_000);
    expect(Object.fromEntries(fleet.counts.errors)).toEqual({
      "commit-unknown": 1,
      unavailable: 1,
    });
    expect([fleet.unknown, fleet.findings]).toEqual([[id], []]);
  });

  test("tell apart what is refused to the workload itself from what was never stored", async () => {
    const errors = [
      new InvalidRequestError("n", "attribute n has no value"),
      new CorruptDataError("stored bytes do not decode"),
    ];
    const { fleet, run } = await stage({
      clients: 1,
      transactions: 2,
      step: () => Promise.reject(errors.shift() ?? new Error("a third step")),
    });
    fleet.start();
    await run(10_000);
    expect(fleet.findings).toEqual([
      `client-1/1: ${ownRequestRefused}: InvalidRequestError: attribute n has no value`,
      "client-1/2: CorruptDataError: stored bytes do not decode",
    ]);
  });

  test("go on for what needs them, and end when it is over, or all the same", async () => {
    let isNeeded = true;
    const freed = await stage({ clients: 2, transactions: 10, isNeeded: () => isNeeded });
    freed.fleet.start();
    await freed.run(200);
    expect([freed.fleet.isIdle, freed.fleet.counts.begun > 10]).toEqual([false, true]);
    isNeeded = false;
    await freed.run(200);
    expect(freed.fleet.isIdle).toBe(true);
    expect(freed.fleet.counts.begun).toBeLessThan(60);
    const held = await stage({ clients: 2, transactions: 10, isNeeded: () => true });
    held.fleet.start();
    await held.run(10_000);
    expect([held.fleet.isIdle, held.fleet.counts.begun]).toEqual([true, 60]);
  });

  test("go on beyond the plan while the run is out of balance, and end all the same", async () => {
    let mood: Mood = "crowded";
    const first = await stage({ clients: 2, transactions: 10, mood: () => mood });
    first.fleet.start();
    await first.run(1);
    expect(first.fleet.counts.begun).toBeLessThan(60);
    await first.run(60_000);
    expect([first.fleet.counts.begun, first.fleet.isIdle]).toEqual([60, true]);
    const second = await stage({
      clients: 2,
      transactions: 10,
      mood: () => mood,
      step: ({ unique }) => {
        if (unique.endsWith("/15")) mood = "even";
        return Promise.resolve();
      },
    });
    mood = "spread";
    second.fleet.start();
    await second.run(600_000);
    expect([second.fleet.counts.begun, second.fleet.isIdle]).toEqual([15, true]);
  });
});
