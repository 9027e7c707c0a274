/**
 * Each workload's judge: content with what its own steps leave, and not with a state that breaks
 * its promise.
 */
import { describe, expect, test } from "vitest";
import { sweep } from "../harness/sweep.ts";
import { baseDamages, put, type Case, type Damage } from "./base-damages.ts";
import { nativeDamages } from "./native-damages.ts";
import { RunnerFleet } from "../../simulation/base/runner-fleet.ts";
import { Operator } from "../../simulation/operator.ts";
import { planOf } from "../../simulation/seed-plan.ts";
import {
  workloadNames,
  workloads,
  type WorkloadName,
} from "../../simulation/workloads/catalogue.ts";
import {
  WorkloadFinding,
  type Client,
  type Workload,
  type WorkloadSettings,
} from "../../simulation/workloads/workload.ts";
import { BaseOpenError, defineTable, UnavailableError } from "../../sdk/index.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";

const settings: WorkloadSettings = { keys: 4, history: true, isolation: "serializable" };
const steps = 25;
/** Those of BASE transactions come on top. */
const baseSteps = 10;
const releasedMsMax = 10 * 60_000;

/** No REST service runs here: what is judged is what stands in the tables. */
const unanswered = (): Promise<undefined> => Promise.resolve(undefined);

/** Ways to break a workload's promise by a transaction that knows nothing of it. */
const damages: { readonly [Name in WorkloadName]: readonly Case[] } = {
  ...baseDamages,
  ...nativeDamages,
  bank: [
    {
      promise: "no money is made",
      damage: (tx) => {
        put(tx, "accounts", { id: "account-0", balance: 1_000 });
      },
      complaint: /hold .* of 400/u,
    },
    {
      promise: "no account is overdrawn",
      damage: async (tx) => {
        const accounts = defineTable<{ balance: number }>("accounts");
        const [a, b] = await tx.batchGet(accounts, ["account-0", "account-1"]);
        tx.put(accounts, "account-0", { balance: -1 });
        tx.put(accounts, "account-1", { balance: (a?.balance ?? 0) + (b?.balance ?? 0) + 1 });
      },
      complaint: /overdrawn/u,
    },
  ],
  "rest-transfers": [
    {
      promise: "no money is lost",
      damage: (tx) => {
        put(tx, "purses", { id: "purse-0", cents: 0 });
      },
      complaint: /hold .* of 400/u,
    },
  ],
  "ticket-sale": [
    {
      promise: "no seat is sold twice",
      damage: (tx) => {
        for (const slot of [7, 8]) {
          put(tx, "orders", { customer: "c", slot, event: "event-0", seats: [0] });
        }
      },
      complaint: /event-0\/0 is sold twice/u,
    },
    {
      promise: "revenue is the price of the seats sold",
      damage: (tx) => {
        put(tx, "payments", { order: "nobody/0", cents: 1 });
      },
      complaint: /seats are sold, .* cents/u,
    },
    {
      promise: "a sold seat belongs to an order",
      damage: (tx) => {
        put(tx, "seats", { event: "event-1", seat: 3, order: "nobody/0" });
      },
      complaint: /event-1\/3 is not of the order/u,
    },
  ],
  "key-cycle": [
    {
      promise: "there is one ring",
      damage: (tx) => {
        put(tx, "ring", { id: 0, next: 0 });
      },
      complaint: /the ring of 12 closes after 1$/u,
    },
    {
      promise: "no node is missing",
      damage: (tx) => {
        tx.delete(defineTable<object, number>("ring"), 5);
      },
      complaint: /the ring of 12/u,
    },
  ],
  "list-append": [
    {
      promise: "no acknowledged element is lost",
      damage: async (tx) => {
        for (const row of await tx.scan(defineTable<object, { id: string }>("lists")).all()) {
          put(tx, "lists", { id: row.id, elements: [] });
        }
      },
      complaint: /has lost the acknowledged element/u,
    },
    {
      promise: "an element is there once",
      damage: (tx) => {
        put(tx, "lists", { id: "list-0", elements: ["x", "x"] });
      },
      complaint: /list-0 (?:holds an element twice|has been read with two different)/u,
    },
  ],
  register: [
    {
      promise: "no acknowledged increment is lost",
      damage: (tx) => {
        put(tx, "counters", { id: "counter-0", value: -1 });
      },
      complaint: /counter-0 is -1; /u,
    },
    {
      promise: "nothing is counted twice",
      damage: async (tx) => {
        const counters = defineTable<{ value: number }>("counters");
        await tx.update(counters, "counter-1", (row) => ({ value: (row?.value ?? 0) + 1 }));
      },
      complaint: /counter-1 is /u,
    },
  ],
  "write-skew": [
    {
      promise: "one doctor of two stays",
      damage: (tx) => {
        for (const doctor of [0, 1]) {
          put(tx, "shifts", { ward: "ward-1", doctor, onCall: 0 });
        }
      },
      complaint: /nobody is on call in ward-1/u,
    },
  ],
  phantom: [
    {
      promise: "no room has more bookings than its limit",
      damage: (tx) => {
        for (const slot of [0, 1, 2, 3]) {
          put(tx, "bookings", { room: "room-0", slot, by: "x" });
        }
      },
      complaint: /room-0 has \d bookings/u,
    },
  ],
  "long-scan": [
    {
      promise: "no unit is lost",
      damage: async (tx) => {
        const stock = defineTable<{ units: number }, { shelf: string; place: Uint8Array }, "shelf">(
          "stock",
        );
        const [row] = await tx.query(stock, { where: { shelf: "shelf-0" } }).all();
        if (row !== undefined) tx.delete(stock, row);
      },
      complaint: /there are \d+ of 20 units/u,
    },
  ],
  reinsert: [
    {
      promise: "no old incarnation comes back",
      damage: (tx) => {
        const key = { shelf: "shelf-0", cell: Uint8Array.of(0xff, 0) };
        put(tx, "cells", { ...key, incarnation: 1 });
        put(tx, "incarnations", { name: "shelf-0/0", last: 2 });
      },
      complaint: /shelf-0\/0 is of incarnation 1; the last is 2/u,
    },
    {
      promise: "an acknowledged incarnation is not forgotten",
      damage: async (tx) => {
        const numbers = defineTable<object, { name: string }>("incarnations");
        for (const { name } of await tx.scan(numbers).all()) tx.delete(numbers, name);
      },
      complaint: /had reached incarnation/u,
    },
  ],
  idempotency: [
    {
      promise: "no job is done twice",
      damage: (tx) => {
        for (const attempt of [10, 11]) {
          put(tx, "receipts", { job: "job-0", attempt, value: 1 });
        }
      },
      complaint: /job-0 was done [23] times/u,
    },
    {
      promise: "an acknowledged job is done",
      damage: async (tx) => {
        const receipts = defineTable<object, { job: string; attempt: number }, "job">("receipts");
        for (const row of await tx.query(receipts, { where: { job: "job-0" } }).all()) {
          tx.delete(receipts, row);
        }
      },
      complaint: /job-0 was acknowledged, and is not done/u,
    },
    {
      promise: "each job counts once",
      damage: (tx) => {
        put(tx, "totals", { id: "total-0", jobs: 1_000 });
      },
      complaint: /total-0 counts 1000 jobs of/u,
    },
  ],
  "mixed-levels": [
    {
      promise: "nobody owes on both accounts together",
      damage: (tx) => {
        put(tx, "checking", { customer: "customer-1", balance: -100_000 });
      },
      complaint: /customer-1 owes/u,
    },
    {
      promise: "a statement is of one writer",
      damage: (tx) => {
        put(tx, "statements", { customer: "customer-0", by: "a", copy: "b" });
      },
      complaint: /the statement of customer-0 is of two writers/u,
    },
  ],
  "large-payload": [
    {
      promise: "a group is of one generation",
      damage: (tx) => {
        put(tx, "pages", {
          ...{ group: "few-0", row: 1, generation: 99, by: "x", filler: "x 1 x" },
        });
      },
      complaint: /few-0 is of /u,
    },
    {
      promise: "no row is missing",
      damage: (tx) => {
        tx.delete(defineTable<object, { group: string; row: number }>("pages"), {
          group: "many",
          row: 17,
        });
      },
      complaint: /many has 119 of 120 rows/u,
    },
  ],
  past: [
    {
      promise: "both rows of a pair are of one writer",
      damage: (tx) => {
        put(tx, "pairs", { pair: "pair-0", side: "left", by: "x" });
      },
      complaint: /pair-0 is torn: x left/u,
    },
    {
      promise: "both rows of a pair stand, or neither",
      damage: (tx) => {
        put(tx, "pairs", { pair: "pair-1", side: "left", by: "x" });
        tx.delete(defineTable<object, { pair: string; side: string }>("pairs"), {
          pair: "pair-1",
          side: "right",
        });
      },
      complaint: /pair-1 is torn: x left, nothing right/u,
    },
  ],
  convoys: [
    {
      promise: "the rows of a convoy tell one number",
      damage: (tx) => {
        put(tx, "convoys", { convoy: "convoy-0", part: "left", n: 99, by: "x" });
      },
      complaint: /convoy-0 was seen with left 99 by x/u,
    },
    {
      promise: "a note is there while the number is odd",
      damage: (tx) => {
        for (const part of ["left", "right", "note"]) {
          put(tx, "convoys", { convoy: "convoy-0", part, n: 1_000, by: "x" });
        }
      },
      complaint: /note 1000 by x/u,
    },
    {
      promise: "no advance is lost",
      damage: (tx) => {
        for (const part of ["left", "right"]) {
          put(tx, "convoys", { convoy: "convoy-0", part, n: 0, by: "x" });
        }
        tx.delete(defineTable<object, { convoy: string; part: string }>("convoys"), {
          convoy: "convoy-0",
          part: "note",
        });
      },
      complaint: /convoy-0 is at 0; \d+ advances were acknowledged/u,
    },
  ],
};

/** A BASE transaction's runners take their time. */
const damagesTried = (name: WorkloadName): readonly Case[] =>
  damages[name].slice(0, name.startsWith("base-") ? sweep(1, Number.MAX_SAFE_INTEGER) : undefined);

describe.each(workloadNames)("workload %s", (name) => {
  test("its judge has no complaint after its own steps", async () => {
    const { run, judge } = await stage(name, settings);
    await run(steps);
    await expect(judge()).resolves.toEqual([]);
  });

  test.each(damagesTried(name))(
    "its judge complains unless $promise",
    async ({ damage, complaint }) => {
      const { run, judge, harm } = await stage(name, settings);
      await run(steps);
      await harm(damage);
      expect((await judge()).join("\n")).toMatch(complaint);
    },
  );
});

describe.each([
  ["write-skew", "write-skew"],
  ["phantom", "phantom"],
] as const)("workload %s under snapshot isolation", (name, anomaly) => {
  test("counts what it sees instead of complaining, since the level allows it", async () => {
    const [first] = damages[name];
    const { workload, run, judge, harm } = await stage(name, {
      ...settings,
      isolation: "snapshot",
    });
    await run(steps);
    await harm(first?.damage ?? (() => undefined));
    await expect(judge()).resolves.toEqual([]);
    expect(workload.observations?.()[anomaly]).toBeGreaterThan(0);
  });
});

test("a step throws a finding when it meets a broken state", async () => {
  const { run, harm } = await stage("key-cycle", settings);
  await harm((tx) => {
    for (const id of Array.from({ length: 12 }).keys()) put(tx, "ring", { id, next: id });
  });
  await expect(run(1)).rejects.toThrow(WorkloadFinding);
});

test("every workload is drawn by some seed", () => {
  const drawn = new Set(Array.from({ length: 300 }, (_unused, seed) => planOf(seed).workload));
  expect([...drawn].sort()).toEqual([...workloadNames].sort());
});

type Stage = {
  readonly workload: Workload;
  /** Takes so many steps, one after another. */
  readonly run: (count: number) => Promise<void>;
  readonly judge: () => Promise<readonly string[]>;
  readonly harm: (damage: Damage) => Promise<void>;
};

async function stage(name: WorkloadName, wanted: WorkloadSettings): Promise<Stage> {
  const workload = workloads[name](wanted);
  const cloud: TestCloud = await createTestCloud({ seed: name, tables: workload.tables });
  const process = cloud.startProcess();
  const client: Client = process.client;
  const random = new SeededRandom(name);
  await cloud.run(() => workload.setUp(client));
  const pause = (durationMs: number): Promise<void> => cloud.clock.sleep(durationMs);
  const suspend = (durationMs: number): Promise<void> => {
    process.freeze(durationMs, "stand");
    return process.clock.sleep(1);
  };
  const isolation = wanted.isolation === "snapshot" ? "snapshot" : "serializable";
  const operator = new Operator(cloud);
  const given = { client, random, isolation, pause, suspend, operator } as const;
  const fixed = { ...given, rest: unanswered } as const;
  const { base: part } = workload;
  const ignore = (): void => undefined;
  return {
    workload,
    run: (count) =>
      cloud.run(async () => {
        const parts = { cloud, clientOptions: () => ({}), onCrash: ignore };
        const runners = part && new RunnerFleet({ ...parts, part });
        runners?.start();
        const stepsMax = part === undefined ? count : Math.min(count, baseSteps);
        for (let step = 0; step < stepsMax; step += 1) {
          const unique = `step-${step.toString()}`;
          const context = { ...fixed, unique, nowMs: () => process.clock.nowMs() };
          await workload.step(context).catch((error: unknown) => {
            // Until somebody lets go on what is parked: met, or waited for.
            const isParked = error instanceof BaseOpenError || error instanceof UnavailableError;
            if (!isParked) throw error;
          });
        }
        expect((await runners?.untilReleased(client, releasedMsMax)) ?? []).toEqual([]);
        runners?.stop();
      }),
    judge: () => cloud.run(() => workload.judge(client)),
    harm: (damage) =>
      cloud.run(async () => {
        await client.transact(async (tx) => {
          await damage(tx);
        });
      }),
  };
}
