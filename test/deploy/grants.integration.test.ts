/**
 * Least privilege, held against what the zips and the SDK really ask for: every call recorded on
 * the wire is granted, and every grant was needed. The same grants.json is what the Terraform
 * module makes policies of.
 */
import { DeleteTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { AwsPorts } from "../../aws/ports.ts";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { LogPosition, Timestamp, TransactionId } from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import type { Engine, ResultCodec } from "../../engine/types.ts";
import { httpApiEvent } from "../../localstack/http-event.ts";
import { scheduledEvent } from "../../localstack/lambda-runtime.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { makeTransactionId } from "../../schemas/transaction-id.ts";
import { localIdentity } from "../harness/local-servers.ts";
import { openReshard } from "../harness/reshard.ts";
import { startBundledDeployment, type BundledDeployment } from "./bundled-deployment.ts";
import type { RecordedCall } from "./call-recorder.ts";
import { denied, type Grant, readGrants, unused } from "./grants.ts";

const grants = readGrants();
const id = { name: "id", type: "S" } as const;
const sort = { name: "line", type: "S" } as const;
const byOwner = { name: "by-owner", partitionKey: { name: "owner", type: "S" } } as const;
const large = "x".repeat(390 * 1024);

let deployed: BundledDeployment;
let reader: readonly RecordedCall[];
let writer: readonly RecordedCall[];

beforeAll(async () => {
  deployed = await startBundledDeployment(
    [
      { name: "plain", partitionKey: id, sortKey: sort, indexes: [byOwner], history: false },
      { name: "kept", partitionKey: id, history: true },
      { name: "doomed", partitionKey: id, history: false },
      { name: "mixed", partitionKey: id, history: false, access: "mixed" },
    ],
    { deployment: "granted" },
  );
  await deployed.resume("oracle");
  await deployed.resume("replay");
  await reshard();
  const committed = await writeEverything();
  // What the watermark has passed is in nobody's tail: asking for it means searching the log.
  await replayHasCaughtUp();
  reader = await readEverything(committed);
  await callRest(committed);
  await leaveWorkToReplay();
  await reapTombstones();
  await deployed.invoke("housekeeping", scheduledEvent("housekeeping", "us-east-1"));
  await closeAndOpenStream();
}, 180_000);

afterAll(() => deployed.stop());

/** Provision waits for replay, which nobody schedules here. */
async function closeAndOpenStream(): Promise<void> {
  const provision = (stream: true | "closing"): Promise<unknown> =>
    deployed.invoke("provision", { stream, tables: [], historyRetentionMs: 3_600_000 });
  const until = new AbortController();
  const closed = provision("closing").finally(() => {
    until.abort();
  });
  while (!until.signal.aborted) {
    await deployed.invoke("replay", scheduledEvent("replay", "us-east-1"));
  }
  await closed;
  await provision(true);
}

describe("what the functions ask for", () => {
  const cases = [
    ["oracle", ["oracle"]],
    ["replay", ["replay"]],
    ["reaper", ["reaper"]],
    ["provision", ["provision"]],
    ["api", ["readOnly", "write", "express", "rest"]],
  ] as const;
  test.each(cases)("%s is granted every call that it makes", (role, sets) => {
    const granted = sets.flatMap((set) => grants[set]);
    expect(denied(granted, deployed.recorders[role].calls())).toEqual([]);
  });

  test.each(cases)("%s is granted nothing that it does not use", (role, sets) => {
    // The end of a joined log takes two shards: test/aws/join-shard.test.ts.
    const granted = sets
      .flatMap((set): readonly Grant[] => grants[set])
      .filter(({ sid }) => sid !== "EndJoinedLogs");
    expect(unused(granted, deployed.recorders[role].calls())).toEqual([]);
  });
});

test("housekeeping is granted what replay and reaper are, and blocks for the stream", () => {
  const { replay, reaper, express } = grants;
  const granted = [...replay, ...reaper, ...express].filter(({ on }) => on !== "stream");
  const calls = deployed.recorders.housekeeping.calls();
  expect(calls.length).toBeGreaterThan(0);
  expect(denied(granted, calls)).toEqual([]);
});

describe("what SDK clients ask for", () => {
  test("a reader is granted every call that it makes, and nothing else", () => {
    expect(denied(grants.readOnly, reader)).toEqual([]);
    expect(unused(grants.readOnly, reader)).toEqual([]);
  });

  test("a writer is granted every call that it makes, and nothing else", () => {
    expect(denied([...grants.readOnly, ...grants.write], writer)).toEqual([]);
    expect(unused(grants.write, writer)).toEqual([]);
  });
});

describe("what who commits express asks for", () => {
  test("is to append blocks, which a writer may not, and nothing else", async () => {
    const { ports, recorder } = await deployed.openClient();
    const block = { position: 1 as LogPosition, bytes: new Uint8Array(1) };
    expect(await ports.log.append(deployed.shard, block)).not.toBe("appended");
    const calls = recorder.calls();
    expect(denied([...grants.readOnly, ...grants.write], calls)).toHaveLength(1);
    expect(denied(grants.express, calls)).toEqual([]);
    expect(unused(grants.express, calls)).toEqual([]);
  });
});

describe("the comparison", () => {
  test("finds a grant that is missing", () => {
    const calls = deployed.recorders.oracle.calls();
    const without = grants.oracle.filter(({ sid }) => sid !== "AppendBlocks");
    expect(denied(without, calls)).toEqual([`dynamodb:PutItem on log (${deployed.shard})`]);
  });

  test("finds a grant for more keys than were named", () => {
    const calls = deployed.recorders.oracle.calls();
    const wider = grants.oracle.map((grant) =>
      grant.sid === "AppendBlocks" ? { ...grant, leadingKeys: ["shard*", "spill#*"] } : grant,
    );
    expect(unused(wider, calls)).toEqual(["AppendBlocks: keys spill#*"]);
  });

  test("grants blocks in the logs of all shards, and none under another name", () => {
    const put = (key: string) =>
      ({ action: "dynamodb:PutItem", on: "log", leadingKeys: [key] }) as const;
    for (const role of ["oracle", "express", "provision"] as const) {
      expect(denied(grants[role], [put("shardId-000000000000"), put("shard-063")])).toEqual([]);
      expect(denied(grants[role], [put("spill#1")])).toHaveLength(1);
    }
  });

  test("finds a key outside of what was granted", () => {
    const call = { action: "dynamodb:PutItem", on: "log", leadingKeys: ["shardId-0"] } as const;
    expect(denied(grants.write, [call])).toEqual(["dynamodb:PutItem on log (shardId-0)"]);
  });
});

/**
 * As an on-demand stream does by itself: who reads it has to look where its records lie from now
 * on.
 */
async function reshard(): Promise<void> {
  const aws = { ...localIdentity, endpoint: deployed.servers.endpoint };
  const stream = await openReshard(aws, deployed.names.stream);
  await stream.split(deployed.shard);
  await stream.close();
}

/** Without the right to do otherwise. */
const byStream = { commit: "stream" } as const;

/** A client that commits and dies before it installs anything. */
function dyingEngine(ports: AwsPorts): Engine {
  const install = (): Promise<never> =>
    Promise.reject(new StoreError("unavailable", "the client is dead"));
  const mixed = { ...ports.mixed, install };
  return createEngine({ ...ports, mixed, items: { ...ports.items, install } }, byStream);
}

const noResult: ResultCodec<void> = {
  encode: () => ({ NULL: true }),
  decode: () => undefined,
};

const text = (value: string): { readonly S: string } => ({ S: value });
const plainKey = { id: text("a"), line: text("1") };

/** Returns a committed transaction's id. */
async function writeEverything(): Promise<TransactionId> {
  const { ports, recorder } = await deployed.openClient();
  const engine = createEngine(ports, byStream);
  const { receipt } = await engine.transact({}, async (tx) => {
    await tx.get("plain", plainKey);
    tx.put("plain", { ...plainKey, owner: text("ann") });
    tx.put("kept", { id: text("a"), n: text("first") });
  });
  const once = { idempotencyKey: "grants" };
  for (let repeat = 0; repeat < 2; repeat += 1) {
    await engine.transact(
      once,
      async (tx) => {
        tx.put("plain", { id: text("b"), line: text("1") });
      },
      noResult,
    );
  }
  // Above what a record takes: the payload is spilled.
  await engine.transact({}, async (tx) => {
    tx.put("kept", { id: text("large"), data: text(large) });
    tx.put("kept", { id: text("larger"), data: text(large) });
  });
  await engine.transact({}, async (tx) => {
    tx.put("kept", { id: text("large"), data: text("small") });
    tx.put("kept", { id: text("a"), n: text("second") });
    tx.delete("plain", { id: text("b"), line: text("1") });
  });
  await engine.transact({}, async (tx) => {
    await tx.get("mixed", { id: text("a") });
    tx.put("mixed", { id: text("a") });
    tx.put("mixed", { id: text("b") });
  });
  await engine.transact({}, async (tx) => {
    tx.delete("mixed", { id: text("a") });
    tx.put("plain", plainKey);
  });
  // Undecided: the question aborts it.
  const undecided = `${(receipt.transactionId ?? "").slice(0, 14)}${"0".repeat(18)}`;
  expect(await engine.outcome(undecided as TransactionId)).toMatchObject({ kind: "aborted" });
  await helpSomebody(engine);
  writer = recorder.calls();
  await engine.close();
  if (receipt.transactionId === undefined) throw new Error("nothing was committed");
  return receipt.transactionId;
}

/** Reads what a dead client left, while replay sleeps: the reader installs it. */
async function helpSomebody(engine: Engine): Promise<void> {
  await deployed.pause("replay");
  const { ports } = await deployed.openClient();
  const dying = dyingEngine(ports);
  await dying.transact({ ack: "certified" }, async (tx) => {
    tx.put("plain", { id: text("left"), line: text("1") });
  });
  const read = () =>
    engine.snapshot({}, (s) => s.get("plain", { id: text("left"), line: text("1") }));
  expect((await read()).result).toBeDefined();
  await dying.close();
  await deployed.resume("replay");
}

async function readEverything(committed: TransactionId): Promise<readonly RecordedCall[]> {
  const { ports, recorder } = await deployed.openClient();
  const engine = createEngine(ports, byStream);
  await engine.snapshot({}, async (s) => {
    await s.get("plain", plainKey);
    await s.batchGet([
      { table: "plain", key: plainKey },
      { table: "kept", key: { id: text("a") } },
    ]);
    await s.queryPage("plain", { partitionKey: text("a") }, {});
    const index = { name: "by-owner", partitionKey: "owner" };
    await s.queryPage("plain", { index, partitionKey: text("ann") }, {});
    await s.scanPage("kept", {}, {});
  });
  expect(await engine.outcome(committed)).toMatchObject({ kind: "committed" });
  // The state before the second writes: out of the history, the large item out of several parts.
  const asOf = await timestampOf("large");
  await engine.snapshot({ asOf }, async (s) => {
    const row = await s.get("kept", { id: text("large") });
    expect(row?.["data"]).toEqual(text(large));
  });
  await engine.close();
  return recorder.calls();
}

/** A time just before the newest version of the item. */
async function timestampOf(key: string): Promise<Timestamp> {
  const [table] = (await deployed.ports.control.tables()).filter(({ name }) => name === "kept");
  if (table === undefined) throw new Error("the table is not registered");
  const { version } = await deployed.ports.items.get(table, { id: text(key) });
  return (version - 1) as Timestamp;
}

async function rest(
  method: string,
  target: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  // The other routes take no such key.
  const keyed = target === "/v1/transactions";
  const event = httpApiEvent({
    method,
    target,
    headers: [
      ["content-type", "application/json"],
      ...(keyed ? ([["idempotency-key", "rest"]] as const) : []),
    ],
    body: Buffer.from(body === undefined ? "" : JSON.stringify(body)),
    sourceIp: "127.0.0.1",
  });
  const answer = (await deployed.invoke("api", event)) as { statusCode: number; body: string };
  expect(answer.statusCode, answer.body).toBe(200);
  return JSON.parse(answer.body) as Record<string, unknown>;
}

async function replayHasCaughtUp(): Promise<void> {
  const { log, control } = deployed.ports;
  await vi.waitFor(
    async () => {
      const [newest] = await log.readBackward(deployed.shard, { blocksMax: 1 });
      const watermark = await control.readWatermark(deployed.shard);
      expect(watermark?.position).toBe(newest?.position);
    },
    { timeout: 30_000, interval: 50 },
  );
}

async function callRest(committed: TransactionId): Promise<void> {
  await rest("POST", `/v1/transactions/${committed}/outcome`);
  const key = { id: "rest", line: "1" };
  const writes = [{ op: "put", table: "plain", item: { ...key, owner: "ben" } }];
  await rest("POST", "/v1/transactions", { writes });
  const reads = {
    gets: [
      { table: "plain", key },
      { table: "kept", key: { id: "a" } },
    ],
    queries: [
      { table: "plain", partitionKey: "rest" },
      { table: "plain", partitionKey: "ben", index: { name: "by-owner", partitionKey: "owner" } },
    ],
    scans: [{ table: "plain" }],
  };
  await rest("POST", "/v1/snapshots", { reads });
  await rest("POST", "/v1/snapshots", {
    asOf: await timestampOf("large"),
    reads: { gets: [{ table: "kept", key: { id: "large" } }] },
  });
  const begun = await rest("POST", "/v1/transactions/begin", {});
  const read = await rest("POST", "/v1/transactions/read", {
    transaction: begun["transaction"],
    reads: { gets: [{ table: "plain", key }] },
  });
  await rest("POST", "/v1/transactions/commit", {
    transaction: read["transaction"],
    writes: [
      { op: "put", table: "kept", item: { id: "large", data: large } },
      { op: "put", table: "kept", item: { id: "larger", data: large } },
    ],
  });
  // What no block has room for, and a record takes: by the stream.
  const { transaction } = await rest("POST", "/v1/transactions/begin", {});
  const single = { op: "put", table: "kept", item: { id: "single", data: large } };
  await rest("POST", "/v1/transactions/commit", { transaction, writes: [single] });
  const mixed = [
    { op: "put", table: "mixed", item: { id: "rest" } },
    { op: "delete", table: "mixed", key: { id: "b" } },
  ];
  const both = await rest("POST", "/v1/transactions/begin", {});
  await rest("POST", "/v1/transactions/commit", {
    transaction: both["transaction"],
    writes: mixed,
  });
  await rest("GET", "/v1/health?deep=true");
  await leftToRest();
}

/** As `helpSomebody`, with the REST service as the reader. */
async function leftToRest(): Promise<void> {
  await deployed.pause("replay");
  const { ports } = await deployed.openClient();
  const dying = dyingEngine(ports);
  await dying.transact({ ack: "certified" }, async (tx) => {
    tx.put("plain", { id: text("left to rest"), line: text("1") });
  });
  const gets = [{ table: "plain", key: { id: "left to rest", line: "1" } }];
  await rest("POST", "/v1/snapshots", { reads: { gets } });
  await dying.close();
  await deployed.resume("replay");
}

/**
 * Commits whose clients died, of every kind; replay meets them by its schedule, without the
 * stream's help.
 */
async function leaveWorkToReplay(): Promise<void> {
  await deployed.pause("replay");
  const { ports } = await deployed.openClient();
  const dying = dyingEngine(ports);
  const ack = "certified" as const;
  await dying.transact({ ack }, async (tx) => {
    tx.put("plain", { id: text("replayed"), line: text("1") });
    tx.put("kept", { id: text("a"), n: text("third") });
    tx.delete("kept", { id: text("larger") });
    tx.put("doomed", { id: text("gone") });
  });
  await dying.transact(
    { ack, idempotencyKey: "left to replay" },
    async (tx) => {
      tx.put("plain", { id: text("replayed"), line: text("2") });
    },
    noResult,
  );
  await dying.transact({ ack }, async (tx) => {
    tx.put("kept", { id: text("spilled"), data: text(large) });
    tx.put("kept", { id: text("spilled too"), data: text(large) });
  });
  await dying.transact({ ack }, async (tx) => {
    tx.put("mixed", { id: text("replayed") });
    tx.delete("mixed", { id: text("rest") });
  });
  await prepareAndDie(dying, ports);
  await dying.close();
  const dynamodb = new DynamoDBClient({
    ...localIdentity,
    endpoint: deployed.servers.endpoint.dynamodb,
  });
  await dynamodb.send(new DeleteTableCommand({ TableName: "doomed" }));
  dynamodb.destroy();
  // What it votes down the oracle decides, and then it passes that.
  await vi.waitFor(
    async () => {
      await deployed.invoke("replay", scheduledEvent("replay", "us-east-1"));
      const [newest] = await deployed.ports.log.readBackward(deployed.shard, { blocksMax: 1 });
      const watermark = await deployed.ports.control.readWatermark(deployed.shard);
      expect(watermark?.position).toBe(newest?.position);
    },
    { timeout: 30_000, interval: 50 },
  );
}

/** A transaction that nobody decides, and then a commit so much later that replay does. */
async function prepareAndDie(dying: Engine, ports: AwsPorts): Promise<void> {
  const [newest] = await ports.log.readBackward(deployed.shard, { blocksMax: 1 });
  const hashes = new KeyHashes(await ports.control.keyHasher(deployed.shard));
  if (newest === undefined) throw new Error("the log has a block");
  const { throughTimestamp: checkedTo } = decodeLogBlockHeader(newest.bytes, newest.position);
  const table = { name: "mixed", partitionKey: "id", history: false, isMixed: true } as const;
  const writes = ["there", "not there"].map((name) => {
    const key = { id: text(name) };
    return { table: 0, key, item: key };
  });
  const bytes = encodePayload({ tables: [table], writes });
  const own = makeTransactionId(checkedTo, new Uint8Array(9));
  const request = encodeCommitRequest({
    kind: "prepare",
    id: own,
    isolation: "serializable",
    checkedTo,
    checks: [],
    payload: { kind: "inline", bytes },
  });
  const record = encodeCommitRecord(hashes.fingerprint, [request]);
  expect(await ports.stream.put(deployed.shard, [record])).toMatchObject([{ kind: "stored" }]);
  await leaveFences(own);
  await new Promise((resolve) => setTimeout(resolve, limits.openMicrosMax / 1_000));
  await dying.transact({ ack: "certified" }, async (tx) => {
    tx.put("plain", { id: text("later"), line: text("1") });
  });
}

/** One on an item, and a placeholder. */
async function leaveFences(own: TransactionId): Promise<void> {
  const { mixed } = deployed.ports;
  const table = { name: "mixed", partitionKey: "id" };
  const fence = { table, id: own, expects: { kind: "absent" } } as const;
  const nonce = new Uint8Array(16).fill(1);
  const there = { id: text("there") };
  const change = { kind: "put", item: there } as const;
  await mixed.writeLocally({ table, key: there, change, condition: undefined, nonce });
  await mixed.fence({ ...fence, key: there, expects: { kind: "nonce", nonce }, nonce });
  await mixed.fence({ ...fence, key: { id: text("not there") }, nonce });
}

/** Tombstones whose grace has passed, by samples of the watermark that say so. */
async function reapTombstones(): Promise<void> {
  const { control } = deployed.ports;
  const watermark = await control.readWatermark(deployed.shard);
  if (watermark === undefined) throw new Error("no watermark");
  const observedMs = Date.now() - 2 * 3600_000;
  await control.saveWatermarkSamples(deployed.shard, [
    { observedMs, timestamp: watermark.timestamp },
  ]);
  const [aborted] = await control.queuedFences(deployed.shard);
  if (aborted === undefined) throw new Error("nothing of mixed tables is queued");
  await leaveFences(aborted.id);
  await deployed.invoke("reaper", scheduledEvent("reaper", "us-east-1"));
  expect(await control.queuedTombstones(deployed.shard)).toEqual([]);
  expect(await control.queuedFences(deployed.shard)).toEqual([]);
}
