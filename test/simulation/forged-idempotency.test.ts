/**
 * Somebody who may write to the stream, and to nothing else, guesses an idempotency key of another.
 * Nothing but an entry as the SDK writes it is certified under it.
 */
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { callerEntryKey } from "../../core/idempotency-key.ts";
import * as limits from "../../core/limits.ts";
import type { Item } from "../../core/types.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import { blindCommit, produce, putOf, sealedAt } from "./producer.ts";

const orders = defineTable<{ readonly n: number }, { readonly id: string }>("orders", {
  key: "id",
});
const control = {
  name: "tidemark-test-control",
  partitionKey: "pk",
  sortKey: "sk",
  history: false,
};
const key = callerEntryKey("order-42");
const whole: Item = {
  transactionId: { S: "0".repeat(32) },
  place: { N: "0" },
  result: { M: { value: { S: "paid" } } },
};

async function ordersCloud(): Promise<TestCloud> {
  return createTestCloud({ tables: [testTable("orders", { partitionKey: "id" })] });
}

const pay = (cloud: TestCloud, name: string): Promise<{ readonly result: string }> =>
  cloud.createClient(name).transact({ idempotencyKey: "order-42" }, (tx) => {
    tx.put(orders, { id: "42", n: 1 });
    return Promise.resolve("really paid");
  });

async function payAfter(cloud: TestCloud, more: Item): Promise<string> {
  const { result } = await cloud.run(async () => {
    const { receipt } = await cloud.createClient("app").transact((tx) => {
      tx.put(orders, { id: "1", n: 1 });
      return Promise.resolve();
    });
    const forged = putOf(control, ["pk", "sk"], { ...key, ...more });
    const at = receipt.commitTimestamp ?? 0;
    produce(cloud, [blindCommit(sealedAt(at).id, at, forged)]);
    await cloud.clock.sleep(3_000);
    return pay(cloud, "victim");
  });
  return result;
}

test.each<[string, Item]>([
  ["that is none", {}],
  ["that stands for ever", { ...whole, expiresAt: { N: "9999999999999" } }],
  ["whose end nobody can read", { ...whole, expiresAt: { S: "9999999999999" } }],
])("an entry %s is not certified: the victim's transaction runs", async (_, more) => {
  const cloud = await ordersCloud();
  const result = await payAfter(cloud, more);
  expect(result).toBe("really paid");
  expect(cloud.deployment.metrics.get("AbortedTableUnknown")).toBe(1);
});

test("what is left: an entry of the SDK's own form, under a key that was guessed", async () => {
  const cloud = await ordersCloud();
  const nowSeconds = Math.floor(cloud.world.time.nowMs / 1_000);
  const expiresAt = { N: (nowSeconds + limits.idempotencyRetentionSeconds).toFixed(0) };
  expect(await payAfter(cloud, { ...whole, expiresAt })).toBe("paid");
});

test("an entry that something else has written: the error names it, and what to do", async () => {
  const cloud = await ordersCloud();
  await cloud.run(async () => {
    const item = { ...key, expiresAt: { S: "soon" } } as never;
    await cloud.dynamodb.send(new PutItemCommand({ TableName: control.name, Item: item }));
    await expect(pay(cloud, "victim")).rejects.toMatchObject({
      name: "CorruptDataError",
      message:
        'the idempotency entry {"pk":{"S":"idempotency#order-42"},"sk":{"S":"-"}} of table ' +
        "tidemark-test-control lacks its attributes, or has others: nothing of Tidemark has " +
        "written it. Find out who has, and delete the item; or use another idempotency key",
    });
  });
});
