/**
 * As test/simulation/rows-behind-their-fence.test.ts, of a scan over several shards: its page is
 * read again by one of them, and the row lies in another one.
 *
 *   T    scan: nothing ──────────── prepare ── fence ────────── scan: nothing ── vote
 *   U              puts the row, counts 1
 *   native                                           delete
 *
 * It read behind the delete and wrote before it; and by the counts it lies behind U.
 */
import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";

const rows = defineTable<{ readonly by: string }, { readonly id: string }>("rows", { key: "id" });
const counts = defineTable<{ readonly count: number }, { readonly id: string }>("counts", {
  key: "id",
});
/** Each shard has some of them. */
const ids = Array.from({ length: 8 }, (_, n) => `row-${n.toString()}`);

/** Natively and unaware, once, as soon as a transaction has fenced what a commit has left. */
function deletesBehindFence(cloud: TestCloud, id: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let isFirst = true;
    cloud.world.dynamodb.onWrite(({ table, before, after }) => {
      const isFenced = after !== undefined && "_f" in after && before?.["_v"] !== undefined;
      if (table !== "rows" || !isFenced || !isFirst) return;
      isFirst = false;
      const request = { TableName: "rows", Key: { id: { S: id } } };
      cloud.dynamodb.send(new DeleteItemCommand(request)).then(() => {
        resolve();
      }, reject);
    });
  });
}

test.each(ids)(
  "%s, put unread in a scan that was read, is put, or the body runs again",
  async (id) => {
    const cloud = await createTestCloud({
      shards: 4,
      tables: [
        testTable("rows", { partitionKey: "id", access: "mixed" }),
        testTable("counts", { partitionKey: "id" }),
      ],
    });
    const deleted = deletesBehindFence(cloud, id);
    await cloud.run(async () => {
      const other = cloud.createClient("other");
      const { receipt } = await cloud.createClient("client").transact(async (tx) => {
        const found = await tx.scan(rows).all();
        if (tx.attempt === 1) {
          await other.transact((others) => {
            others.put(rows, { id, by: "other" });
            others.put(counts, { id: "all", count: 1 });
            return Promise.resolve();
          });
        }
        tx.put(rows, { id, by: "client" });
        tx.put(counts, { id: "all", count: found.length + 1 });
      });
      await deleted;
      expect(receipt.attempts).toBe(2);
    });
    expect(cloud.rows(rows)).toEqual([{ id, by: "client" }]);
  },
);
