/**
 * The log lets go of its oldest blocks. Whoever certified an express block and then slept for
 * longer than that would find its position free: the block would stand where another has been.
 */
import { expect, test } from "vitest";
import { CommitUnknownError, defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import type { TestProcess } from "../../testing/index.ts";

const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});
const tables = [testTable("counters", { partitionKey: "id" })];
const dayMs = 24 * 3_600_000;
/** Longer than the log keeps blocks. */
const asleepMs = 9 * dayMs;

type Client = TestProcess["client"];

async function increment(client: Client, id: string): Promise<"committed" | "open"> {
  try {
    await client.transact({ deadlineMs: 60_000 }, async (tx) => {
      const n = (await tx.get(counters, id))?.n ?? 0;
      tx.put(counters, { id, n: n + 1 });
    });
    return "committed";
  } catch (error) {
    if (error instanceof CommitUnknownError) return "open";
    throw error;
  }
}

test("asleep for nine days before a certified block is put: every increment counts", async () => {
  const cloud = await createTestCloud({
    tables,
    latency: ({ operation }) => (operation === "PutItem" ? 100 : 5),
  });
  cloud.seed(counters, [{ id: "x", n: 0 }]);
  let isArmed = false;
  const app = cloud.startProcess("app", {
    commit: "express",
    chaining: false,
    onEvent: ({ kind }) => {
      if (kind !== "sent" || !isArmed) return;
      isArmed = false;
      void cloud.clock.sleep(60).then(() => {
        app.freeze(asleepMs, "stand");
      });
    },
  });
  const other = cloud.createClient("other");
  const end = await cloud.run(
    async () => {
      await increment(app.client, "warm");
      isArmed = true;
      // The second is certified when the first's put is answered, and waits for it until then.
      const first = increment(app.client, "y");
      await cloud.clock.sleep(12);
      const second = increment(app.client, "x");
      await cloud.clock.sleep(60_000);
      for (let i = 0; i < 5; i += 1) await increment(other, "x");
      await cloud.clock.sleep(asleepMs + 120_000);
      await first;
      return second;
    },
    { limitMs: asleepMs + 3 * dayMs },
  );
  await cloud.settled();
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
