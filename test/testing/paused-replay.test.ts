/** While replay is paused, no function installs what a client that died has committed. */
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud, type TestCloudOptions } from "../../testing/index.ts";

const items = defineTable<{ n: number }, { id: string }>("items", { key: "id" });
const minuteMs = 60_000;

/** Rows that stand in the table after each of four minutes. */
async function rowsAfterDeath(
  options: TestCloudOptions,
  before?: (cloud: TestCloud) => Promise<void>,
): Promise<readonly number[]> {
  const cloud = await createTestCloud({ ...options, tables: [items] });
  cloud.pauseReplay();
  await cloud.run(async () => {
    await before?.(cloud);
    const app = cloud.startProcess("app", {
      onEvent: ({ kind }) => {
        if (kind === "certified") app.crash();
      },
    });
    const crashed = new Promise<void>((ended) => {
      app.onCrash(ended);
    });
    void app.client.transact((tx) => {
      tx.put(items, { id: "a", n: 1 });
      return Promise.resolve();
    });
    await crashed;
  });
  const seen: number[] = [];
  for (let minute = 0; minute < 4; minute += 1) {
    await cloud.advance(minuteMs);
    seen.push(cloud.rows(items).length);
  }
  cloud.resumeReplay();
  await cloud.advance(2 * minuteMs);
  expect(cloud.rows(items)).toEqual([{ id: "a", n: 1 }]);
  return seen;
}

test.each([
  ["of the stream", { commit: "stream" }],
  ["of the client's own", { commit: "express" }],
  ["of tables alone", { tablesOnly: true }],
] as const)("a commit %s stays uninstalled, also past replay's schedule", async (_, options) => {
  expect(await rowsAfterDeath(options)).toEqual([0, 0, 0, 0]);
});

test("a client that keeps house goes on", async () => {
  const seen = await rowsAfterDeath({ tablesOnly: true, housekeeping: false }, async (cloud) => {
    const keeper = cloud.createClient("keeper", { housekeeping: true });
    await keeper.snapshot((snapshot) => snapshot.get(items, "a"));
  });
  expect(seen.at(-1)).toBe(1);
});
