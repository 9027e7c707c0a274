/** Of one transaction's deletes, each tombstone stands as long as its own table needs it. */
import { expect, test } from "vitest";
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

const plain = defineTable<{ readonly n: number }, { readonly id: string }>("plain", { key: "id" });
const kept = defineTable<{ readonly n: number }, { readonly id: string }>("kept", { key: "id" });
const minuteMs = 60_000;

test("a tombstone without history does not wait for one with history", async () => {
  const cloud = await createTestCloud({
    tables: [
      testTable("plain", { partitionKey: "id" }),
      testTable("kept", { partitionKey: "id", history: true }),
    ],
    historyRetentionMs: 60 * minuteMs,
  });
  const client = cloud.createClient("app");
  const left = async () => {
    const tables = ["plain", "kept"].map((TableName) =>
      cloud.dynamodb.send(new ScanCommand({ TableName })),
    );
    return (await Promise.all(tables)).map(({ Count }) => Count);
  };
  await cloud.run(async () => {
    for (const isThere of [true, false]) {
      await client.transact((tx) => {
        for (const table of [plain, kept]) {
          if (isThere) tx.put(table, { id: "a", n: 1 });
          else tx.delete(table, { id: "a" });
        }
        return Promise.resolve();
      });
    }
    await cloud.settled();
    expect(await left()).toEqual([1, 1]);
    // The grace, and two runs of the reaper; less than the retention.
    await cloud.world.time.sleep(45 * minuteMs);
    expect(await left()).toEqual([0, 1]);
    await cloud.world.time.sleep(60 * minuteMs);
    expect(await left()).toEqual([0, 0]);
  });
});
