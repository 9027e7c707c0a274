/**
 * The log lets go of its oldest blocks. Whoever certified an express block and then slept for
 * longer than that would find its position free: the block would stand where another has been.
 */
import { expect, test } from "vitest";
import type { CommitLog } from "../../core/ports.ts";
import { createClientEngine } from "../../engine/client-engine.ts";
import type { ClientEngine } from "../../engine/types.ts";
import { CommitUnknownError, defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import type { TestProcess } from "../../testing/index.ts";
import { keyOf, numberIn } from "../engine/express/counting-engine.ts";

const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});
const tables = [testTable("counters", { partitionKey: "id" })];
const dayMs = 24 * 3_600_000;
/** Longer than the log keeps blocks. */
const asleepMs = 9 * dayMs;

type Client = TestProcess["client"];

async function increment(client: Client, id: string): Promise<"committed" | "open"> {
  return ended(
    client.transact({ deadlineMs: 60_000 }, async (tx) => {
      const n = (await tx.get(counters, id))?.n ?? 0;
      tx.put(counters, { id, n: n + 1 });
    }),
  );
}

async function ended(transaction: Promise<unknown>): Promise<"committed" | "open"> {
  try {
    await transaction;
    return "committed";
  } catch (error) {
    if (error instanceof CommitUnknownError) return "open";
    throw error;
  }
}

async function incrementBy(engine: ClientEngine, id: string): Promise<void> {
  await engine.transact({ deadlineMs: 60_000 }, async (tx) => {
    const n = numberIn(await tx.get("counters", keyOf(id)));
    tx.put("counters", { ...keyOf(id), n: { N: (n + 1).toString() } });
  });
}

test("asleep for nine days before a certified block is put: every increment counts", async () => {
  const cloud = await createTestCloud({ tables });
  cloud.seed(counters, [{ id: "x", n: 0 }]);
  const sleepy = cloud.world.startProcess("sleepy", { exact: true });
  const ports = cloud.deployment.clientPortsOf(sleepy);
  let sleepsNext = false;
  let puts = 0;
  // Certified, and not signed yet.
  const append: CommitLog["append"] = async (...args) => {
    puts += 1;
    if (sleepsNext) {
      sleepsNext = false;
      sleepy.freeze(asleepMs, "stand");
      await sleepy.clock.sleep(1);
    }
    if (ports.log.append === undefined) throw new Error("this cloud has no append");
    return ports.log.append(...args);
  };
  const engine = createClientEngine(
    { ...ports, log: { ...ports.log, append } },
    { commit: "express", chaining: false },
  );
  const other = cloud.createClient("other");
  const end = await cloud.run(
    async () => {
      await incrementBy(engine, "warm");
      sleepsNext = true;
      const asleep = ended(incrementBy(engine, "x"));
      await cloud.clock.sleep(60_000);
      for (let i = 0; i < 5; i += 1) await increment(other, "x");
      await cloud.clock.sleep(asleepMs + 120_000);
      return asleep;
    },
    { limitMs: asleepMs + 3 * dayMs },
  );
  await cloud.settled();
  expect(puts).toBeGreaterThan(1);
  const n = cloud.rows(counters).find(({ id }) => id === "x")?.n;
  expect(end === "committed" ? [6] : [5, 6]).toContain(n);
}, 120_000);

test("a block outlives its maker's clock, however slow that is", async () => {
  const cloud = await createTestCloud({ tables });
  const app = cloud.startProcess("app", {
    commit: "express",
    clockOffsetMs: -asleepMs,
    onEvent: ({ kind }) => {
      if (kind === "certified") app.crash();
    },
  });
  const other = cloud.createClient("other");
  await cloud.run(async () => {
    await increment(other, "before");
    cloud.pauseReplay();
    void increment(app.client, "x").catch(() => undefined);
    await cloud.clock.sleep(180_000);
    cloud.resumeReplay();
    await cloud.clock.sleep(120_000);
    expect(await increment(other, "after")).toBe("committed");
  });
  await cloud.settled();
  expect(cloud.rows(counters)).toContainEqual({ id: "x", n: 1 });
});
