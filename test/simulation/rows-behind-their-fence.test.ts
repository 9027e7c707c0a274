/**
 * Found by the simulator (native-rows, seed 2): a transaction has looked through a shelf and puts a
 * row there unread. Another one has put that row meanwhile, and a plain delete takes it away behind
 * the fence: the shelf looks as it was read, and the transaction's own row is never installed.
 *
 *   T    query: nothing ──────────── prepare ── fence ────────── query: nothing ── vote
 *   U               puts the row, counts 1
 *   native                                            delete
 *
 * It read behind the delete and wrote before it; and by the counts it lies behind U.
 */
import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { mixedTable } from "../../simulation/mixed-tables.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

type RowKey = { readonly shelf: string; readonly place: string };

const rows = defineTable<{ readonly by: string }, RowKey, "shelf">("rows", {
  key: ["shelf", "place"],
});
const counts = defineTable<{ readonly count: number }, { readonly shelf: string }>("counts", {
  key: "shelf",
});
const place: RowKey = { shelf: "s", place: "p" };

test("a row put unread in a page that was read is put, or the body runs again", async () => {
  const cloud = await createTestCloud({
    tables: [
      mixedTable(testTable("rows", { partitionKey: "shelf", sortKey: "place" })),
      testTable("counts", { partitionKey: "shelf" }),
    ],
  });
  const key = { shelf: { S: "s" }, place: { S: "p" } };
  let isFirst = true;
  const taken = new Promise<void>((resolve) => {
    cloud.world.dynamodb.onWrite(({ table, before, after }) => {
      const isFencedRow = after !== undefined && "_f" in after && before?.["_v"] !== undefined;
      if (table !== "rows" || !isFencedRow || !isFirst) return;
      isFirst = false;
      void cloud.dynamodb.send(new DeleteItemCommand({ TableName: "rows", Key: key })).then(() => {
        resolve();
      });
    });
  });
  await cloud.run(async () => {
    const other = cloud.createClient("other");
    const client = cloud.createClient("client");
    const { receipt } = await client.transact(async (tx) => {
      const found = await tx.query(rows, { where: { shelf: "s" } }).all();
      if (tx.attempt === 1) {
        await other.transact((others) => {
          others.put(rows, { ...place, by: "other" });
          others.put(counts, { shelf: "s", count: 1 });
          return Promise.resolve();
        });
      }
      tx.put(rows, { ...place, by: "client" });
      tx.put(counts, { shelf: "s", count: found.length + 1 });
    });
    await taken;
    expect(receipt.attempts).toBe(2);
  });
  expect(cloud.rows(rows)).toEqual([{ ...place, by: "client" }]);
});
