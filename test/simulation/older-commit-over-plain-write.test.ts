/**
 * docs/protocol.md §7, Plain writes: a write whose transaction saw a version leaves what a plain
 * writer has put. Then it counts as superseded, and so must everything below it.
 * By the stream: who has the block reads its value there, and has seen no version.
 */
import { DeleteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

type Row = { readonly id: string; readonly n: number };
const rows = defineTable<Row, { readonly id: string }>("rows", { key: "id" });

async function cloudWithoutReplay(): Promise<TestCloud> {
  const cloud = await createTestCloud({
    tables: [testTable(rows, { partitionKey: "id" })],
    commit: "stream",
  });
  cloud.pauseReplay();
  return cloud;
}
const put = (cloud: TestCloud, name: string, n: number) =>
  cloud.createClient(name).transact({ ack: "installed" }, (tx) => {
    tx.put(rows, { id: "x", n });
    return Promise.resolve();
  });
const raise = (cloud: TestCloud, name: string) =>
  cloud.createClient(name).transact({ ack: "installed" }, async (tx) => {
    const row = await tx.get(rows, { id: "x" });
    tx.put(rows, { id: "x", n: (row?.n ?? 0) + 1 });
  });
const plainPut = (cloud: TestCloud, n: number) =>
  cloud.dynamodb.send(
    new PutItemCommand({ TableName: "rows", Item: { id: { S: "x" }, n: { N: String(n) } } }),
  );
const plainDelete = (cloud: TestCloud) =>
  cloud.dynamodb.send(new DeleteItemCommand({ TableName: "rows", Key: { id: { S: "x" } } }));

test("a reader: two commits, then a plain put; the first does not come back", async () => {
  const cloud = await cloudWithoutReplay();
  await cloud.run(async () => {
    await put(cloud, "first", 1);
    await raise(cloud, "second");
    expect(cloud.rows(rows)).toEqual([{ id: "x", n: 2 }]);
    await plainPut(cloud, 100);
    const seen = await cloud.createClient("reader").snapshot((s) => s.get(rows, { id: "x" }));
    expect({ seen, stored: cloud.rows(rows) }).toEqual({
      seen: { id: "x", n: 100 },
      stored: [{ id: "x", n: 100 }],
    });
  });
});

test("a reader in the later one's process, plain delete: no older value", async () => {
  const cloud = await cloudWithoutReplay();
  await cloud.run(async () => {
    await put(cloud, "first", 1);
    const second = cloud.createClient("second", { chaining: false });
    await second.transact({ ack: "installed" }, (tx) => {
      tx.put(rows, { id: "x", n: 2 });
      return Promise.resolve();
    });
    expect(cloud.rows(rows)).toEqual([{ id: "x", n: 2 }]);
    await plainDelete(cloud);
    const seen = await second.snapshot((s) => s.get(rows, { id: "x" }));
    // Deleted, or the newest commit again: never the older one.
    expect([undefined, 2]).toContain(seen?.n);
  });
});

test("a scan: a write that saw a version leaves the plain put", async () => {
  const cloud = await cloudWithoutReplay();
  await cloud.run(async () => {
    await put(cloud, "first", 1);
    await raise(cloud, "second");
    await plainPut(cloud, 100);
    const seen = await cloud.createClient("reader").snapshot((s) => s.scan(rows).all());
    expect({ seen, stored: cloud.rows(rows) }).toEqual({
      seen: [{ id: "x", n: 100 }],
      stored: [{ id: "x", n: 100 }],
    });
  });
});

test("and nothing is lost for good: after replay the older value does not stand", async () => {
  const cloud = await cloudWithoutReplay();
  await cloud.run(async () => {
    await put(cloud, "first", 1);
    await raise(cloud, "second");
    await plainPut(cloud, 100);
    // Its first request of any kind tells replay of nothing: reports go with later records.
    await cloud.createClient("reader").snapshot((s) => s.get(rows, { id: "x" }));
    cloud.resumeReplay();
    await cloud.settled();
    await cloud.clock.sleep(60_000);
    expect(cloud.rows(rows)).toEqual([{ id: "x", n: 100 }]);
  });
});

test.each([false, true])(
  "in the process of the later commit, plain put, as by default (history: %s): no older value",
  async (history) => {
    const tables = [testTable(rows, { partitionKey: "id", history })];
    const cloud = await createTestCloud({ tables });
    cloud.pauseReplay();
    await cloud.run(async () => {
      await put(cloud, "first", 1);
      const second = cloud.createClient("second");
      await second.transact({ ack: "installed" }, (tx) => {
        tx.put(rows, { id: "x", n: 2 });
        return Promise.resolve();
      });
      await plainPut(cloud, 100);
      await second.transact(async (tx) => {
        const row = await tx.get(rows, { id: "x" });
        tx.put(rows, { id: "y", n: row?.n ?? 0 });
      });
      // What the transaction saw: the plain write, or the newest commit again; never the first.
      const seen = cloud.rows(rows).find(({ id }) => id === "y")?.n;
      expect([100, 2]).toContain(seen);
    });
  },
);

test("a reader of a moment before the later commit, plain delete: no older value", async () => {
  const cloud = await cloudWithoutReplay();
  await cloud.run(async () => {
    const { commitTimestamp: asOf } = (await put(cloud, "first", 1)).receipt;
    if (asOf === undefined) throw new Error("nothing was committed");
    await put(cloud, "second", 2);
    expect(cloud.rows(rows)).toEqual([{ id: "x", n: 2 }]);
    await plainDelete(cloud);
    const reader = cloud.createClient("reader");
    const options = { asOf, attemptsMax: 1 };
    await reader.snapshot(options, (s) => s.get(rows, { id: "x" })).catch(() => undefined);
    expect([undefined, 2]).toContain(cloud.rows(rows)[0]?.n);
  });
});
