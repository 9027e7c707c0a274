/**
 * What is kept begins where a change of the registry says. A reaper that goes by an older registry
 * must reckon by a time that is older still.
 */
import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { reap } from "../../functions/reaper/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
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

function newCloud(): Promise<TestCloud> {
  return createTestCloud({
    tables: [testTable(items, { partitionKey: "id", history: true })],
    historyRetentionMs: retentionMs,
  });
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

test("a reaper held up after it read the registry, and a slow operator", async () => {
  const cloud = await newCloud();
  await cloud.run(async () => {
    const stood = await putAndDelete(cloud);
    const deletedMs = cloud.clock.nowMs();
    const run = (process: ReturnType<typeof cloud.world.startProcess>) =>
      reap({
        ports: cloud.deployment.portsOf(process, { calm: true }),
        observability: silentObservability,
        budget: { remainingMs: () => minuteMs },
      });
    await cloud.clock.sleep(20_000);
    await run(cloud.world.startProcess("reaper that samples", { exact: true }));
    // The reaper's invocation begins, and is held up for less than its 300 s.
    const changeMs = deletedMs + retentionMs + limits.clientClockErrorMsMax - 30_000;
    await cloud.clock.sleep(changeMs - 1_000 - cloud.clock.nowMs());
    const reaper = cloud.world.startProcess("reaper", { exact: true });
    const reaped = run(reaper);
    await cloud.clock.sleep(15); // It has read the registry.
    reaper.freeze(4.7 * minuteMs);
    await cloud.clock.sleep(changeMs - cloud.clock.nowMs());
    const operator = cloud.world.startProcess("operator", {
      clockError: { offsetMs: -limits.clientClockErrorMsMax, drift: 0 },
    });
    const { control } = cloud.deployment.portsOf(operator, { calm: true });
    await control.retainHistory(4 * 3600_000);
    const { removed } = await reaped;
    const reader = cloud.createClient("reader");
    const seen = await look(reader, stood);
    expect({ removed, wrong: seen === "absent" }).toEqual({ removed, wrong: false });
  });
});
