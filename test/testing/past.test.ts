/** A moment that is gone, as the caller of a snapshot meets it. */
import { DeleteItemCommand, ListTablesCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";

const rows = defineTable<{ value: number }, { id: string }>("rows", { key: "id" });

test("a snapshot `asOf` a moment that is gone says that a repeat is in vain", async () => {
  const cloud = await createTestCloud({ tables: [rows] });
  const client = cloud.createClient();
  const write = (value: number) =>
    cloud.run(() =>
      client.transact(async (tx) => {
        tx.put(rows, "a", { value });
      }),
    );
  const { receipt } = await write(1);
  await write(2);
  const read = (asOf: number) =>
    cloud.run(() => client.snapshot({ asOf }, (snapshot) => snapshot.get(rows, "a")));
  const gone = { name: "SnapshotTooOldError", retryable: false };
  const first = Number(receipt.commitTimestamp);
  await expect(read(first)).rejects.toMatchObject(gone);
  const scanned = cloud.run(() =>
    client.snapshot({ asOf: first }, (snapshot) => snapshot.scan(rows).all()),
  );
  await expect(scanned).rejects.toMatchObject(gone);
  await expect(read(first - 7_200_000_000)).rejects.toMatchObject(gone);
});

test("history that is gone does not come back, for an item nor for a page", async () => {
  const cloud = await createTestCloud({
    tables: [testTable(rows, { partitionKey: "id", history: true })],
  });
  const client = cloud.createClient();
  const write = (value: number) =>
    cloud.run(() =>
      client.transact(async (tx) => {
        tx.put(rows, "a", { value });
      }),
    );
  const { receipt } = await write(1);
  await write(2);
  await cloud.settled();
  const asOf = Number(receipt.commitTimestamp);
  const get = () => cloud.run(() => client.snapshot({ asOf }, (past) => past.get(rows, "a")));
  const scan = () => cloud.run(() => client.snapshot({ asOf }, (past) => past.scan(rows).all()));
  expect([await get(), await scan()]).toEqual([{ id: "a", value: 1 }, [{ id: "a", value: 1 }]]);
  await cloud.run(() => forgetVersions(cloud));
  const gone = { name: "SnapshotTooOldError", retryable: false };
  await expect(get()).rejects.toMatchObject(gone);
  await expect(scan()).rejects.toMatchObject(gone);
});

async function forgetVersions({ dynamodb }: TestCloud): Promise<void> {
  const { TableNames = [] } = await dynamodb.send(new ListTablesCommand({}));
  const TableName = TableNames.find((name) => name.endsWith("-versions"));
  const { Items = [] } = await dynamodb.send(new ScanCommand({ TableName }));
  expect(Items.length).toBeGreaterThan(0);
  for (const { key, version } of Items) {
    if (key === undefined || version === undefined) throw new Error("no such key");
    await dynamodb.send(new DeleteItemCommand({ TableName, Key: { key, version } }));
  }
}
