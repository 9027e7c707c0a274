/** What the stores say of a recorded run: orders from the log, the end from the tables. */
import { describe, expect, test } from "vitest";
import { defineTable, type Client } from "../../sdk/index.ts";
import { checkHistory } from "../../testing/checker/check-history.ts";
import { readStoredHistory, type StoredHistory } from "../../testing/history/stored-history.ts";
import type { History } from "../../testing/history/types.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const rows = defineTable<{ readonly n: number }, { readonly id: string }>("rows", { key: "id" });

async function cloudOf(): Promise<TestCloud> {
  const tables = [testTable("rows", { partitionKey: "id" })];
  return createTestCloud({ tables, recordHistory: true });
}

async function put(client: Client, id: string, n: number): Promise<void> {
  await client.transact((tx) => {
    tx.put(rows, { id, n });
    return Promise.resolve();
  });
}

async function storedOf(cloud: TestCloud, history: History): Promise<StoredHistory> {
  const reader = cloud.world.startProcess("reader", { exact: true });
  const ports = cloud.deployment.portsOf(reader, { calm: true });
  return cloud.run(() => readStoredHistory(ports, history.transactions));
}

describe("the stores say", () => {
  test("in which order each key's versions were committed, and what stands at last", async () => {
    const cloud = await cloudOf();
    await cloud.run(async () => {
      const [a, b] = [cloud.createClient("a"), cloud.createClient("b")];
      await put(a, "x", 1);
      await put(b, "x", 2);
      await put(a, "x", 3);
      await put(a, "y", 1);
      await b.transact((tx) => {
        tx.delete(rows, "y");
        return Promise.resolve();
      });
    });
    await cloud.settled();
    const history = cloud.history();
    const stored = await storedOf(cloud, history);
    expect(stored.versionOrder).toEqual([
      { key: 'rows["x"]', versions: ["a#1:1.1", "b#2:1.1", "a#1:2.1"] },
      { key: 'rows["y"]', versions: ["a#1:3.1"] },
    ]);
    expect(stored.finalState).toEqual([
      { key: 'rows["x"]', version: "a#1:2.1" },
      { key: 'rows["y"]', version: null },
    ]);
    const { versionOrder, finalState = [] } = stored;
    const whole = { ...history, versionOrder, finalState };
    expect(checkHistory(whole, { strict: true }).findings).toEqual([]);
  });

  test("nothing of the end before all that was committed is installed", async () => {
    const cloud = await cloudOf();
    cloud.pauseReplay();
    await cloud.run(() => put(cloud.createClient("a"), "x", 1));
    const history = cloud.history();
    expect((await storedOf(cloud, history)).finalState).toBeUndefined();
    cloud.resumeReplay();
    await cloud.settled();
    expect((await storedOf(cloud, history)).finalState).toHaveLength(1);
  });

  test("nothing of what the history does not know", async () => {
    const cloud = await cloudOf();
    cloud.seed(rows, [{ id: "seeded", n: 1 }]);
    await cloud.run(async () => {
      const client = cloud.createClient("a");
      await put(client, "x", 1);
      await client.snapshot((snapshot) => snapshot.get(rows, "seeded"));
    });
    await cloud.settled();
    const { transactions } = cloud.history();
    const known = await storedOf(cloud, { transactions });
    expect(known.finalState).toEqual([
      { key: 'rows["x"]', version: "a#1:1.1" },
      { key: 'rows["seeded"]', version: 'initial rows["seeded"]' },
    ]);
    const others = transactions.filter(({ ops }) => !ops.some(([kind]) => kind === "w"));
    expect(others.length).toBeGreaterThan(0);
    expect(await storedOf(cloud, { transactions: others })).toEqual({
      versionOrder: [],
      finalState: [],
    });
  });

  test("what transactions that were committed as one have replaced, where it belongs", async () => {
    const cloud = await cloudOf();
    const client = cloud.createClient("a");
    await cloud.run(async () => {
      await put(client, "x", 0);
      const increments = Array.from({ length: 20 }, () =>
        client.transact({ attemptsMax: 100 }, async (tx) => {
          tx.put(rows, { id: "x", n: ((await tx.get(rows, "x"))?.n ?? 0) + 1 });
        }),
      );
      await Promise.all(increments);
    });
    await cloud.settled();
    const history = cloud.history();
    expect(history.transactions.some(({ place = 0 }) => place > 0)).toBe(true);
    const { versionOrder, finalState = [] } = await storedOf(cloud, history);
    expect(versionOrder.map(({ key, versions }) => [key, versions.length])).toEqual([
      ['rows["x"]', 21],
    ]);
    const whole = { ...history, versionOrder, finalState };
    expect(checkHistory(whole, { strict: true }).findings).toEqual([]);
  });
});
