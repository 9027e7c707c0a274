/**
 * Hashes of few bits, as some seeds run with them: what a collision must not do shows only where
 * there are collisions, and where every process makes the same ones.
 */
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { hashBitsMax, planOf } from "../../simulation/seed-plan.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const ids = Array.from({ length: 6 }, (_, i) => `item-${i.toString()}`);

test("some of the first hundred seeds have them, and most have not", () => {
  const bits = Array.from({ length: 100 }, (_, i) => planOf(i + 1).hashBits);
  const narrow = bits.filter((each) => each < hashBitsMax);
  expect(Math.min(...narrow)).toBeGreaterThanOrEqual(6);
  expect(Math.max(...narrow)).toBeLessThanOrEqual(12);
  expect(narrow.length).toBeGreaterThan(10);
  expect(narrow.length).toBeLessThan(50);
});

test("clients, oracle and replay share them: two hashes, and all items are written", async () => {
  const tables = [testTable("items", { partitionKey: "id" })];
  const cloud = await createTestCloud({ tables, hashBits: 1 });
  const { hashes } = cloud.deployment;
  const made = new Set(ids.map((id) => hashes.partition("items", { S: id })));
  expect(made.size).toBeLessThanOrEqual(2);
  const client = cloud.createClient();
  await cloud.run(async () => {
    for (const [n, id] of ids.entries()) {
      await client.transact(async (tx) => {
        expect(await tx.get(items, { id })).toBeUndefined();
        tx.put(items, { id, n });
      });
    }
    await cloud.settled();
  });
  expect(cloud.rows(items)).toEqual(ids.map((id, n) => ({ id, n })));
});

test("a cloud without a number has the product's own", async () => {
  const cloud = await createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
  const { hashes } = cloud.deployment;
  expect(new Set(ids.map((id) => hashes.partition("items", { S: id }))).size).toBe(ids.length);
});
