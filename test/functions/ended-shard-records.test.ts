/**
 * Records for a shard that was joined to another one, late ones of clients that had not heard of
 * it: they are counted and commit nothing, and neither their own shard's delivery nor the heir's
 * waits for them.
 */
import { expect, test } from "vitest";
import type { ShardId } from "../../core/types.ts";
import { encodeCommitRecord } from "../../schemas/commit-record.ts";
import { createTestCloud, type TestCloud } from "../../testing/index.ts";
import { accounts, bankTables, ids } from "../engine/sharded/bank.ts";
import { blindCommit, putOf, sealedAt } from "../simulation/producer.ts";

const table = { name: "accounts", partitionKey: "id", history: true };

/** As a client by an old map sends it. */
function sendTo(cloud: TestCloud, shard: ShardId, amount: number): void {
  const { deployment, world } = cloud;
  const { id } = sealedAt(Math.trunc(world.time.nowMs) * 1_000);
  const key = { id: { S: ids[0] ?? "" }, amount: { N: amount.toString() } };
  const request = blindCommit(id, 0, putOf(table, ["id"], key));
  const fingerprint = deployment.logs.get(shard)?.fingerprint;
  if (fingerprint === undefined) throw new Error("the shard has a log");
  world.kinesis.execute("PutRecord", {
    StreamName: deployment.stream,
    PartitionKey: "late",
    Data: encodeCommitRecord(fingerprint, [request], []),
  });
  world.streamWritten();
}

test("records for a shard that is no more are counted, and stop nothing", async () => {
  const cloud = await createTestCloud({ shards: 2, commit: "express", tables: bankTables });
  const counted = (): number => cloud.deployment.metrics.get("EndedShardRecords") ?? 0;
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    const put = async (by: typeof client, amount: number): Promise<void> => {
      await by.transact((tx) => {
        for (const id of ids) tx.put(accounts, { id, amount });
        return Promise.resolve();
      });
    };
    await put(client, 1);
    await cloud.joinShards(1);
    await put(client, 2);
    const joined = [...cloud.deployment.logs.keys()].at(-1) ?? cloud.deployment.shard;
    for (const amount of [100, 200, 300]) {
      sendTo(cloud, joined, amount);
      await cloud.clock.sleep(5_000);
    }
    expect(counted()).toBe(3);
    await put(cloud.createClient("by stream", { commit: "stream" }), 3);
    expect(counted()).toBe(3);
  });
  expect(await cloud.settled()).toBe(true);
  expect(cloud.rows(accounts).map(({ amount }) => amount)).toEqual(ids.map(() => 3));
  expect(cloud.deployment.metrics.get("Committed")).toBe(1);
});
