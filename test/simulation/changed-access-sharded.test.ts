/** A table in use is moved to native operations beside transactions, and back, over shards. */
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { tidemarkNative } from "../../native/index.ts";
import { defineTable, InvalidRequestError, UnavailableError } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import { registeredState, startMover } from "./table-mover.ts";

const minute = 60_000;
const limitMs = 12 * 60 * minute;
const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const ids = ["a", "b", "c", "d", "e", "f", "g", "h"];

test.each([
  ["by the stream", { commit: "stream" }],
  ["by blocks of their own", { commit: "express" }],
  ["with tables alone", { tablesOnly: true }],
] as const)(
  "over three shards %s it is moved there and back, and loses nothing",
  async (_, way) => {
    const cloud = await createTestCloud({
      ...{ ...way, shards: 3 },
      tables: [testTable("items", { partitionKey: "id" })],
    });
    const client = cloud.createClient("app");
    const app = cloud.startProcess("native");
    app.dynamodb.middlewareStack.use(tidemarkNative({ client: app.client }));
    let commits = 0;
    let natives = 0;
    let isOver = false;
    await cloud.run(
      async () => {
        const committing = async (): Promise<void> => {
          while (!isOver) {
            const done = client.transact({ deadlineMs: minute, attemptsMax: 100 }, async (tx) => {
              const rows = await tx.batchGet(items, ids);
              for (const [i, row] of rows.entries()) {
                tx.put(items, { id: ids[i] ?? "", n: (row?.n ?? 0) + 1 });
              }
            });
            // While it is closed some wait in vain: nothing was committed then.
            commits += await done.then(
              () => 1,
              (error: unknown) => {
                if (error instanceof UnavailableError) return 0;
                throw error;
              },
            );
            await cloud.clock.sleep(45_000);
          }
        };
        const running = committing();
        await startMover(cloud, "items", "mixed").moved;
        expect(await registeredState(cloud, "items")).toBe("mixed");
        // As docs/adoption.md says: when all readers know.
        await cloud.clock.sleep(10 * minute);
        for (const id of ids) {
          await app.dynamodb.send(
            new UpdateItemCommand({
              ...{ TableName: "items", Key: { id: { S: id } } },
              UpdateExpression: "ADD n :thousand",
              ExpressionAttributeValues: { ":thousand": { N: "1000" } },
            }),
          );
          natives += 1;
          await cloud.clock.sleep(500);
        }
        await cloud.clock.sleep(20 * minute);
        await startMover(cloud, "items", "transactional").moved;
        expect(await registeredState(cloud, "items")).toBe("transactional");
        await cloud.clock.sleep(minute);
        isOver = true;
        await running;
      },
      { limitMs },
    );
    await cloud.settled();
    expect(natives).toBe(ids.length);
    expect(cloud.rows(items)).toEqual(ids.map((id) => ({ id, n: commits + 1_000 })));
  },
);

test("a shard is not split while a table is on its way", async () => {
  const cloud = await createTestCloud({
    ...{ shards: 2, maySplit: true },
    tables: [testTable("items", { partitionKey: "id" })],
  });
  await cloud.run(
    async () => {
      const mover = startMover(cloud, "items", "mixed");
      await mover.until("guarded to mixed");
      await expect(cloud.splitShard(0)).rejects.toBeInstanceOf(InvalidRequestError);
      await mover.moved;
      expect(await cloud.splitShard(0)).toBe(2);
    },
    { limitMs },
  );
});
