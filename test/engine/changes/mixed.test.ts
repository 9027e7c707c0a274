/** What the feed gives of mixed tables, and what it does not (docs/sdk.md). */
import { expect, test } from "vitest";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable } from "../../../testing/index.ts";
import { take } from "./feed.ts";

const carts = defineTable<{ readonly count: number }, { readonly id: string }>("carts", {
  key: "id",
});

test("of one item, committed by a conditional write, the feed knows nothing", async () => {
  const cloud = await createTestCloud({
    tables: [testTable("carts", { partitionKey: "id", access: "mixed" })],
  });
  await cloud.run(async () => {
    const client = cloud.createClient("shop");
    const alone = await client.transact((tx) => {
      tx.put(carts, { id: "alone", count: 1 });
      return Promise.resolve();
    });
    expect(alone.receipt.local).toBe(true);
    await client.transact((tx) => {
      tx.put(carts, { id: "one", count: 1 });
      tx.put(carts, { id: "two", count: 2 });
      return Promise.resolve();
    });
    const [first] = await take(client, 1, { from: "oldest", tables: [carts] });
    const ids = first?.of(carts).map(({ key }) => key["id"]) ?? [];
    expect(ids.sort()).toEqual(["one", "two"]);
  });
});
