/**
 * A deployment of tables alone, on real protocol servers: what provisioning makes of it, how its
 * house is kept, and how a stream comes beside it while it is used.
 */
import { ListStreamsCommand } from "@aws-sdk/client-kinesis";
import { afterEach, describe, expect, test } from "vitest";
import { createAwsClients } from "../../aws/clients.ts";
import { provisionDeployment } from "../../aws/provision.ts";
import { systemDigest } from "../../aws/system-digest.ts";
import type {
  Item,
  LogBlock,
  LogPosition,
  MakerNumber,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import type { CallBounds, Engine } from "../../engine/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import { keepHouse } from "../../functions/housekeeping/service.ts";
import { createReplayService } from "../../functions/replay/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { transactionIdFor } from "../../schemas/transaction-id.ts";
import { startLocalDeployment } from "../harness/local-deployment.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";
import { storedN } from "../integration/fragile.ts";
import { key, number, numberOf, putAll, readOne, text } from "../integration/support.ts";
import { actorAs } from "../integration/trust/roles.ts";
import { putOf } from "../simulation/producer.ts";

const observability = silentObservability;
const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.stop();
});

async function tablesAlone(): Promise<{ stores: LocalStores; table: TableDescription }> {
  const stores = await startLocalStores({ stream: false });
  opened.push(stores);
  return { stores, table: await stores.createTable("rows") };
}

function provision({ clientOptions, deployment }: LocalStores, stream: boolean) {
  return provisionDeployment({ ...clientOptions, deployment, stream });
}

/** A client's block that commits an item, and dies: it follows what the log holds. */
async function commitAndDie(stores: LocalStores, table: TableDescription, name: string) {
  const { ports, shard, hashes } = stores;
  const [stored] = await ports.log.readBackward(shard, { blocksMax: 1 });
  const last = stored && decodeBlock(stored, hashes);
  const watermark = await ports.control.readWatermark(shard);
  const before = last?.throughTimestamp ?? watermark?.timestamp ?? (0 as Timestamp);
  const timestamp = Math.max(before + 1, Date.now() * 1_000) as Timestamp;
  const named = { name: table.name, partitionKey: "pk", history: false };
  const position = ((last?.position ?? 0) + 1) as LogPosition;
  const block: LogBlock = {
    position,
    previousTimestamp: before,
    throughTimestamp: timestamp,
    cursor: last?.cursor,
    arrivalMs: 0,
    rejectedRecords: 0,
    maker: { number: 7 as MakerNumber, installed: [] },
    verdicts: [
      {
        kind: "committed",
        id: transactionIdFor(before, new Uint8Array(9).fill(7), systemDigest),
        timestamp,
        writes: [hashes.item(named, key(name))],
        payload: {
          kind: "inline",
          bytes: encodePayload(putOf(named, ["pk"], { ...key(name), n: number(1) })),
        },
      },
    ],
  };
  const bytes = encodeLogBlock(block, hashes);
  expect(await ports.log.append(shard, { position, bytes })).toBe("appended");
  return { position, timestamp };
}

function keep(stores: LocalStores, ports: Partial<LocalStores["ports"]> = {}) {
  const all = { ...stores.openPorts(), ...ports };
  const replay = createReplayService(all, observability, { patienceMs: 0, ownInstallMs: 0 });
  return keepHouse({ ports: all, replay, observability }, { remainingMs: () => 30_000 });
}

test("provisioning lists the shard that a stream would begin with, and makes none", async () => {
  const { stores } = await tablesAlone();
  const { control } = stores.ports;
  expect(await control.shards()).toEqual(["shardId-000000000000"]);
  expect(await control.registry()).toMatchObject({ streamless: true });
  expect(await control.readWatermark(stores.shard)).toMatchObject({ position: 0 });
  const clients = createAwsClients(stores.clientOptions);
  const { client } = await clients.kinesis();
  const { StreamNames } = await client.send(new ListStreamsCommand({}));
  await clients.close();
  expect(StreamNames).not.toContain(stores.ports.names.stream);
  const before = await control.shardEntries();
  expect(await provision(stores, false)).toEqual(stores.shards);
  expect(await control.shardEntries()).toEqual(before);
});

test("a deployment that has a stream is not taken for one of tables alone", async () => {
  const stores = await startLocalStores();
  opened.push(stores);
  expect(await stores.ports.control.registry()).toMatchObject({ streamless: false });
  await expect(provision(stores, false)).rejects.toMatchObject({
    code: "invalid-request",
    field: "stream",
    message: expect.stringContaining("close it first") as string,
  });
  expect(await stores.ports.control.registry()).toMatchObject({ streamless: false });
});

test("what a dead client left is installed, and the watermark moves", async () => {
  const { stores, table } = await tablesAlone();
  const { position } = await commitAndDie(stores, table, "left");
  const { replayed, reaped } = await keep(stores);
  expect(await storedN(stores, table, key("left"))).toBe(1);
  expect(replayed).toMatchObject([{ watermark: { position } }]);
  // The reaper has seen where replay got to.
  expect(reaped).toMatchObject({ shards: 1, failures: [] });
  const [sample] = await stores.ports.control.watermarkSamples(stores.shard);
  expect(sample?.timestamp).toBe(replayed[0]?.watermark.timestamp);
});

test("a shard that replay cannot go on with fails the run, and the reaper has run", async () => {
  const { stores } = await tablesAlone();
  const position = 1 as LogPosition;
  await stores.ports.log.append(stores.shard, { position, bytes: new Uint8Array([1]) });
  await expect(keep(stores)).rejects.toMatchObject({ code: "corrupt-data" });
  expect(await stores.ports.control.watermarkSamples(stores.shard)).toHaveLength(1);
});

test("a stream comes beside a log that clients have written, and carries it on", async () => {
  const { stores, table } = await tablesAlone();
  await commitAndDie(stores, table, "alone");
  await keep(stores);
  await commitAndDie(stores, table, "not installed");
  expect(await provision(stores, true)).toEqual(stores.shards);
  expect(await stores.ports.control.registry()).toMatchObject({ streamless: false });
  await expect(provision(stores, false)).rejects.toMatchObject({ field: "stream" });
  opened.splice(0, 1, await startLocalDeployment({ stores, stopped: ["replay"] }));
  const engine = createEngine(stores.openPorts());
  const { commitTimestamp } = await putAll(engine, table, [{ ...key("by stream"), n: number(2) }]);
  expect(await readOne(engine, table, key("not installed"))).toMatchObject({ n: number(1) });
  // A client goes on beside the oracle, with the cursor that its blocks have now.
  const { timestamp } = await commitAndDie(stores, table, "express");
  expect(timestamp).toBeGreaterThan(commitTimestamp ?? Infinity);
  await putAll(engine, table, [{ ...key("by stream"), n: number(3) }]);
  expect(await readOne(engine, table, key("express"))).toMatchObject({ n: number(1) });
  await keep(stores);
  for (const [name, n] of Object.entries({ alone: 1, "by stream": 3, express: 1 })) {
    expect(await storedN(stores, table, key(name))).toBe(n);
  }
  await engine.close();
});

test("clients commit express where there is no stream, without being told", async () => {
  const { stores, table } = await tablesAlone();
  const first = createEngine(stores.openPorts());
  await putAll(first, table, [{ ...key("a"), n: number(1) }]);
  const second = createEngine(stores.openPorts());
  const { receipt } = await second.transact({}, async (tx) => {
    const row = await tx.get(table.name, key("a"));
    tx.put(table.name, { ...key("a"), n: number(numberOf(row) + 1) });
  });
  expect(await readOne(first, table, key("a"))).toMatchObject({ n: number(2) });
  await keep(stores);
  expect((await stores.ports.control.readWatermark(stores.shard))?.timestamp).toBe(
    receipt.commitTimestamp,
  );
  await Promise.all([first.close(), second.close()]);
});

describe("where there is no stream", () => {
  const commit = (
    engine: Engine,
    table: TableDescription,
    items: readonly Item[],
    bounds: CallBounds = {},
  ) =>
    engine.transact(bounds, (tx) => {
      for (const item of items) tx.put(table.name, item);
      return Promise.resolve();
    });

  test("a commit that is larger than a block is spilled, and the block refers to it", async () => {
    const { stores, table } = await tablesAlone();
    const engine = createEngine(stores.openPorts());
    const data = text("x".repeat(200 * 1_024));
    for (const count of [2, 4]) {
      const rows = Array.from({ length: count }, (_, i) => ({
        ...key(`${count.toString()}-${i.toString()}`),
        ...{ data, n: number(i) },
      }));
      await commit(engine, table, rows);
      expect(await storedN(stores, table, key(`${count.toString()}-1`))).toBe(1);
    }
    await engine.close();
  });

  test("who may not append is told of the right, and nothing is committed", async () => {
    const { stores, table } = await tablesAlone();
    const denied = await actorAs("policy read-write", stores, [table.name]);
    const engine = createEngine(denied.ports);
    await expect(commit(engine, table, [key("a")], { deadlineMs: 1_000 })).rejects.toMatchObject({
      outcome: "aborted",
      field: "commit",
      message: expect.stringContaining("policy express") as string,
    });
    expect(await storedN(stores, table, key("a"))).toBe(0);
    await engine.close();
    await denied.stop();
  });

  test("a decided outcome is known, and one that is not is settled for good", async () => {
    const { stores, table } = await tablesAlone();
    const engine = createEngine(stores.openPorts());
    const { transactionId: id = "" } = await putAll(engine, table, [key("a")]);
    expect(await engine.outcome(id as TransactionId)).toMatchObject({ kind: "committed" });
    const undecided = `${id.slice(0, 14)}${"0".repeat(18)}` as TransactionId;
    expect(await engine.outcome(undecided)).toMatchObject({ kind: "aborted" });
    const other = createEngine(stores.openPorts());
    expect(await other.outcome(undecided)).toMatchObject({ kind: "aborted" });
    await other.close();
    await engine.close();
  });
});
