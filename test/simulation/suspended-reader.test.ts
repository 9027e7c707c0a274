/**
 * I8 against a machine that sleeps: found by the formal model (model/README.md). A reader whose
 * timers stand still must not go on when the tombstone that it should have met is gone.
 */
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const items = defineTable<{ readonly id: string; readonly n: number }>("items", {
  key: "id",
});

test("I8: a reader suspended past the reaper's grace reads nothing of its old time", async () => {
  const cloud = await createTestCloud({
    tables: [testTable("items", { partitionKey: "id" })],
    historyRetentionMs: 15 * 60_000,
  });
  const reader = cloud.startProcess("reader");
  const writer = cloud.createClient("writer");
  const seen: (readonly [string, boolean])[] = [];
  await cloud.run(async () => {
    await writer.transact((tx) => {
      tx.put(items, "a", { id: "a", n: 1 });
      tx.put(items, "b", { id: "b", n: 1 });
      return Promise.resolve();
    });
    // Replay has passed it and the reader's tail knows: from here on the tables alone say what
    // stands there.
    await cloud.world.time.sleep(20_000);
    await reader.client.snapshot((snapshot) => snapshot.get(items, "b"));
    await cloud.world.time.sleep(20_000);
    const reading = reader.client.snapshot(async (snapshot) => {
      seen.push(["a", (await snapshot.get(items, "a")) !== undefined]);
      if (snapshot.attempt === 1) await reader.clock.sleep(100);
      seen.push(["b", (await snapshot.get(items, "b")) !== undefined]);
    });
    await cloud.world.time.sleep(90);
    reader.freeze(40 * 60_000, "stand");
    // The reader has seen "a" beside "b"; from here on there is no "b", and later no trace of it.
    await writer.transact((tx) => {
      tx.put(items, "a", { id: "a", n: 2 });
      tx.delete(items, "b");
      return Promise.resolve();
    });
    await reading;
  });
  expect(seen[0]).toEqual(["a", true]);
  expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);
  // The first attempt ended without an answer on "b"; the second one is of the time after.
  expect(seen).toEqual([
    ["a", true],
    ["a", true],
    ["b", false],
  ]);
});
