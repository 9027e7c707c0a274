/**
 * I8, snapshot isolation by REST tokens: the token's age is looked at, then the machine sleeps (a
 * read of the log is under way), and the view's own age begins only after that. What was deleted
 * since, and reaped, reads as absent at a moment at which it stood.
 */
import { expect, test } from "vitest";
import { createEngine } from "../../engine/engine.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const minuteMs = 60_000;
const key = (id: string) => ({ id: { S: id } });

test("a resumed transaction never sees beside what it has read what came later", async () => {
  const cloud = await createTestCloud({ tables: [testTable(items, { partitionKey: "id" })] });
  const app = cloud.createClient("app");
  await cloud.run(async () => {
    await app.transact((tx) => {
      tx.put(items, { id: "a", n: 1 });
      tx.put(items, { id: "b", n: 1 });
      return Promise.resolve();
    });
    const server = cloud.world.startProcess("server", { exact: true });
    const engine = createEngine(cloud.deployment.portsOf(server, { calm: true }), {});
    const first = await engine.begin({ isolation: "snapshot" });
    expect(await first.get("items", key("b"))).toMatchObject({ n: { N: "1" } });
    const state = first.state();
    first.close();

    const resumed = engine.resume(state, {});
    await cloud.clock.sleep(1);
    server.freeze(50 * minuteMs, "stand");
    await app.transact((tx) => {
      tx.put(items, { id: "b", n: 2 });
      tx.delete(items, "a");
      return Promise.resolve();
    });
    await cloud.clock.sleep(50 * minuteMs + 1_000);
    expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBe(1);

    // It fails, or sees "a" beside the old "b".
    const seen = await resumed
      .then(async (transaction) => ({
        r: transaction.readTimestamp,
        a: await transaction.get("items", key("a")),
      }))
      .catch((error: unknown) => (error as Error).name);
    if (typeof seen === "string") return;
    expect(seen).toMatchObject({ r: state.parts[0]?.readTimestamp, a: { n: { N: "1" } } });
  });
});
