/**
 * The zips as Lambda runs them: each in a fresh Node process with the environment of the module,
 * fed with events that were recorded where a cloud's own mapping, schedule and HTTP API had made
 * them (ministack 1.5.33).
 */
import { splitPolicyBounds } from "../../core/split-policy.ts";
import { splitVariable } from "../../functions/splitter/policy.ts";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { historyRetentionMsDefault as historyRetentionMs } from "../../core/limits.ts";
import type { Timestamp } from "../../core/types.ts";
import { encodeCommitRecord } from "../../schemas/commit-record.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { moduleFile } from "../../localstack/module-settings.ts";
import { startFaultyProxy, type FaultyProxy } from "../harness/faulty-proxy.ts";
import {
  functionProcess,
  startBundledDeployment,
  type BundledDeployment,
} from "./bundled-deployment.ts";
import type { LambdaProcess } from "./lambda-process.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

type KinesisRecord = {
  readonly kinesis: { readonly sequenceNumber: string; readonly data: string };
};

const recorded = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), "utf8"));
const kinesisEvent = inTodaysFormat(
  recorded("kinesis-event") as { readonly Records: readonly [KinesisRecord] },
);
const scheduledEvent = recorded("scheduled-event");
const httpEvent = recorded("http-api-event");
const { sequenceNumber } = kinesisEvent.Records[0].kinesis;
/** Up to here the client had checked when it sent the recorded commit. */
const createdAt = 1_795_205_227_726_000 as Timestamp;

const accounts = {
  name: "accounts",
  partitionKey: { name: "id", type: "S" },
  history: true,
} as const;

/**
 * The recorded event, its one record made again: it was recorded before records named the hash
 * secret. The request in it, from byte 6 on, is as it was.
 */
function inTodaysFormat<Event extends { readonly Records: readonly [KinesisRecord] }>(
  event: Event,
): Event {
  const [record] = event.Records;
  const request = Buffer.from(record.kinesis.data, "base64").subarray(6);
  const made = encodeCommitRecord(sampleHashes.fingerprint, [request]);
  const data = Buffer.from(made).toString("base64");
  return { ...event, Records: [{ ...record, kinesis: { ...record.kinesis, data } }] };
}

let deployed: BundledDeployment;
let faulty: FaultyProxy;
const extra: LambdaProcess[] = [];

beforeAll(async () => {
  deployed = await startBundledDeployment([accounts], { createdAt });
  faulty = await startFaultyProxy(deployed.servers.endpoint.dynamodb);
}, 120_000);

afterAll(async () => {
  await Promise.all(extra.map((each) => each.stop()));
  await faulty.stop();
  await deployed.stop();
});

async function blocks() {
  const { blocks: found } = await deployed.ports.log.readAfter(deployed.shard, 0 as never);
  return found.map(({ bytes, position }) => decodeLogBlock(bytes, position, sampleHashes));
}

async function balanceOf(name: string): Promise<unknown> {
  const [table] = await deployed.ports.control.tables();
  if (table === undefined) throw new Error("no table is registered");
  const { item } = await deployed.ports.items.get(table, { id: { S: name } });
  return item?.["balanceCents"];
}

/** A zip whose DynamoDB is the proxy: warm, so that only the invocation's own time counts. */
async function onFaultyStore(role: "oracle" | "replay"): Promise<LambdaProcess> {
  const process = await functionProcess(role, faulty.url);
  extra.push(process);
  expect(await process.invoke({ Records: [] })).toMatchObject({ kind: "result" });
  return process;
}

describe("what is not finished is delivered again", () => {
  test("replay returns records that the log does not cover yet, before its time ends", async () => {
    // Warm, so that only the invocation's own time counts.
    await deployed.invoke("replay", { Records: [] });
    const outcome = await deployed.functions.replay.invoke(kinesisEvent, 4_000);
    expect(outcome).toEqual({
      kind: "result",
      result: { batchItemFailures: [{ itemIdentifier: sequenceNumber }] },
    });
  });

  test("the oracle fails the batch by itself when the log's table does not answer", async () => {
    const oracle = await onFaultyStore("oracle");
    faulty.fail("PutItem", { kind: "hang" });
    const outcome = await oracle.invoke(kinesisEvent, 3_000);
    expect(outcome).toMatchObject({ kind: "error", name: "InvocationDeadlineError" });
    expect(await blocks()).toEqual([]);
    // The same process goes on: no cold start, and no half-made state.
    expect(await oracle.invoke(kinesisEvent, 20_000)).toMatchObject({ kind: "result" });
    expect(oracle.coldStarts).toBe(1);
    expect(await blocks()).toHaveLength(1);
  });

  test("replay fails the batch by itself when a table does not answer", async () => {
    const replay = await onFaultyStore("replay");
    faulty.fail("BatchGetItem", { kind: "hang" });
    const outcome = await replay.invoke(kinesisEvent, 3_000);
    expect(outcome).toMatchObject({ kind: "error", name: "InvocationDeadlineError" });
    expect(await balanceOf("ann")).toBeUndefined();
  });
});

describe("recorded events", () => {
  test("the oracle certifies a mapping's batch once, however often it is delivered", async () => {
    for (let delivery = 0; delivery < 2; delivery += 1) {
      expect(await deployed.invoke("oracle", kinesisEvent)).toBeNull();
    }
    const log = await blocks();
    expect(log.flatMap(({ verdicts }) => verdicts.map(({ kind }) => kind))).toEqual(["committed"]);
  });

  test("replay installs what the mapping brings", async () => {
    expect(await deployed.invoke("replay", kinesisEvent)).toEqual({ batchItemFailures: [] });
    expect(await balanceOf("ann")).toEqual({ N: "100" });
    expect(await balanceOf("bob")).toEqual({ N: "0" });
  });

  test("replay and reaper take a schedule's event", async () => {
    expect(await deployed.invoke("replay", scheduledEvent)).toEqual({ batchItemFailures: [] });
    expect(await deployed.invoke("reaper", scheduledEvent)).toBeNull();
  });

  test("the auditor takes the event of a table's stream, and refuses another", async () => {
    const dynamodb = { Keys: { pk: { S: "a" } }, NewImage: { pk: { S: "a" } } };
    const eventSourceARN = "arn:aws:dynamodb:us-east-1:123456789012:table/carts/stream/2026";
    const record = { eventName: "INSERT", dynamodb, eventSourceARN };
    expect(await deployed.invoke("auditor", { Records: [record] })).toBeNull();
    expect(await deployed.functions.auditor.invoke(kinesisEvent)).toMatchObject({
      kind: "error",
      message: "a record is of no table's stream",
    });
    expect(deployed.recorders.auditor.calls()).toEqual([]);
  });

  test("the API answers an HTTP API's event", async () => {
    await deployed.resume("oracle");
    const answer = await deployed.invoke("api", httpEvent);
    expect(answer).toMatchObject({ statusCode: 200, isBase64Encoded: false });
  });

  test("provision refuses a table that is not there, by name", async () => {
    const tables = [{ name: "nowhere", history: false }];
    const outcome = await deployed.functions.provision.invoke({ tables, historyRetentionMs });
    expect(outcome).toMatchObject({
      kind: "error",
      message: 'table "nowhere" does not exist; create it first',
    });
  });

  test("provision moves no watermark when it runs again", async () => {
    const before = await deployed.ports.control.readWatermark(deployed.shard);
    expect(before?.position).toBeGreaterThan(0);
    const tables = [{ name: "accounts", history: true }];
    expect(await deployed.invoke("provision", { tables, historyRetentionMs })).toEqual({
      shards: [deployed.shard],
      tables: ["accounts"],
    });
    expect(await deployed.ports.control.readWatermark(deployed.shard)).toEqual(before);
  });
});

describe("the environment", () => {
  test("is what the module sets, and nothing that a function does not read", () => {
    const set = new Set(moduleFile("functions.tf").match(/TIDEMARK_\w+/g));
    const code = readFileSync(
      new URL("../../functions/shared/environment.ts", import.meta.url),
      "utf8",
    );
    const read = [
      ...new Set(code.match(/(?<=\[")TIDEMARK_\w+/g)),
      ...Object.keys(splitPolicyBounds).map(splitVariable),
    ];
    expect([...set].sort()).toEqual(read.sort());
  });

  test("without the deployment's name a function says so at its start", async () => {
    const nameless = await functionProcess("oracle", "http://127.0.0.1:9", { deployment: "" });
    extra.push(nameless);
    expect(await nameless.invoke({ Records: [] })).toMatchObject({
      kind: "error",
      message: "TIDEMARK_DEPLOYMENT is not set: it names the deployment to work for",
    });
  });
});

describe("a cold start", () => {
  test.each(["oracle", "replay"] as const)(
    "of %s calls nobody before the first record",
    async (role) => {
      // Nothing listens there, and a call would fail the invocation.
      const fresh = await functionProcess(role, "http://127.0.0.1:9");
      extra.push(fresh);
      expect(await fresh.invoke({ Records: [] })).toMatchObject({ kind: "result" });
    },
  );
});
