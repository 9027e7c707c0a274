/**
 * A part of a stranger's that names a moment to which another of its logs has not come. Nobody can
 * have seen that there, so it says nothing true, and must not bar for good what it has checked.
 */
import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { Part, ShardNumber, Timestamp } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import { sealedAt } from "./producer.ts";

const rows = defineTable<{ readonly n: number }, { readonly id: string }>("rows", { key: "id" });
const ids = Array.from({ length: 12 }, (_, n) => `row-${n.toString()}`);

test.each([
  ["half a second ahead, all logs decide", 500_000, false],
  ["half a second ahead, a vote decides", 500_000, true],
  ["an hour ahead, all logs decide", 3_600_000_000, false],
  ["an hour ahead, a vote decides", 3_600_000_000, true],
  ["beyond all time, all logs decide", limits.timestampMax, false],
  ["beyond all time, a vote decides", limits.timestampMax, true],
])("does not bar whoever meets it: %s", async (_, aheadMicros, isVoted) => {
  const cloud = await createTestCloud({
    ...{ shards: 2, commit: "stream" },
    tables: [testTable("rows", { partitionKey: "id" })],
  });
  const write = (prefix: string) =>
    cloud.createClient().transact({ deadlineMs: 30_000 }, (tx) => {
      for (const id of ids) tx.put(rows, { id: `${prefix}-${id}`, n: 1 });
      return Promise.resolve();
    });
  await cloud.run(async () => {
    await write("before");
    // A log that is younger says nothing of what lies so far below the part.
    await cloud.clock.sleep(limits.partAheadMicrosMax / 1_000);
    const { receipt } = await write("between");
    const checkedTo = (receipt.commitTimestamp ?? 0) as Timestamp;
    const ahead = Math.min(checkedTo + aheadMicros, limits.timestampMax) as Timestamp;
    const [, second] = cloud.deployment.logs.values();
    const checks = ids.map((id) => {
      return cloud.deployment.hashes.item(
        { name: "rows", partitionKey: "id" },
        { id: { S: `after-${id}` } },
      ).key;
    });
    const parts = [ahead, checkedTo].map((from, shard): Part => {
      return { shard: shard as ShardNumber, from, ...(isVoted ? { stamps: 0 } : {}) };
    });
    const request = encodeCommitRequest({
      ...{ kind: "prepare", id: sealedAt(checkedTo).id, parts, isolation: "serializable" },
      ...{ checkedTo, checks, payload: { kind: "none" } },
    });
    const Data = encodeCommitRecord(second?.fingerprint ?? 0, [request]);
    const StreamName = cloud.deployment.stream;
    cloud.world.kinesis.execute("PutRecord", { StreamName, PartitionKey: "x", Data });
    cloud.world.streamWritten();
    await cloud.clock.sleep(100);
    await write("after");
  });
  expect(await cloud.settled()).toBe(true);
  expect(cloud.rows(rows)).toHaveLength(3 * ids.length);
});
