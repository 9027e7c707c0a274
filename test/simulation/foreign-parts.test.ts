/**
 * Somebody who may write to the commit stream, and to nothing else, learns a transaction's id by
 * its part in one log, and sends a part of his own under it to another one, before the true one.
 */
import { expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import type { ShardNumber, TransactionId } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { transactionIdTimestamp } from "../../schemas/transaction-id.ts";
import { defineTable, type EngineEvent } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

const rows = defineTable<{ readonly n: number }, { readonly id: string }>("rows", { key: "id" });
const ids = Array.from({ length: 12 }, (_, n) => `row-${n.toString()}`);

// A known limit (docs/operations.md, Rights): a part does not prove that it is its id's. Once it
// does, all of the writes stand, and the second half of this changes.
test("whoever finds a stranger's part in its place is told of no commit", async () => {
  const cloud = await createTestCloud({
    ...{ shards: 2, commit: "stream" },
    tables: [testTable("rows", { partitionKey: "id" })],
  });
  const outcome = await cloud.run(async () => {
    await cloud.createClient("before").transact((tx) => {
      for (const id of ids) tx.put(rows, { id, n: 0 });
      return Promise.resolve();
    });
    let met: TransactionId | undefined;
    const onEvent = (event: EngineEvent): void => {
      if (event.kind !== "sent" || met !== undefined) return;
      met = event.transactionId;
      const at = transactionIdTimestamp(met);
      const parts = [0, 1].map((shard) => ({ shard: shard as ShardNumber, from: at }));
      const foreign = { kind: "prepare", id: met, parts, isolation: "serializable" } as const;
      const nothing = { checks: [], payload: { kind: "none" } } as const;
      const request = encodeCommitRequest({ ...foreign, checkedTo: at, ...nothing });
      const [, other] = cloud.deployment.logs.values();
      const Data = encodeCommitRecord(other?.fingerprint ?? 0, [request]);
      const StreamName = cloud.deployment.stream;
      cloud.world.kinesis.execute("PutRecord", { StreamName, PartitionKey: "x", Data });
      cloud.world.streamWritten();
    };
    const victim = cloud.startProcess("victim", { onEvent });
    return victim.client
      .transact({ deadlineMs: 10_000, attemptsMax: 1, ack: "certified" }, (tx) => {
        for (const id of ids) tx.put(rows, { id, n: 1 });
        return Promise.resolve();
      })
      .then(
        () => "committed",
        (error: unknown) => error,
      );
  });
  expect(outcome).toBeInstanceOf(InvariantViolation);
  await cloud.settled();
  await cloud.advance(120_000);
  const written = cloud.rows(rows).filter(({ n }) => n === 1).length;
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThan(ids.length);
});
