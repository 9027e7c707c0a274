/** The plugin beside BASE transactions that a body begins: their commands are none of its own. */
import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { expect, test } from "vitest";
import { defineBase, defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import { startApplication } from "./application.ts";

const orders = defineTable<{ readonly state: string }, { readonly id: string }>("orders", {
  key: "id",
});

test("what a handler sends outside of its steps is DynamoDB's, whoever has begun it", async () => {
  const { document, sent } = await startApplication();
  const cloud = await createTestCloud({
    commit: "express",
    tables: [testTable("orders", { partitionKey: "id", history: true, base: true })],
  });
  const order = defineBase("order", async (base) => {
    await base.step("take", async (tx) => tx.put(orders, { id: base.id, state: "taken" }));
    const Item = { id: base.id, state: "charged" };
    await document.send(new PutCommand({ TableName: "orders", Item }));
    return "charged";
  });
  await cloud.run(async () => {
    const db = cloud.createClient();
    const { result: accepted } = await db.transact(async () => {
      return (await db.base(order, undefined, { id: "1" })).accepted;
    });
    expect(await accepted.result({ deadlineMs: 5_000 })).toBe("charged");
  });
  expect(sent).toEqual(["PutItem"]);
});

test("so is what a listener to its events sends", async () => {
  const { document, sent } = await startApplication();
  const cloud = await createTestCloud({
    commit: "express",
    tables: [testTable("orders", { partitionKey: "id", history: true, base: true })],
  });
  const order = defineBase("order", (base) =>
    base.step("take", async (tx) => tx.put(orders, { id: base.id, state: "taken" })),
  );
  const heard = new PutCommand({ TableName: "orders", Item: { id: "heard", state: "x" } });
  const listening = cloud.createClient("listening", {
    onEvent: () => {
      document.send(heard).catch(() => undefined);
    },
  });
  await cloud.run(() =>
    cloud.createClient().transact(async () => {
      const { accepted } = await listening.base(order, undefined, { id: "1" });
      await accepted.result({ deadlineMs: 5_000 });
    }),
  );
  expect(new Set(sent)).toEqual(new Set(["PutItem"]));
  expect(cloud.rows(orders)).toEqual([{ id: "1", state: "taken" }]);
});
