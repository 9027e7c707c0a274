/** The shop in the cloud in memory: what it does where others write in between. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { expect, test } from "vitest";
import { tidemarkPlugin, warmUp } from "../../client/index.ts";
import { shopOf, shopTable } from "../../examples/electrodb-orders/entities.ts";
import { auditShop, placeOrder, register } from "../../examples/electrodb-orders/orders.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/index.ts";

type Key = { readonly pk: string; readonly sk: string };
const rows = defineTable<Record<never, never>, Key>(shopTable, { key: ["pk", "sk"] });

async function openInMemory() {
  const cloud = await createTestCloud({ tables: [rows] });
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const dynamodb = new DynamoDBClient({ region: "eu-west-1", credentials });
  dynamodb.middlewareStack.use(tidemarkPlugin());
  await warmUp(dynamodb);
  let aborted = 0;
  const app = cloud.startProcess("shop", {
    onEvent: ({ kind }) => (aborted += kind === "attempt-aborted" ? 1 : 0),
  });
  const shop = shopOf(DynamoDBDocumentClient.from(dynamodb));
  // What ElectroDB would store: outside of a transaction its commands would leave the cloud.
  const stocked = shop.entities.stock.create({ article: "lamp", count: 3, cents: 100 }).params();
  cloud.seed(rows, [(stocked as { readonly Item: Key }).Item]);
  return { cloud, app, opened: { db: app.client, shop }, aborted: () => aborted };
}

const lamps = (orderId: string, count = 1) => ({
  ...{ orderId, customerId: "ann" },
  lines: [{ article: "lamp", count }],
});
const ann = { customerId: "ann", email: "Ann@x.example" };
const stockKey = { pk: "$shop#article_lamp", sk: "$stock_1" };

test("somebody who writes the stock in between makes the order run again", async () => {
  const { cloud, opened, aborted } = await openInMemory();
  await cloud.run(async () => {
    expect(await register(opened, ann)).toBe("registered");
    cloud.conflictOn(rows, stockKey, { times: 2 });
    expect(await placeOrder(opened, lamps("o1"))).toEqual({ kind: "ordered", cents: 100 });
    expect(await auditShop(opened, new Map([["lamp", 3]]))).toEqual([]);
  });
  expect(aborted()).toBe(2);
});

test.each(["committed", "aborted"] as const)(
  "an order whose outcome is unknown (%s) is placed once",
  async (outcome) => {
    const { cloud, app, opened } = await openInMemory();
    await cloud.run(async () => {
      await register(opened, ann);
      app.nextCommitUnknown(outcome);
      expect(await placeOrder(opened, lamps("o1"))).toEqual({ kind: "ordered", cents: 100 });
      expect(await auditShop(opened, new Map([["lamp", 3]]))).toEqual([]);
    });
    await cloud.settled();
    const lamp = cloud.rows(rows).find(({ pk }) => pk === stockKey.pk);
    expect(lamp).toMatchObject({ count: 2 });
  },
);

test("two lines of one article are together more than is there, or not", async () => {
  const { cloud, opened } = await openInMemory();
  const twice = (orderId: string, ...counts: readonly number[]) => ({
    ...lamps(orderId),
    lines: counts.map((count) => ({ article: "lamp", count })),
  });
  await cloud.run(async () => {
    await register(opened, ann);
    const refused = { kind: "refused", reason: "out-of-stock", article: "lamp" };
    expect(await placeOrder(opened, twice("o1", 2, 2))).toEqual(refused);
    expect(await placeOrder(opened, twice("o2", 2, 1))).toEqual({ kind: "ordered", cents: 300 });
    expect(await auditShop(opened, new Map([["lamp", 3]]))).toEqual([]);
  });
  const lamp = cloud.rows(rows).find(({ pk }) => pk === stockKey.pk);
  expect(lamp).toMatchObject({ count: 0 });
});
