/**
 * A log in which somebody else than the oracle has put blocks, and a table that is gone from the
 * registry: replay writes nothing that it should not, says so, and the shard goes on.
 */
import { CreateTableCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import type {
  Item,
  LogPosition,
  MakerNumber,
  Payload,
  PayloadTable,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const itemsTable: PayloadTable = { name: "items", partitionKey: "id", history: false };
const ownTable = (what: string, partitionKey: string, sortKey: string): PayloadTable => ({
  name: `tidemark-test-${what}`,
  partitionKey,
  sortKey,
  history: false,
});
const control = ownTable("control", "pk", "sk");
const log = ownTable("log", "shard", "position");
const text = (S: string): { S: string } => ({ S });
const number = (n: number): { N: string } => ({ N: n.toString() });

const sweptMs = 90_000;

/** Puts of nobody: what they name is what replay may not touch. */
const forbidden: Readonly<Record<string, (shard: string) => readonly [PayloadTable, Item]>> = {
  "the watermark": (shard) => [
    control,
    { pk: text(`shard#${shard}`), sk: text("watermark"), position: number(9e6) },
  ],
  "an entry that is no idempotency entry": () => [
    control,
    { pk: text("idempotency#a"), sk: text("registry") },
  ],
  "a block of the log": (shard) => [log, { shard: text(shard), position: number(500) }],
  "a table that is not registered": () => [
    { name: "audit", partitionKey: "id", history: false },
    { id: text("victim") },
  ],
  "another key's attribute": () => [
    { ...itemsTable, partitionKey: "zz" },
    { zz: text("mine"), id: text("victim"), n: number(666) },
  ],
  "a sort key where there is none": () => [
    { ...itemsTable, sortKey: "zz" },
    { zz: text("mine"), id: text("victim"), n: number(666) },
  ],
  "a key of another type": () => [itemsTable, { id: number(1), n: number(666) }],
};

/** With an append's rights, which no client has. */
async function append(cloud: TestCloud, [table, item]: readonly [PayloadTable, Item]) {
  const { deployment, world } = cloud;
  const ports = deployment.portsOf(world.startProcess("thief", { exact: true }), { calm: true });
  const hashes = new KeyHashes(await ports.control.keyHasher(deployment.shard));
  const watermark = await ports.control.readWatermark(deployment.shard);
  if (watermark === undefined) throw new Error("no watermark");
  const timestamp = (watermark.timestamp + 1) as Timestamp;
  const names = [table.partitionKey, ...(table.sortKey === undefined ? [] : [table.sortKey])];
  const key = Object.fromEntries(names.map((name) => [name, item[name] ?? text("")]));
  const payload: Payload = { tables: [table], writes: [{ table: 0, key, item }] };
  const position = (watermark.position + 1) as LogPosition;
  const { table: tableHash, partition } = hashes.item(table, key);
  const write = { table: tableHash, partition, key: partition, sortKey: undefined };
  const block = {
    position,
    previousTimestamp: watermark.timestamp,
    throughTimestamp: timestamp,
    cursor: watermark.cursor,
    arrivalMs: 0,
    rejectedRecords: 0,
    maker: { number: 1 as MakerNumber, installed: [] },
    verdicts: [
      {
        kind: "committed" as const,
        id: "00".repeat(16) as TransactionId,
        timestamp,
        writes: [write],
        payload: { kind: "inline" as const, bytes: encodePayload(payload) },
      },
    ],
  };
  const bytes = encodeLogBlock(block, hashes);
  expect(await ports.log.append(deployment.shard, { position, bytes })).toBe("appended");
}

/** That nobody has registered. */
async function createAudit(cloud: TestCloud): Promise<void> {
  await cloud.dynamodb.send(
    new CreateTableCommand({
      TableName: "audit",
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    }),
  );
}

const put = (cloud: TestCloud, n: number): Promise<unknown> =>
  cloud.createClient("app").transact((tx) => {
    tx.put(items, { id: "victim", n });
    return Promise.resolve();
  });

test.each(Object.keys(forbidden))("a block that writes %s: replay does not", async (what) => {
  const cloud = await createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
  const { metrics, shard } = cloud.deployment;
  await cloud.run(async () => {
    await createAudit(cloud);
    await put(cloud, 1);
    await cloud.settled();
    const made = forbidden[what]?.(shard);
    if (made === undefined) throw new Error("nothing to write");
    await append(cloud, made);
    // No record brings it; the schedule's sweep finds it.
    await cloud.world.time.sleep(sweptMs);
    expect(cloud.rows(items)).toEqual([{ id: "victim", n: 1 }]);
    const audit = await cloud.dynamodb.send(new ScanCommand({ TableName: "audit" }));
    expect(audit.Items).toEqual([]);
    expect(metrics.get("DeadLetters")).toBe(1);
    await put(cloud, 2);
    await cloud.settled();
  });
  expect(cloud.rows(items)).toEqual([{ id: "victim", n: 2 }]);
});

test("a block whose write no table takes: its readers wait for replay, and go on", async () => {
  const tables = [testTable("items", { partitionKey: "id" })];
  const cloud = await createTestCloud({ tables, commit: "stream" });
  const { metrics } = cloud.deployment;
  await cloud.run(async () => {
    await put(cloud, 1);
    await cloud.settled();
    await append(cloud, [itemsTable, { id: text("x"), "": text("nameless") }]);
    const reader = cloud.createClient("reader");
    // A record of somebody else has replay look at the log.
    void cloud.clock.sleep(1_000).then(() => put(cloud, 2));
    const count = await reader.transact({}, async (tx) => {
      let rows = 0;
      for await (const row of tx.scan(items)) rows += row.n > 0 ? 1 : 0;
      return rows;
    });
    expect(count.result).toBe(1);
    await cloud.settled();
  });
  expect(metrics.get("DeadLetters")).toBe(1);
  expect(cloud.rows(items)).toEqual([{ id: "victim", n: 2 }]);
});
