/** Blocks of a log that no oracle and no client of ours has made. */
import { CreateTableCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
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
import { spillPayload } from "../../schemas/spill.ts";
import type { TestCloud } from "../../testing/index.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";

export const itemsTable: PayloadTable = { name: "items", partitionKey: "id", history: false };
const ownTable = (what: string, partitionKey: string, sortKey: string): PayloadTable => ({
  name: `tidemark-test-${what}`,
  partitionKey,
  sortKey,
  history: false,
});
const control = ownTable("control", "pk", "sk");
const log = ownTable("log", "shard", "position");
export const text = (S: string): { S: string } => ({ S });
export const number = (n: number): { N: string } => ({ N: n.toString() });

/** Puts of nobody: what they name is what replay may not touch. */
export const forbidden: Readonly<Record<string, (shard: string) => readonly [PayloadTable, Item]>> =
  {
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

/** A put of the item, as a payload. */
export function putOf([table, item]: readonly [PayloadTable, Item]): Uint8Array {
  const names = [table.partitionKey, ...(table.sortKey === undefined ? [] : [table.sortKey])];
  const key = Object.fromEntries(names.map((name) => [name, item[name] ?? text("")]));
  const payload: Payload = { tables: [table], writes: [{ table: 0, key, item }] };
  return encodePayload(payload);
}

/**
 * With an append's rights, which no client has by the stream.
 * @param as the items that it says it writes, whatever the payload says.
 * @param stored the payload is spilled, and of its chunks these come to lie in the log.
 */
export async function append(
  cloud: TestCloud,
  {
    payload,
    as,
    stored,
  }: {
    readonly payload: Uint8Array;
    readonly as: readonly (readonly [PayloadTable, Item])[];
    readonly stored?: ((chunks: readonly Uint8Array[]) => readonly Uint8Array[]) | undefined;
  },
): Promise<void> {
  const { deployment, world } = cloud;
  const ports = deployment.portsOf(world.startProcess("thief", { exact: true }), { calm: true });
  const hashes = new KeyHashes(await ports.control.keyHasher(deployment.shard));
  const watermark = await ports.control.readWatermark(deployment.shard);
  if (watermark === undefined) throw new Error("no watermark");
  const timestamp = (watermark.timestamp + 1) as Timestamp;
  const position = (watermark.position + 1) as LogPosition;
  const writes = as.map(([table, item]) => {
    const { table: tableHash, partition } = hashes.item(table, item);
    return { table: tableHash, partition, key: partition, sortKey: undefined };
  });
  const id = "00".repeat(16) as TransactionId;
  const { chunks, source } = spillPayload(payload, ports.digest);
  if (stored !== undefined) await ports.log.spill(id, stored(chunks));
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
        id,
        timestamp,
        writes,
        payload: stored === undefined ? { kind: "inline" as const, bytes: payload } : source,
      },
    ],
  };
  const bytes = encodeLogBlock(block, hashes);
  expect(await ports.log.append(deployment.shard, { position, bytes })).toBe("appended");
}

/** A table that nobody has registered. */
export async function createAudit(cloud: TestCloud): Promise<void> {
  await cloud.dynamodb.send(
    new CreateTableCommand({
      TableName: "audit",
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    }),
  );
}
