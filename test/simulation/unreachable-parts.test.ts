/** A part of a stranger's whose other log is to be read from before that log's beginning. */
import { expect, test } from "vitest";
import type { ShardNumber, Timestamp } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import { sealedAt } from "./producer.ts";

const rows = defineTable<{ readonly n: number }, { readonly id: string }>("rows", { key: "id" });
const ids = Array.from({ length: 12 }, (_, n) => `row-${n.toString()}`);

// A known limit (docs/operations.md): nothing bounds how far back a part may have to be looked for.
// Once something does, this write succeeds.
test("still bars whoever meets it", async () => {
  const cloud = await createTestCloud({
    ...{ shards: 2, commit: "stream" },
    tables: [testTable("rows", { partitionKey: "id" })],
  });
  const write = (prefix: string) =>
    cloud.createClient(prefix).transact({ deadlineMs: 30_000 }, (tx) => {
      for (const id of ids) tx.put(rows, { id: `${prefix}-${id}`, n: 0 });
      return Promise.resolve();
    });
  await cloud.run(async () => {
    const { receipt } = await write("before");
    await cloud.clock.sleep(2_000);
    const barred = ids.map((id) => {
      const key = { id: { S: `after-${id}` } };
      return cloud.deployment.hashes.item({ name: "rows", partitionKey: "id" }, key).key;
    });
    for (const { fingerprint } of cloud.deployment.logs.values()) {
      const checkedTo = (receipt.commitTimestamp ?? 0) as Timestamp;
      const parts = [0, 1].map((shard) => ({
        shard: shard as ShardNumber,
        from: 1 as Timestamp,
      }));
      const request = encodeCommitRequest({
        ...{ kind: "prepare", id: sealedAt(checkedTo).id, parts, isolation: "serializable" },
        ...{ checkedTo, checks: barred },
        payload: { kind: "none" },
      });
      const Data = encodeCommitRecord(fingerprint, [request]);
      const StreamName = cloud.deployment.stream;
      cloud.world.kinesis.execute("PutRecord", { StreamName, PartitionKey: "x", Data });
      cloud.world.streamWritten();
    }
    await cloud.clock.sleep(120_000);
    await expect(write("after")).rejects.toBeDefined();
  });
});
