import { Buffer } from "node:buffer";
import type { Context, KinesisStreamEvent } from "aws-lambda";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { StreamRecord } from "../../core/ports.ts";
import type { LogPosition } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { makeTransactionId } from "../../schemas/transaction-id.ts";
import { recordsAt, startLocalStores, type LocalStores } from "../harness/local-stores.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";

let stores: LocalStores;

beforeAll(async () => {
  stores = await startLocalStores();
  vi.stubEnv("TIDEMARK_DEPLOYMENT", stores.deployment);
  vi.stubEnv("TIDEMARK_LOG_LEVEL", "SILENT");
  vi.stubEnv("AWS_REGION", "us-east-1");
  vi.stubEnv("TIDEMARK_ENDPOINT_DYNAMODB", stores.servers.endpoint.dynamodb);
  vi.stubEnv("TIDEMARK_ENDPOINT_KINESIS", stores.servers.endpoint.kinesis);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await stores.stop();
});

/** The event that a Kinesis mapping makes of records. */
function eventOf(records: readonly StreamRecord[]): KinesisStreamEvent {
  return {
    Records: records.map(({ sequenceNumber, arrivalMs, data }) => ({
      kinesis: {
        kinesisSchemaVersion: "1.0",
        partitionKey: "0",
        sequenceNumber,
        data: Buffer.from(data).toString("base64"),
        approximateArrivalTimestamp: arrivalMs / 1000,
      },
      eventSource: "aws:kinesis",
      eventVersion: "1.0",
      eventID: `${stores.shard}:${sequenceNumber}`,
      eventName: "aws:kinesis:record",
      invokeIdentityArn: "",
      awsRegion: "us-east-1",
      eventSourceARN: "",
    })),
  };
}

test("certifies what a real stream delivers into a real log, twice seen, once", async () => {
  const { handler } = await import("../../functions/oracle/handler.ts");
  const { ports, shard } = stores;
  const watermark = await ports.control.readWatermark(shard);
  const checkedTo = watermark?.timestamp;
  if (checkedTo === undefined) throw new Error("the shard has no watermark");
  const partitionKey = { name: "pk", type: "S" } as const;
  const registration = { name: "accounts", partitionKey, history: false } as const;
  const table = { ...registration, access: "transactional" } as const;
  await ports.control.registerTable(table);
  const payload = encodePayload({
    tables: [{ name: "accounts", partitionKey: "pk", history: false }],
    writes: [{ table: 0, key: { pk: { S: "a" } }, item: { pk: { S: "a" } } }],
  });
  const request = encodeCommitRequest({
    kind: "commit",
    id: makeTransactionId(checkedTo, ports.random.bytes(9)),
    isolation: "serializable",
    checkedTo,
    checks: [],
    payload: { kind: "inline", bytes: payload },
  });
  const hashes = new KeyHashes(await ports.control.keyHasher(shard));
  const [put] = await ports.stream.put(shard, [encodeCommitRecord(hashes.fingerprint, [request])]);
  if (put?.kind !== "stored") throw new Error("the record was not stored");
  const records = await recordsAt({ ports }, { shard, from: put.sequenceNumber });
  const context = { getRemainingTimeInMillis: () => 30_000 } as Context;
  await handler(eventOf(records), context);
  await handler(eventOf(records), context);
  const { blocks } = await ports.log.readAfter(shard, 0 as LogPosition);
  expect(
    blocks.map(({ bytes, position }) => decodeLogBlock(bytes, position, hashes)),
  ).toMatchObject([
    {
      position: 1,
      cursor: { sequenceNumber: put.sequenceNumber, requestsDone: "all" },
      verdicts: [{ kind: "committed", payload: { kind: "stream", requestIndex: 0 }, writes: [{}] }],
    },
  ]);
});
