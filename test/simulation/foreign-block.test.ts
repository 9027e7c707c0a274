/**
 * A log in which somebody else than the oracle has put blocks, and a table that is gone from the
 * registry: replay writes nothing that it should not, says so, and the shard goes on.
 */
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import { append, createAudit, forbidden, itemsTable, putOf, text } from "./foreign-blocks.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const sweptMs = 90_000;

const put = (cloud: TestCloud, n: number): Promise<unknown> =>
  cloud.createClient("app").transact((tx) => {
    tx.put(items, { id: "victim", n });
    return Promise.resolve();
  });

test.each(Object.keys(forbidden))("a block that writes %s: replay does not", async (what) => {
  const cloud = await createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
  const { metrics, shard } = cloud.deployment;
  await cloud.run(async () => {
    await createAudit(cloud);
    await put(cloud, 1);
    await cloud.settled();
    const made = forbidden[what]?.(shard);
    if (made === undefined) throw new Error("nothing to write");
    await append(cloud, { payload: putOf(made), as: [made] });
    // No record brings it; the schedule's sweep finds it.
    await cloud.world.time.sleep(sweptMs);
    expect(cloud.rows(items)).toEqual([{ id: "victim", n: 1 }]);
    const audit = await cloud.dynamodb.send(new ScanCommand({ TableName: "audit" }));
    expect(audit.Items).toEqual([]);
    expect(metrics.get("DeadLetters")).toBe(1);
    await put(cloud, 2);
    await cloud.settled();
  });
  expect(cloud.rows(items)).toEqual([{ id: "victim", n: 2 }]);
});

test("a block whose write no table takes: its readers wait for replay, and go on", async () => {
  const tables = [testTable("items", { partitionKey: "id" })];
  const cloud = await createTestCloud({ tables, commit: "stream" });
  const { metrics } = cloud.deployment;
  await cloud.run(async () => {
    await put(cloud, 1);
    await cloud.settled();
    const made = [itemsTable, { id: text("x"), "": text("nameless") }] as const;
    await append(cloud, { payload: putOf(made), as: [made] });
    const reader = cloud.createClient("reader");
    // A record of somebody else has replay look at the log.
    void cloud.clock.sleep(1_000).then(() => put(cloud, 2));
    const count = await reader.transact({}, async (tx) => {
      let rows = 0;
      for await (const row of tx.scan(items)) rows += row.n > 0 ? 1 : 0;
      return rows;
    });
    expect(count.result).toBe(1);
    await cloud.settled();
  });
  expect(metrics.get("DeadLetters")).toBe(1);
  expect(cloud.rows(items)).toEqual([{ id: "victim", n: 2 }]);
});
