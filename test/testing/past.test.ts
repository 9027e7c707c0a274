/** A moment that is gone, as the caller of a snapshot meets it. */
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/index.ts";

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
  await expect(read(first - 7_200_000_000)).rejects.toMatchObject(gone);
});
