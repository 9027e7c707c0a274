/**
 * A client whose copy of the registry is old is refused, learns what changed, and runs again: its
 * caller sees a commit. A table that is gone is named.
 */
import { expect, test } from "vitest";
import { createEngine } from "../../engine/engine.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
/** The oracle's copy of the registry is older than that then. */
const noticedMs = 11_000;

async function register(cloud: TestCloud, history: boolean): Promise<void> {
  const operator = cloud.world.startProcess("operator-2", { exact: true });
  const { control } = cloud.deployment.portsOf(operator, { calm: true });
  const table = {
    name: "items",
    partitionKey: { name: "id", type: "S" },
    history,
    access: "transactional",
  } as const;
  await control.registerTable(table);
}

const ways = ["stream", "express"] as const;

test.each(ways)("a table's history switched on: a commit by %s runs again", async (commit) => {
  const cloud = await createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
  const client = cloud.createClient("app", { commit });
  const put = (n: number) =>
    client.transact((tx) => {
      tx.put(items, { id: "a", n });
      return Promise.resolve();
    });
  const attempts = await cloud.run(async () => {
    await put(1);
    await register(cloud, true);
    await cloud.world.time.sleep(noticedMs);
    const { receipt } = await put(2);
    await cloud.settled();
    return receipt.attempts;
  });
  expect(attempts).toBe(2);
  const byOracle = commit === "stream" ? 1 : undefined;
  expect(cloud.deployment.metrics.get("AbortedTableDiffers")).toBe(byOracle);
  expect(cloud.rows(items)).toEqual([{ id: "a", n: 2 }]);
});

test("without another attempt: the error names the field, both sides, and what to do", async () => {
  const cloud = await createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
  const client = cloud.createClient("app");
  const put = (n: number) =>
    client.transact({ attemptsMax: 1 }, (tx) => {
      tx.put(items, { id: "a", n });
      return Promise.resolve();
    });
  await cloud.run(async () => {
    await put(1);
    await register(cloud, true);
    await cloud.world.time.sleep(noticedMs);
    await expect(put(2)).rejects.toThrow(
      'table "items": history was false here, and is registered as true. ' +
        "This process has read the registry anew: run it again.",
    );
  });
});

test("without a closure: what follows a refusal goes by the registry as it is", async () => {
  const cloud = await createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
  const server = cloud.world.startProcess("server", { exact: true });
  const engine = createEngine(cloud.deployment.portsOf(server, { calm: true }), {});
  const put = async (table: string): Promise<string> => {
    const transaction = await engine.begin({ isolation: "serializable" });
    try {
      transaction.put(table, { id: { S: "a" } });
      await transaction.commit({});
      return "committed";
    } catch (error) {
      return (error as Error).message;
    } finally {
      transaction.close();
    }
  };
  await cloud.run(async () => {
    expect(await put("items")).toBe("committed");
    await register(cloud, true);
    await cloud.world.time.sleep(noticedMs);
    expect(await put("items")).toMatch(
      /"items": history was false here, and is registered as true/,
    );
    expect(await put("items")).toBe("committed");
  });
});
