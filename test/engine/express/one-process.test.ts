/** Express commit of one process, on the test cloud (docs/adr/0013-express-commit.md). */
import { expect, test } from "vitest";
import { defineTable, type EngineEvent } from "../../../sdk/index.ts";
import { createTestCloud, testTable } from "../../../testing/index.ts";

const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});
const tables = [testTable("counters", { partitionKey: "id" })];

test("a lone read-modify-write is one put in the log, and nothing in the stream", async () => {
  const cloud = await createTestCloud({ tables });
  cloud.seed(counters, [{ id: "a", n: 0 }]);
  const events: EngineEvent[] = [];
  const { client } = cloud.startProcess("app", {
    commit: "express",
    onEvent: (event) => events.push(event),
  });
  const { receipt } = await cloud.run(() =>
    client.transact(async (tx) => {
      const n = (await tx.get(counters, "a"))?.n ?? 0;
      tx.put(counters, { id: "a", n: n + 1 });
    }),
  );
  expect(events.filter(({ kind }) => kind === "sent" || kind === "certified")).toEqual([
    expect.objectContaining({ kind: "sent", resend: false, via: "express" }),
    expect.objectContaining({ kind: "certified", via: "express" }),
  ]);
  expect(receipt.installed).toBe(true);
  expect(cloud.rows(counters)).toEqual([{ id: "a", n: 1 }]);
});

test.each([-600_000, 600_000])(
  "it is dated by the store's clock, not by that of its process, which is off by %d ms",
  async (clockOffsetMs) => {
    const cloud = await createTestCloud({ tables });
    const { client } = cloud.startProcess("app", { commit: "express", clockOffsetMs });
    const moments = await cloud.run(async () => {
      await cloud.world.time.sleep(5_000);
      const { receipt } = await client.transact((tx) => {
        tx.put(counters, { id: "a", n: 1 });
        return Promise.resolve();
      });
      return { nowMs: cloud.world.time.nowMs, atMs: (receipt.commitTimestamp ?? 0) / 1_000 };
    });
    expect(moments.atMs).toBeLessThanOrEqual(moments.nowMs);
    expect(moments.atMs).toBeGreaterThan(moments.nowMs - 2_000);
  },
);
