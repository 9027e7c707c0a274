/**
 * A change of the registry is reckoned from a time and from what stands there. Both are those of
 * the moment at which it takes effect, however long its machine slept before, and whoever came
 * between.
 */
import { expect, test } from "vitest";
import { adoptTables } from "../../aws/register-tables.ts";
import * as limits from "../../core/limits.ts";
import { defineTable, SnapshotTooOldError, type Client } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const minuteMs = 60_000;
const retentionMs = limits.historyRetentionMsMin;

async function look(client: Client, asOf: number): Promise<number | "absent" | "too old"> {
  try {
    const row = await client.snapshot({ asOf, attemptsMax: 1, deadlineMs: 60_000 }, (s) =>
      s.get(items, "a"),
    );
    return row?.n ?? "absent";
  } catch (error) {
    if (error instanceof SnapshotTooOldError) return "too old";
    throw error;
  }
}

/** The row stood until this moment, and was deleted then. */
async function putAndDelete(cloud: TestCloud): Promise<number> {
  const app = cloud.createClient("app");
  const { receipt } = await app.transact((tx) => {
    tx.put(items, { id: "a", n: 1 });
    return Promise.resolve();
  });
  await app.transact((tx) => {
    tx.delete(items, "a");
    return Promise.resolve();
  });
  return receipt.commitTimestamp ?? 0;
}

test("an operator's machine that slept before its change was put", async () => {
  const cloud = await createTestCloud({
    tables: [testTable(items, { partitionKey: "id", history: true })],
    historyRetentionMs: retentionMs,
  });
  await cloud.run(async () => {
    const stood = await putAndDelete(cloud);
    await cloud.clock.sleep(minuteMs);
    const operator = cloud.world.startProcess("operator", { exact: true });
    const { control } = cloud.deployment.portsOf(operator, { calm: true });
    const changed = control.retainHistory(4 * 3600_000);
    await cloud.clock.sleep(1);
    operator.freeze(60 * minuteMs, "stand");
    await changed;
    expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);
    const { retention } = await control.registry();
    expect(retention.changedMs).toBeGreaterThan(cloud.clock.nowMs() - minuteMs);
    const reader = cloud.createClient("reader");
    expect(["too old", 1]).toContain(await look(reader, stood));
  });
});

/** The time of the freeze decides which call the sleeper wakes up in. */
test("a table adopted without a word on history keeps what it has by then", async () => {
  const answers: unknown[] = [];
  for (const frozenAtMs of [3, 6, 9, 12, 15, 18, 21, 24]) {
    const cloud = await createTestCloud({ tables: [testTable(items, { partitionKey: "id" })] });
    await cloud.run(async () => {
      const adopt = (name: string, history?: boolean) => {
        const process = cloud.world.startProcess(name, { exact: true });
        const handles = cloud.world.handles(process, { calm: true });
        const options = { handles, clock: process.clock, deployment: "test" };
        return { process, done: adoptTables(options, [{ name: "items", history }]) };
      };
      const starting = adopt("an application that starts");
      await cloud.clock.sleep(frozenAtMs);
      starting.process.freeze(2_000);
      expect(await adopt("operator", true).done).toMatchObject([{ history: true }]);
      answers.push((await starting.done)[0]?.history);
      const reader = cloud.world.startProcess("reader", { exact: true });
      const { control } = cloud.deployment.portsOf(reader, { calm: true });
      expect((await control.registry()).tables[0]?.history, `${frozenAtMs} ms`).toBe(true);
    });
  }
  // Asleep before its change, and behind it.
  expect(answers).toContain(true);
  expect(answers).toContain(false);
});
