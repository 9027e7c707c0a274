/**
 * Blocks that a client has appended itself: what replay believes of their reports, and what becomes
 * of the shard when one of them moves the cursor of the stream.
 */
import { expect, test } from "vitest";
import { systemDigest } from "../../aws/system-digest.ts";
import type {
  InstalledReport,
  LogBlock,
  LogPosition,
  MakerNumber,
  Payload,
  SequenceNumber,
  Timestamp,
} from "../../core/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { transactionIdFor } from "../../schemas/transaction-id.ts";
import { defineTable } from "../../sdk/index.ts";
import {
  createTestCloud,
  testTable,
  type TestCloud,
  type TestCloudOptions,
} from "../../testing/index.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const maker = 0xab as MakerNumber;
const proof = new Uint8Array(9).fill(7);
const sweptMs = 90_000;

function openCloud(options: TestCloudOptions = {}): Promise<TestCloud> {
  return createTestCloud({ ...options, tables: [testTable("items", { partitionKey: "id" })] });
}

function put(cloud: TestCloud, id: string, n: number): Promise<unknown> {
  return cloud.createClient("app").transact((tx) => {
    tx.put(items, { id, n });
    return Promise.resolve();
  });
}

/** Appends a client's commit of `{ id: "x", n: 1 }`, which nobody installs; gives its timestamp. */
async function append(cloud: TestCloud, change: (at: Timestamp) => Partial<LogBlock>) {
  const { deployment, world } = cloud;
  const ports = deployment.portsOf(world.startProcess("client", { exact: true }), { calm: true });
  const hashes = new KeyHashes(await ports.control.keyHasher(deployment.shard));
  const [stored] = await ports.log.readBackward(deployment.shard, { blocksMax: 1 });
  if (stored === undefined) throw new Error("the log has a block");
  const last = decodeBlock(stored, hashes);
  const timestamp = (last.throughTimestamp + 1) as Timestamp;
  const table = { name: "items", partitionKey: "id", history: false };
  const key = { id: { S: "x" } };
  const payload: Payload = {
    tables: [table],
    writes: [{ table: 0, key, item: { ...key, n: { N: "1" } } }],
  };
  const { table: tableHash, partition } = hashes.item(table, key);
  const position = (last.position + 1) as LogPosition;
  const block: LogBlock = {
    position,
    previousTimestamp: last.throughTimestamp,
    throughTimestamp: timestamp,
    cursor: last.cursor,
    arrivalMs: 0,
    rejectedRecords: 0,
    maker: { number: maker, installed: [] },
    verdicts: [
      {
        kind: "committed",
        id: transactionIdFor(last.throughTimestamp, proof, systemDigest),
        timestamp,
        writes: [{ table: tableHash, partition, key: partition, sortKey: undefined }],
        payload: { kind: "inline", bytes: encodePayload(payload) },
      },
    ],
    ...change(timestamp),
  };
  const bytes = encodeLogBlock(block, hashes);
  expect(await ports.log.append(deployment.shard, { position, bytes })).toBe("appended");
  return timestamp;
}

/** A block that decides nothing, and says that the commit is installed. */
function saying(report: InstalledReport): (at: Timestamp) => Partial<LogBlock> {
  return (at) => ({
    throughTimestamp: (at - 1) as Timestamp,
    maker: { number: maker, installed: [report] },
    verdicts: [],
  });
}

test.each([
  ["with the proof of its id: replay does not look", proof, 0],
  ["with a guess, under its maker's number: replay looks", new Uint8Array(9).fill(8), 1],
])("I7: a block says that a commit is installed %s", async (_, shown, forged) => {
  const cloud = await openCloud();
  await cloud.run(async () => {
    await put(cloud, "other", 1);
    await cloud.settled();
    const timestamp = await append(cloud, () => ({}));
    await append(cloud, saying({ timestamp, proof: shown }));
    // No record brings them; the schedule's sweep finds them.
    await cloud.world.time.sleep(sweptMs);
  });
  expect(cloud.deployment.metrics.get("ForgedInstallReports") ?? 0).toBe(forged);
  // Who lies about a commit of its own loses that.
  const kept = [{ id: "other", n: 1 }, ...(forged > 0 ? [{ id: "x", n: 1 }] : [])];
  expect(cloud.rows(items)).toEqual(kept);
});

test("I9: one that moves the cursor: nothing is installed or certified over it", async () => {
  const cloud = await openCloud({ commit: "stream" });
  const ends = cloud.run(async () => {
    await put(cloud, "other", 1);
    await cloud.settled();
    await append(cloud, () => ({
      cursor: { sequenceNumber: "9".repeat(56) as SequenceNumber, requestsDone: "all" },
    }));
    await cloud.world.time.sleep(sweptMs);
    await put(cloud, "later", 1);
  });
  await expect(ends).rejects.toThrow("no decision on transaction");
  expect(cloud.rows(items)).toEqual([{ id: "other", n: 1 }]);
});
