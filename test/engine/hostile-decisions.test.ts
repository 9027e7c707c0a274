/**
 * I3 against a producer that knows an id of somebody else's: ids can be read from the log, and the
 * oracle, which has forgotten an id, decides it again. What was decided first stands.
 */
import { expect, test } from "vitest";
import type { CommitRequest, Timestamp, TransactionId } from "../../core/types.ts";
import { CommitUnknownError } from "../../core/errors.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { defineTable, type Client } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/index.ts";

const counters = defineTable<{ value: number }, { id: string }>("counters", { key: "id" });

async function set(client: Client, id: string, deadlineMs?: number): Promise<TransactionId> {
  const { receipt } = await client.transact(
    deadlineMs === undefined ? {} : { deadlineMs },
    (tx) => {
      tx.put(counters, { id }, { value: 1 });
      return Promise.resolve();
    },
  );
  return receipt.transactionId as TransactionId;
}

/** By when the oracle has forgotten the id. Gives the end of the log, for all that one knows. */
async function afterItsWindow(cloud: TestCloud, client: Client): Promise<Timestamp> {
  await cloud.settled();
  await cloud.clock.sleep(20_000);
  const { receipt } = await client.transact({}, (tx) => {
    tx.put(counters, { id: "bob" }, { value: 1 });
    return Promise.resolve();
  });
  await cloud.settled();
  return receipt.commitTimestamp as Timestamp;
}

async function produce(
  cloud: TestCloud,
  request: Pick<CommitRequest, "id" | "checkedTo" | "kind" | "payload">,
): Promise<void> {
  const { world, deployment } = cloud;
  const data = encodeCommitRecord(deployment.hashes.fingerprint, [
    encodeCommitRequest({ ...request, isolation: "serializable", checks: [] }),
  ]);
  const record = { StreamName: deployment.stream, PartitionKey: "x", Data: data };
  world.kinesis.execute("PutRecord", record);
  world.streamWritten();
  // An oracle that nobody has needed so far has to be started.
  await cloud.clock.sleep(5_000);
}

test("what was committed stays so, when its id is aborted later", async () => {
  const cloud = await createTestCloud({ tables: [counters] });
  await cloud.run(async () => {
    const owner = cloud.createClient("owner");
    const id = await set(owner, "ann");
    const checkedTo = await afterItsWindow(cloud, cloud.createClient("other"));
    await produce(cloud, { kind: "abort", id, checkedTo, payload: { kind: "none" } });
    expect(cloud.deployment.metrics.get("AbortedProbed")).toBe(1);
    expect(await owner.outcome(id)).toBe("committed");
    expect(await cloud.createClient("fresh").outcome(id)).toBe("committed");
    await cloud.settled();
    await cloud.clock.sleep(5_000);
    expect(await cloud.createClient("later").outcome(id)).toBe("committed");
  });
});

test("what was aborted stays so, when its id is committed later", async () => {
  const cloud = await createTestCloud({ tables: [counters] });
  await cloud.run(async () => {
    const process = cloud.startProcess("owner");
    process.nextCommitUnknown("aborted");
    const error: unknown = await set(process.client, "ann", 3_000).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CommitUnknownError);
    const id = (error as CommitUnknownError).transactionId;
    const asker = cloud.createClient("asker");
    expect(await asker.outcome(id)).toBe("aborted");
    const checkedTo = await afterItsWindow(cloud, asker);
    const ann = { id: { S: "ann" } };
    const bytes = encodePayload({
      tables: [{ name: "counters", partitionKey: "id", history: false }],
      writes: [{ table: 0, key: ann, item: { ...ann, value: { N: "2" } } }],
    });
    await produce(cloud, { kind: "commit", id, checkedTo, payload: { kind: "inline", bytes } });
    // It is a commit like any other of that producer's; the id has been told "aborted".
    const shown = await asker.transact({}, (tx) => tx.get(counters, { id: "ann" }));
    expect(shown.result).toMatchObject({ value: 2 });
    expect(await asker.outcome(id)).toBe("aborted");
    expect(await cloud.createClient("fresh").outcome(id)).toBe("aborted");
  });
});
