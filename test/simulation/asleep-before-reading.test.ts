/**
 * A machine that sleeps between the look at the registry's age and the begin of its view (the call
 * that refreshes the tail is under way): what it then reads in the past goes by a registry as old
 * as the sleep, and the view's own age begins after it.
 */
import { describe, expect, test } from "vitest";
import { registerTables } from "../../aws/register-tables.ts";
import * as limits from "../../core/limits.ts";
import {
  defineTable,
  SnapshotTooOldError,
  UnavailableError,
  type Client,
} from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const minuteMs = 60_000;

async function look(
  client: Client,
  asOf: number,
): Promise<number | "absent" | "too old" | "too late"> {
  try {
    const row = await client.snapshot({ asOf, attemptsMax: 1, deadlineMs: 60_000 }, (s) =>
      s.get(items, "a"),
    );
    return row?.n ?? "absent";
  } catch (error) {
    if (error instanceof SnapshotTooOldError) return "too old";
    // The attempt is older than a transaction may be; the next one looks again.
    if (error instanceof UnavailableError) return "too late";
    throw error;
  }
}

async function shorten(cloud: TestCloud): Promise<void> {
  const operator = cloud.world.startProcess("retention operator", { exact: true });
  const ports = cloud.deployment.portsOf(operator, { calm: true });
  await ports.control.retainHistory(limits.historyRetentionMsMin);
}

async function switchOff(cloud: TestCloud): Promise<void> {
  const operator = cloud.world.startProcess("history operator", { exact: true });
  const handles = cloud.world.handles(operator, { calm: true });
  await registerTables({ handles, clock: operator.clock, deployment: "test" }, [
    {
      name: "items",
      partitionKey: { name: "id", type: "S" },
      history: false,
      access: "transactional",
    },
  ]);
}

describe("I8: a row that stood is never absent, where the machine slept as the read began", () => {
  test.each([
    ["and the retention was shortened", shorten],
    ["and history was switched off", switchOff],
  ])("%s", async (_, change) => {
    const cloud = await createTestCloud({
      tables: [testTable(items, { partitionKey: "id", history: true })],
    });
    const app = cloud.createClient("app");
    const sleeper = cloud.startProcess("sleeper");
    await cloud.run(async () => {
      const { receipt } = await app.transact((tx) => {
        tx.put(items, { id: "a", n: 1 });
        return Promise.resolve();
      });
      const stood = receipt.commitTimestamp ?? 0;
      await app.transact((tx) => {
        tx.delete(items, "a");
        return Promise.resolve();
      });
      expect(await look(sleeper.client, stood)).toBe(1);
      await change(cloud);
      const asked = look(sleeper.client, stood);
      await cloud.clock.sleep(1); // The registry is young; the refresh of the tail is under way.
      sleeper.freeze(50 * minuteMs, "stand");
      await cloud.clock.sleep(50 * minuteMs + 1_000);
      expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);
      expect(["too old", "too late", 1]).toContain(await asked);
    });
  });
});
