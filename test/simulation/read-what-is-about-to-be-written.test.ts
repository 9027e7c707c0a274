/**
 * A transaction has read a price, and is about to write an order by it: it is prepared, and its
 * vote lies in a stream whose oracle stands still. A native write raises the price. Somebody who
 * reads that price and no order lies behind the native write and before the order, which lies
 * before the native write: so what is prepared bars him (mutant `writes-do-not-bar`).
 *
 *   T    price: 1 ─── prepare ── price: 1 ── vote ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ▶ decided
 *   native                                        price: 2
 *   U                                                      price: 2, no order ── certified?
 */
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const prices = defineTable<{ cents: number }, { id: string }>("prices", { key: "id" });
const orders = defineTable<{ cents: number }, { id: string }>("orders", { key: "id" });
const looks = defineTable<{ cents: number }, { id: string }>("looks", { key: "id" });

test("who has read what is about to be written is not certified before it", async () => {
  const cloud = await createTestCloud({
    tables: [testTable(prices, { access: "mixed" }), orders, looks],
  });
  cloud.seed(prices, [{ id: "tea", cents: 1 }]);
  const buyer = cloud.createClient("buyer", { commit: "stream" });
  const looker = cloud.createClient("looker", { commit: "express" });
  let isPrepared = false;
  cloud.world.dynamodb.onWrite(({ table }) => {
    if (!table.endsWith("-log") || isPrepared) return;
    isPrepared = true;
    cloud.pauseOracle();
  });
  await cloud.run(async () => {
    const buying = buyer.transact(async (tx) => {
      const price = await tx.get(prices, "tea");
      tx.put(orders, { id: "tea", cents: price?.cents ?? 0 });
    });
    await cloud.clock.sleep(1_500);
    expect(isPrepared).toBe(true);
    const Item = { id: { S: "tea" }, cents: { N: "2" } };
    await cloud.dynamodb.send(new PutItemCommand({ TableName: "prices", Item }));
    const { result: seen } = await looker.transact(async (tx) => {
      const [price, order] = [await tx.get(prices, "tea"), await tx.get(orders, "tea")];
      tx.put(looks, { id: "tea", cents: price?.cents ?? 0 });
      return { price: price?.cents, order: order?.cents };
    });
    cloud.resumeOracle();
    const { receipt } = await buying;
    expect(seen).toEqual({ price: 2, order: undefined });
    // Voted down, and run again by the price that the other one has seen.
    expect(receipt.attempts).toBe(2);
  });
  expect(await cloud.settled()).toBe(true);
  expect(cloud.rows(orders)).toEqual([{ id: "tea", cents: 2 }]);
});
