/**
 * A shard of the deployment through splits and merges of the stream, on a real Kinesis protocol
 * server.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAwsClients } from "../../aws/clients.ts";
import { deploymentNames } from "../../aws/names.ts";
import { createTables } from "../../aws/create-tables.ts";
import { provisionDeployment, systemTables } from "../../aws/provision.ts";
import { historyRetentionMsDefault as historyRetentionMs } from "../../core/limits.ts";
import { fillControlTable } from "../../aws/fill-control-table.ts";
import type { SequenceNumber } from "../../core/types.ts";
import { recordsAt, startLocalStores, type LocalStores } from "../harness/local-stores.ts";
import { openReshard, type Reshard } from "../harness/reshard.ts";

let stores: LocalStores;
let stream: Reshard;

async function begin(shardCount: number, shards = 1): Promise<void> {
  stores = await startLocalStores({ shardCount, shards });
  stream = await openReshard(stores.clientOptions, stores.ports.names.stream);
}
afterEach(async () => {
  await stream.close();
  await stores.stop();
});

async function put(byte: number): Promise<SequenceNumber> {
  const [result] = await stores.ports.stream.put(stores.shard, [Uint8Array.of(byte)]);
  if (result?.kind !== "stored") throw new Error("not stored");
  return result.sequenceNumber;
}

/** The bytes from the record on, by ports that have read nothing yet. */
async function bytesFrom(from: SequenceNumber): Promise<(number | undefined)[]> {
  const ports = stores.openPorts();
  const records = await recordsAt({ ports }, { shard: stores.shard, from });
  return records.map(({ data }) => data[0]);
}

describe("a shard whose stream is resharded", () => {
  beforeEach(() => begin(1));

  test("takes records with rising sequence numbers, and gives each back by them", async () => {
    const numbers = [await put(1), await put(2)];
    const [lower, upper] = await stream.split(stores.shard);
    numbers.push(await put(3));
    const merged = await stream.merge(lower, upper);
    numbers.push(await put(4));
    await stream.split(merged);
    numbers.push(await put(5));
    const ordered = numbers.toSorted((left, right) => (BigInt(left) < BigInt(right) ? -1 : 1));
    expect(numbers).toEqual(ordered);
    const found = await Promise.all(numbers.map(bytesFrom));
    expect(found).toEqual([[1, 2], [2], [3], [4], [5]]);
    // The same ports, back and forth between the Kinesis shards.
    const { ports } = stores;
    for (const index of [4, 0, 3, 1]) {
      const from = numbers[index] as SequenceNumber;
      const [record] = await recordsAt({ ports }, { shard: stores.shard, from, recordsMax: 1 });
      expect(record?.data[0]).toBe(index + 1);
    }
  });

  test("owns every Kinesis shard that covers its hash key, and no other", async () => {
    const { shardOwners } = stores.ports;
    const [lower, upper] = await stream.split(stores.shard);
    expect(await shardOwners.ownersOf(stores.shard)).toEqual([stores.shard]);
    expect(await shardOwners.ownersOf(lower)).toEqual([stores.shard]);
    expect(await shardOwners.ownersOf(upper)).toEqual([]);
    const merged = await stream.merge(lower, upper);
    expect(await shardOwners.ownersOf(merged)).toEqual([stores.shard]);
    await expect(shardOwners.ownersOf("shardId-000000000099")).rejects.toMatchObject({
      fault: "unavailable",
    });
  });

  test("gives nothing for a sequence number that no Kinesis shard gave out", async () => {
    const first = await put(1);
    const below = (BigInt(first) / 10n).toString() as SequenceNumber;
    const read = await stores.ports.stream.read(stores.shard, below, { recordsMax: 10 });
    expect(read).toEqual({ kind: "unseen", complete: true });
  });

  test("stays the deployment's only shard when it is provisioned again", async () => {
    const [lower] = await stream.split(stores.shard);
    const { clientOptions, deployment } = stores;
    expect(await provisionDeployment({ ...clientOptions, deployment })).toEqual([stores.shard]);
    const seeded = await fillControlTable({
      ...clientOptions,
      deployment,
      tables: [],
      historyRetentionMs,
    });
    expect(seeded.shards).toEqual([stores.shard]);
    expect(await stores.ports.control.shards()).toEqual([stores.shard]);
    expect(lower).not.toBe(stores.shard);
  });
});

describe("two shards of one deployment", () => {
  beforeEach(() => begin(2, 2));

  test("are carried by two Kinesis shards, or by one that a merge makes of them", async () => {
    const { shardOwners } = stores.ports;
    const [lower, upper] = (await stream.shards()).map(({ id }) => id);
    expect(await shardOwners.ownersOf(lower ?? "")).toEqual(["shardId-000000000000"]);
    expect(await shardOwners.ownersOf(upper ?? "")).toEqual(["shard-001"]);
    const merged = await stream.merge(lower ?? "", upper ?? "");
    expect(await shardOwners.ownersOf(merged)).toEqual(["shardId-000000000000", "shard-001"]);
  });
});

describe("a deployment whose stream begins with several Kinesis shards, as on demand does", () => {
  beforeEach(() => begin(1));

  test("has one shard, at the lowest hash key", async () => {
    const { clientOptions } = stores;
    const deployment = `${stores.deployment}-od`;
    const names = deploymentNames(deployment);
    // Tables and a stream of four, as Terraform leaves them: nothing is listed yet.
    const clients = createAwsClients(clientOptions);
    const { sdk, client } = await clients.kinesis();
    const StreamName = names.stream;
    await client.send(new sdk.CreateStreamCommand({ StreamName, ShardCount: 4 }));
    await sdk.waitUntilStreamExists({ client, maxWaitTime: 30, minDelay: 1 }, { StreamName });
    await clients.close();
    await createTables(clientOptions, systemTables(names));
    const { shards } = await fillControlTable({
      ...clientOptions,
      deployment,
      tables: [],
      historyRetentionMs,
    });
    expect(shards).toEqual(["shardId-000000000000"]);
    const again = await fillControlTable({
      ...clientOptions,
      deployment,
      tables: [],
      historyRetentionMs,
    });
    expect(again.shards).toEqual(shards);
  });
});
