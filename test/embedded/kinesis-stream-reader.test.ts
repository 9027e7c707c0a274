/** The mapping on a real Kinesis protocol server: order over a split, expired iterators. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createAwsClients, type KinesisHandle } from "../../aws/clients.ts";
import { systemClock } from "../../aws/system.ts";
import { startEventSourceMapping } from "../../localstack/event-source-mapping.ts";
import { kinesisStreamReader } from "../../localstack/kinesis-stream-reader.ts";
import { startProtocolServer } from "../../localstack/protocol-server.ts";
import type { Checkpoint } from "../../localstack/shard-consumer.ts";
import { eventually } from "./fixtures/test-stack.ts";

const StreamName = "records";
const halfOfKeys = (2n ** 127n).toString();

async function startStream(): Promise<KinesisHandle> {
  const server = await startProtocolServer({ service: "kinesis", port: 0, folder: undefined });
  const clients = createAwsClients({ endpoint: `http://127.0.0.1:${server.port.toString()}` });
  onTestFinished(async () => {
    await clients.close();
    await server.close();
  });
  const kinesis = await clients.kinesis();
  await kinesis.client.send(new kinesis.sdk.CreateStreamCommand({ StreamName, ShardCount: 1 }));
  await untilActive(kinesis);
  return kinesis;
}

async function untilActive({ client, sdk }: KinesisHandle): Promise<void> {
  await eventually(async () => {
    const summary = await client.send(new sdk.DescribeStreamSummaryCommand({ StreamName }));
    return summary.StreamDescriptionSummary?.StreamStatus === "ACTIVE";
  });
}

async function put({ client, sdk }: KinesisHandle, text: string, hashKey = "0"): Promise<void> {
  const Data = new TextEncoder().encode(text);
  const record = { StreamName, Data, PartitionKey: "p", ExplicitHashKey: hashKey };
  await client.send(new sdk.PutRecordCommand(record));
}

function consume(kinesis: KinesisHandle): {
  readonly seen: string[];
  readonly checkpoints: Map<string, Checkpoint>;
} {
  const seen: string[] = [];
  const checkpoints = new Map<string, Checkpoint>();
  const mapping = startEventSourceMapping(
    {
      origin: { region: "us-east-1", streamArn: "arn", roleArn: "arn" },
      batchSize: 3,
      windowMs: 0,
      partialBatchResponse: false,
      invocationMsMax: 10_000,
      pollMsMin: 1,
      pollMsMax: 20,
      retryMsMin: 5,
      retryMsMax: 100,
    },
    {
      clock: systemClock,
      reader: kinesisStreamReader(kinesis, StreamName),
      invoke: async (event) => {
        await sleep(5);
        for (const { kinesis: record } of event.Records) {
          seen.push(Buffer.from(record.data, "base64").toString());
        }
      },
      loadCheckpoint: (shardId) => checkpoints.get(shardId),
      saveCheckpoint: (shardId, checkpoint) => checkpoints.set(shardId, checkpoint),
      report: () => undefined,
    },
  );
  onTestFinished(() => mapping.stop());
  return { seen, checkpoints };
}

test("a parent's records come before its children's, and the parent is then finished", async () => {
  const kinesis = await startStream();
  for (let index = 0; index < 8; index += 1) await put(kinesis, `parent-${index.toString()}`);
  const { client, sdk } = kinesis;
  await client.send(
    new sdk.SplitShardCommand({
      StreamName,
      ShardToSplit: "shardId-000000000000",
      NewStartingHashKey: halfOfKeys,
    }),
  );
  await untilActive(kinesis);
  await put(kinesis, "low", "0");
  await put(kinesis, "high", halfOfKeys);
  const { seen, checkpoints } = consume(kinesis);
  await eventually(() => seen.length === 10);
  const parents = Array.from({ length: 8 }, (_unused, index) => `parent-${index.toString()}`);
  expect(seen.slice(0, 8)).toEqual(parents);
  expect(new Set(seen.slice(8))).toEqual(new Set(["low", "high"]));
  expect(checkpoints.get("shardId-000000000000")).toEqual({ kind: "shard-end" });
});

test("a checkpoint's sequence number leads to the record behind it", async () => {
  const kinesis = await startStream();
  for (const text of ["one", "two", "three"]) await put(kinesis, text);
  const reader = kinesisStreamReader(kinesis, StreamName);
  const first = await reader.read(await reader.iterator("shardId-000000000000", undefined), 2);
  if (first.kind !== "records") throw new Error("expired");
  expect(first.records).toHaveLength(2);
  expect(Math.abs((first.records[0]?.arrivalMs ?? 0) - Date.now())).toBeLessThan(60_000);
  const after = first.records[1]?.sequenceNumber;
  const rest = await reader.read(await reader.iterator("shardId-000000000000", after), 10);
  if (rest.kind !== "records") throw new Error("expired");
  expect(rest.records.map(({ data }) => new TextDecoder().decode(data))).toEqual(["three"]);
});

test("no record is lost while the stream is written and read at the same time", async () => {
  const kinesis = await startStream();
  const { seen } = consume(kinesis);
  const texts = Array.from({ length: 300 }, (_unused, index) => index.toString());
  for (const [index, text] of texts.entries()) {
    await put(kinesis, text);
    // Pauses of all lengths, so that reads fall before, between and behind the writes.
    if (index % 7 === 0) await sleep(index % 30);
  }
  await eventually(() => seen.length >= texts.length);
  expect(seen).toEqual(texts);
});
