/** What docs/testing.md shows of BASE transactions. */
import { expect, test } from "vitest";
import { defineBase, defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

test("a BASE transaction whose process crashes is unseen, and is ended by a runner", async () => {
  const orders = defineTable<{ state: string }, { id: string }>("orders", { key: "id" });
  const table = testTable(orders, { base: true, history: true });
  const cloud = await createTestCloud({ tables: [table] });
  const placeOrder = defineBase("place-order", async (base, id: string) => {
    await base.step("set aside", async (tx) => tx.put(orders, id, { state: "set aside" }));
    await cloud.clock.sleep(500);
    await base.step("ship", async (tx) => tx.put(orders, id, { state: "shipped" }));
  });
  await cloud.run(async () => {
    const app = cloud.startProcess("app");
    await app.client.base(placeOrder, "o1", { id: "o1" });
    app.crash();
    const db = cloud.createClient();
    expect(await db.snapshot((s) => s.get(orders, "o1"))).toBe(undefined);
    await db.baseRunner({ handlers: [placeOrder], until: "caught-up" });
    await db.baseOf(placeOrder, "o1").result();
  });
  expect(cloud.rows(orders)).toEqual([{ id: "o1", state: "shipped" }]);
});
