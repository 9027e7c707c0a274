/** Native operations beside transactions in a test's cloud: with the plugin, and without. */
import {
  GetItemCommand,
  PutItemCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { tidemarkNative } from "../../native/index.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

const carts = defineTable<{ readonly n: number }, { readonly id: string }>("carts", { key: "id" });
const stock = defineTable<{ readonly n: number }, { readonly id: string }>("stock", { key: "id" });
const tables = [testTable(carts, { access: "mixed" }), stock];
const Key = { id: { S: "a" } };
const add = {
  ...{ TableName: "carts", Key, UpdateExpression: "ADD n :one", ReturnValues: "ALL_NEW" as const },
  ExpressionAttributeValues: { ":one": { N: "1" } },
};

test("counts beside transactions, each kept, and shows no attribute of Tidemark's", async () => {
  const faults = { "answer-lost": 0.02 };
  const cloud = await createTestCloud({ tables, faults, seed: 7 });
  cloud.seed(carts, [{ id: "a", n: 0 }]);
  const [db, app] = [cloud.createClient("db"), cloud.startProcess("app")];
  app.dynamodb.middlewareStack.use(tidemarkNative({ client: app.client }));
  await cloud.run(async () => {
    const transactions = async () => {
      for (let i = 0; i < 20; i += 1) {
        await db.transact(async (tx) => {
          const row = await tx.get(carts, "a");
          tx.put(carts, { id: "a", n: (row?.n ?? 0) + 100 });
          tx.put(stock, { id: "a", n: i });
        });
      }
    };
    const natives = async () => {
      for (let i = 0; i < 20; i += 1) {
        const { Attributes } = await app.dynamodb.send(new UpdateItemCommand(add));
        expect(Object.keys(Attributes ?? {}).sort()).toEqual(["id", "n"]);
        await cloud.clock.sleep(20);
      }
    };
    await Promise.all([transactions(), natives()]);
  });
  const [row] = cloud.rows(carts);
  // An update whose answer was lost is sent again by the AWS SDK, and may count twice.
  const { n = 0 } = row ?? {};
  expect(Math.floor(n / 100)).toBe(20);
  expect(n % 100).toBeGreaterThanOrEqual(20);
  await cloud.run(async () => {
    const { Items } = await app.dynamodb.send(new ScanCommand({ TableName: "carts" }));
    expect(Items).toEqual([{ ...Key, n: { N: n.toString() } }]);
  });
});

test("each try has a nonce of its own, and a write is aware", async () => {
  const cloud = await createTestCloud({ tables });
  const app = cloud.startProcess();
  app.dynamodb.middlewareStack.use(tidemarkNative({ client: app.client }));
  const stored = async () =>
    (await cloud.dynamodb.send(new GetItemCommand({ TableName: "carts", Key }))).Item?.["_n"]?.B;
  await cloud.run(async () => {
    await app.dynamodb.send(new PutItemCommand({ TableName: "carts", Item: Key }));
    const first = await stored();
    expect(first).toHaveLength(16);
    cloud.refuseCalls("dynamodb", 200);
    await app.dynamodb.send(new PutItemCommand({ TableName: "carts", Item: Key }));
    expect(await stored()).not.toEqual(first);
    const put = { Put: { TableName: "carts", Item: { id: { S: "b" } } } };
    await app.dynamodb
      .send(new TransactWriteItemsCommand({ TransactItems: [put] }))
      .catch((error: unknown) => {
        // What the model lacks is refused by name.
        expect(error).toMatchObject({ name: "NotModelledError" });
      });
  });
});

test("a program that knows nothing of Tidemark is one without the plugin", async () => {
  const cloud = await createTestCloud({ tables });
  const app = cloud.startProcess();
  await cloud.run(() => app.dynamodb.send(new UpdateItemCommand(add)));
  const { Items } = await cloud.run(() =>
    cloud.dynamodb.send(new ScanCommand({ TableName: "carts" })),
  );
  expect(Items).toEqual([{ ...Key, n: { N: "1" } }]);
});
