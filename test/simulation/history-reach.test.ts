/**
 * Reads in the past at the edges of what is kept: where history begins, where it ends, and while
 * either moves. A row that stood at the moment asked for is never said to be absent: it is there,
 * or the moment lies too far back.
 */
import { describe, expect, test } from "vitest";
import { registerTables } from "../../aws/register-tables.ts";
import * as limits from "../../core/limits.ts";
import { reap } from "../../functions/reaper/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { defineTable, SnapshotTooOldError, type Client } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const minuteMs = 60_000;

/** A commit's timestamp may lie some milliseconds back, and what it is held against must not. */
const laterMs = 1_000;

async function cloudWith(history: boolean, historyRetentionMs?: number): Promise<TestCloud> {
  const cloud = await createTestCloud({
    tables: [testTable(items, { partitionKey: "id", history })],
    ...(historyRetentionMs === undefined ? {} : { historyRetentionMs }),
  });
  await cloud.advance(laterMs);
  return cloud;
}

async function put(client: Client, n: number): Promise<number> {
  const { receipt } = await client.transact((tx) => {
    tx.put(items, { id: "a", n });
    return Promise.resolve();
  });
  return receipt.commitTimestamp ?? 0;
}

async function remove(client: Client): Promise<number> {
  const { receipt } = await client.transact((tx) => {
    tx.delete(items, "a");
    return Promise.resolve();
  });
  return receipt.commitTimestamp ?? 0;
}

/** What a reader says of the row at a moment: its number, "absent", or that it cannot know. */
async function look(
  client: Client,
  asOf: number,
  options: { readonly begun?: () => Promise<void> } = {},
): Promise<number | "absent" | "too old"> {
  try {
    const row = await client.snapshot({ asOf, attemptsMax: 1, deadlineMs: 60_000 }, async (s) => {
      await options.begun?.();
      return s.get(items, "a");
    });
    return row?.n ?? "absent";
  } catch (error) {
    if (error instanceof SnapshotTooOldError) return "too old";
    throw error;
  }
}

async function setHistory(cloud: TestCloud, history: boolean): Promise<void> {
  const operator = cloud.world.startProcess("history operator", { exact: true });
  const handles = cloud.world.handles(operator, { calm: true });
  await registerTables({ handles, clock: operator.clock, deployment: "test" }, [
    {
      name: "items",
      partitionKey: { name: "id", type: "S" },
      history,
      access: "transactional",
    },
  ]);
}

async function setRetention(cloud: TestCloud, retentionMs: number): Promise<void> {
  const operator = cloud.world.startProcess("retention operator", { exact: true });
  const ports = cloud.deployment.portsOf(operator, { calm: true });
  await ports.control.retainHistory(retentionMs);
}

/** A run of the reaper at this very moment. */
async function reapNow(cloud: TestCloud): Promise<void> {
  const process = cloud.world.startProcess("reaper of the test", { exact: true });
  const ports = cloud.deployment.portsOf(process, { calm: true });
  await reap({
    ports,
    observability: silentObservability,
    budget: { remainingMs: () => minuteMs },
  });
}

describe("history that is switched on for a used table", () => {
  test("does not reach back to what was deleted and reaped before", async () => {
    const cloud = await cloudWith(false);
    const app = cloud.createClient("app");
    await cloud.run(async () => {
      const stood = await put(app, 1);
      await remove(app);
      // The grace, and two of the reaper's visits: one to sample the watermark, one to believe it.
      await cloud.clock.sleep(40 * minuteMs);
      expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);
      await setHistory(cloud, true);
      await cloud.clock.sleep(2 * minuteMs);
      const fresh = cloud.createClient("fresh");
      expect(await look(fresh, stood)).toBe("too old");
      await expect(
        fresh.snapshot({ asOf: stood, attemptsMax: 1 }, (s) => s.get(items, "a")),
      ).rejects.toThrow(/history of table "items" begins at \d+/);
    });
  });

  test("is complete from its beginning on, and not before", async () => {
    const cloud = await cloudWith(false);
    const app = cloud.createClient("app");
    await cloud.run(async () => {
      await setHistory(cloud, true);
      const early = await put(app, 1); // By a client that may not know yet.
      await cloud.clock.sleep(limits.historyChangeMs + laterMs);
      const stood = await put(app, 2);
      await remove(app);
      await cloud.clock.sleep(30 * minuteMs);
      expect(await look(app, stood)).toBe(2);
      expect(await look(app, early)).toBe("too old");
    });
  });

  test("begins anew when it was off in between", async () => {
    const cloud = await cloudWith(true);
    const app = cloud.createClient("app");
    await cloud.run(async () => {
      const stood = await put(app, 1);
      await setHistory(cloud, false);
      await cloud.clock.sleep(limits.historyChangeMs);
      await remove(app);
      await cloud.clock.sleep(25 * minuteMs);
      await setHistory(cloud, true);
      await cloud.clock.sleep(2 * minuteMs);
      expect(await look(cloud.createClient("fresh"), stood)).toBe("too old");
    });
  });
});

test("history that is switched off keeps its tombstones until every client knows", async () => {
  const cloud = await cloudWith(true);
  const app = cloud.createClient("app");
  const reader = cloud.createClient("reader");
  await cloud.run(async () => {
    const stood = await put(app, 1);
    await remove(app);
    // The tombstone is old enough for a table without history.
    await cloud.clock.sleep(40 * minuteMs);
    await look(reader, stood);
    await setHistory(cloud, false);
    await cloud.clock.sleep(30_000);
    await reapNow(cloud);
    expect(await look(reader, stood)).toBe(1); // It has not looked at the registry again.
    await cloud.clock.sleep(25 * minuteMs);
    expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);
    expect(await look(reader, stood)).toBe("too old");
  });
});

describe("the end of what is kept", () => {
  const retentionMs = limits.historyRetentionMsMin;

  test.each([0, -limits.clientClockErrorMsMax])(
    "is met by a reader that begins there, goes on for its age, and whose clock is off by %i ms",
    async (offsetMs) => {
      const cloud = await cloudWith(true, retentionMs);
      const app = cloud.createClient("app");
      const reader = cloud.startProcess("reader", { clockOffsetMs: offsetMs });
      await cloud.run(async () => {
        const sleepTo = (ms: number): Promise<void> => cloud.clock.sleep(ms - cloud.clock.nowMs());
        await put(app, 1);
        await sleepTo(cloud.world.startMs + 5 * minuteMs - 6_000);
        const asOf = cloud.clock.nowMs() * 1000;
        await remove(app);
        const begins = asOf / 1000 + retentionMs - offsetMs - 500;
        // The reader begins within what is kept, by its own clock, and reads as late as it may.
        await sleepTo(begins);
        const begun = (): Promise<void> => cloud.clock.sleep(50_000);
        expect(await look(reader.client, asOf, { begun })).toBe(1);
        await cloud.clock.sleep(30 * minuteMs);
        expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);
        expect(await look(reader.client, asOf)).toBe("too old");
      });
    },
  );

  test("is the deployment's, whatever a client was told", async () => {
    const cloud = await cloudWith(true, retentionMs);
    const app = cloud.createClient("app");
    await cloud.run(async () => {
      const stood = await put(app, 1);
      await remove(app);
      await cloud.clock.sleep(35 * minuteMs);
      expect(await look(cloud.createClient("new"), stood)).toBe("too old");
    });
  });

  test("comes nearer for a client that does not know yet only when it knows", async () => {
    const cloud = await cloudWith(true);
    const app = cloud.createClient("app");
    const reader = cloud.createClient("reader");
    await cloud.run(async () => {
      const stood = await put(app, 1);
      await remove(app);
      await cloud.clock.sleep(40 * minuteMs);
      await look(reader, stood);
      await setRetention(cloud, retentionMs);
      await cloud.clock.sleep(30_000);
      await reapNow(cloud);
      expect(await look(reader, stood)).toBe(1);
      await cloud.clock.sleep(25 * minuteMs);
      expect(await look(reader, stood)).toBe("too old");
      expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);
    });
  });

  test("goes back no further when the retention is lengthened than what was kept", async () => {
    const cloud = await cloudWith(true, retentionMs);
    const app = cloud.createClient("app");
    await cloud.run(async () => {
      const stood = await put(app, 1);
      await remove(app);
      await cloud.clock.sleep(35 * minuteMs);
      await setRetention(cloud, 4 * retentionMs);
      await cloud.clock.sleep(2 * minuteMs);
      const later = await put(app, 2);
      await remove(app);
      const fresh = cloud.createClient("fresh");
      expect(await look(fresh, stood)).toBe("too old");
      await cloud.clock.sleep(3 * retentionMs);
      expect(await look(fresh, later)).toBe(2);
    });
  });

  test("is not missed by a process whose machine slept while it came nearer", async () => {
    const cloud = await cloudWith(true);
    const app = cloud.createClient("app");
    const sleeper = cloud.startProcess("sleeper");
    await cloud.run(async () => {
      const stood = await put(app, 1);
      await remove(app);
      await look(sleeper.client, stood);
      await setRetention(cloud, retentionMs);
      // Its monotonic clock stands still: what it knows of the deployment seems to be of just now.
      sleeper.freeze(50 * minuteMs, "stand");
      await cloud.clock.sleep(50 * minuteMs + 1_000);
      expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);
      expect(await look(sleeper.client, stood)).toBe("too old");
    });
  });
});

test("I8: a stale snapshot of a machine that slept is not as old as its sleep", async () => {
  const cloud = await cloudWith(false);
  const app = cloud.createClient("app");
  const sleeper = cloud.startProcess("sleeper");
  await cloud.run(async () => {
    await put(app, 1);
    await cloud.clock.sleep(5_000);
    expect(await sleeper.client.snapshot((s) => s.get(items, "a"))).toMatchObject({ n: 1 });
    sleeper.freeze(40 * minuteMs, "stand");
    const removed = await remove(app);
    await cloud.clock.sleep(40 * minuteMs + 10);
    expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);
    // The row stood when it fell asleep: to say that it did not would be wrong of that moment.
    const { row, at } = await sleeper.client.snapshot({ maxStalenessMs: 60_000 }, async (s) => ({
      row: await s.get(items, "a"),
      at: s.readTimestamp,
    }));
    expect(row).toBeUndefined();
    expect(at).toBeGreaterThanOrEqual(removed);
  });
});
