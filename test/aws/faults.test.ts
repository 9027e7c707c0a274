/**
 * What calls come to when the network and the servers misbehave: a proxy before real protocol
 * servers cuts, hangs, errs and rewrites single calls.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import type { Clock, InstallRequest } from "../../core/ports.ts";
import { LateSignatureError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { LogPosition, TableDescription, Version } from "../../core/types.ts";
import type { AwsPorts, AwsPortsOptions } from "../../aws/ports.ts";
import { systemClock } from "../../aws/system.ts";
import {
  awsError,
  startFaultyProxy,
  type FaultyProxy,
  type Fault,
} from "../harness/faulty-proxy.ts";
import { localIdentity } from "../harness/local-servers.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

type SignerProvider = Extract<
  NonNullable<DynamoDBClientConfig["signer"]>,
  (...args: never) => unknown
>;
type RequestSigner = Awaited<ReturnType<SignerProvider>>;

let stores: LocalStores;
let dynamodb: FaultyProxy;
let kinesis: FaultyProxy;
let table: TableDescription;

beforeAll(async () => {
  stores = await startLocalStores();
  dynamodb = await startFaultyProxy(stores.servers.endpoint.dynamodb);
  kinesis = await startFaultyProxy(stores.servers.endpoint.kinesis);
  table = await stores.createTable("things");
});
afterEach(() => {
  dynamodb.reset();
  kinesis.reset();
});
afterAll(async () => {
  await stores.stop();
  await Promise.all([dynamodb.stop(), kinesis.stop()]);
});

/** Ports whose calls pass the proxies. `callTriesMax` 1 shows a single try's outcome. */
function ports(options: Partial<AwsPortsOptions> = {}): AwsPorts {
  const endpoint = { dynamodb: dynamodb.url, kinesis: kinesis.url };
  return stores.openPorts({ endpoint, callTriesMax: 1, callTimeoutMs: 20_000, ...options });
}

let lastKey = 0;
function installRequest(more: Partial<InstallRequest> = {}): InstallRequest {
  lastKey += 1;
  const key = { pk: { S: `key-${lastKey.toString()}` } };
  return {
    table: table.name,
    key,
    item: key,
    version: 10 as Version,
    expects: "below",
    signBeforeMs: Number.MAX_SAFE_INTEGER,
    ...more,
  };
}

describe("one try of a write", () => {
  const refused = (name: string): Fault => awsError(400, name);
  test.each<readonly [string, string, Fault]>([
    ...[
      "ProvisionedThroughputExceededException",
      "ThrottlingException",
      "RequestLimitExceeded",
      "TransactionConflictException",
    ].map((name) => [name, "throttled", refused(name)] as const),
    ...[
      "ValidationException",
      "ResourceNotFoundException",
      "AccessDeniedException",
      "ItemCollectionSizeLimitExceededException",
      "SomethingNewException",
    ].map((name) => [name, "rejected", refused(name)] as const),
    ["InternalServerError", "unavailable", awsError(500, "InternalServerError")],
    ["status 503", "unavailable", awsError(503, "ServiceUnavailable")],
    ["status 507", "throttled", awsError(507, "DataFolderNotWritable")],
    ["a connection cut before the server heard it", "unavailable", { kind: "cut-before" }],
    ["a connection cut after the effect", "unavailable", { kind: "cut-after" }],
    ["a server that never answers", "unavailable", { kind: "hang" }],
    ["an effect without an answer", "unavailable", { kind: "hang-after" }],
  ])("that meets %s fails as %s", async (_name, expected, fault) => {
    dynamodb.fail("PutItem", fault);
    // Only where no answer comes does the timeout decide; elsewhere a slow machine must not.
    const callTimeoutMs = fault.kind.startsWith("hang") ? 200 : 20_000;
    await expect(ports({ callTimeoutMs }).items.install(installRequest())).rejects.toMatchObject({
      name: "StoreError",
      fault: expected,
    });
  });

  test("against a port where nobody listens is unavailable", async () => {
    const endpoint = { dynamodb: "http://127.0.0.1:1", kinesis: kinesis.url };
    await expect(ports({ endpoint }).items.install(installRequest())).rejects.toMatchObject({
      fault: "unavailable",
    });
  });
});

describe("a lost answer", () => {
  test("of an append is found as taken by the repeat, and the block stands", async () => {
    dynamodb.fail("PutItem", { kind: "cut-after" });
    const { log } = ports({ callTriesMax: 3 });
    const block = { position: 1 as LogPosition, bytes: Uint8Array.of(1, 2, 3) };
    expect(await log.append(stores.shard, block)).not.toBe("appended");
    const found = await log.readAt(stores.shard, block.position);
    expect([...(found?.bytes ?? [])]).toEqual([1, 2, 3]);
    expect(dynamodb.seen("PutItem")).toBe(2);
  });

  test("of an install is superseded by itself", async () => {
    dynamodb.fail("PutItem", { kind: "cut-after" });
    const { items } = ports({ callTriesMax: 3 });
    const request = installRequest();
    expect(await items.install(request)).toBe("superseded");
    expect((await items.get(table, request.key)).version).toBe(10);
  });

  test("followed by a refusal stays unknown, whatever the refusal says", async () => {
    for (const later of ["ThrottlingException", "ValidationException"]) {
      dynamodb.fail("PutItem", { kind: "cut-after" }, awsError(400, later));
      const { items } = ports({ callTriesMax: 2 });
      const request = installRequest();
      await expect(items.install(request)).rejects.toMatchObject({ fault: "unavailable" });
      expect((await items.get(table, request.key)).version).toBe(10);
    }
  });
});

test("throttling is retried, a bounded number of times", async () => {
  const throttled = awsError(400, "ProvisionedThroughputExceededException");
  dynamodb.fail("PutItem", throttled, throttled);
  const { items } = ports({ callTriesMax: 3 });
  expect(await items.install(installRequest())).toBe("installed");
  expect(dynamodb.seen("PutItem")).toBe(3);
  dynamodb.fail("PutItem", throttled, throttled, throttled);
  await expect(items.install(installRequest())).rejects.toMatchObject({ fault: "throttled" });
});

describe("the time to sign", () => {
  /** A wall clock that a test moves; the rest is the machine's. */
  function movableClock(): Clock & { wallMs: number } {
    const clock = { ...systemClock, wallMs: 1_000, nowMs: () => clock.wallMs };
    return clock;
  }

  test.each([
    { atMs: 1_999, reaches: true },
    { atMs: 2_000, reaches: false },
    { atMs: 2_001, reaches: false },
  ])("until 2000, at $atMs: the server is reached: $reaches", async ({ atMs, reaches }) => {
    const clock = movableClock();
    clock.wallMs = atMs;
    const request = installRequest({ signBeforeMs: 2_000 });
    const install = ports({ clock }).items.install(request);
    if (reaches) expect(await install).toBe("installed");
    else await expect(install).rejects.toBeInstanceOf(LateSignatureError);
    expect(dynamodb.seen("PutItem")).toBe(reaches ? 1 : 0);
  });

  test("is judged once the signature exists, not when the call begins", async () => {
    const clock = movableClock();
    let signatures = 0;
    // The process freezes within the signer.
    const sign: RequestSigner["sign"] = (request) => {
      signatures += 1;
      clock.wallMs = 5_000;
      return Promise.resolve(request);
    };
    const frozen = new DynamoDBClient({
      ...localIdentity,
      endpoint: dynamodb.url,
      signer: () => Promise.resolve({ sign }),
    });
    const { items } = ports({ clock, dynamodb: frozen });
    const install = items.install(installRequest({ signBeforeMs: 2_000 }));
    await expect(install).rejects.toBeInstanceOf(LateSignatureError);
    expect(signatures).toBe(1);
    expect(dynamodb.seen("PutItem")).toBe(0);
    frozen.destroy();
  });

  test("holds for the retry too: its refusal does not hide the first try's doubt", async () => {
    const clock = movableClock();
    const cutWhileTimePasses: Fault = {
      kind: "rewrite",
      change: () => {
        clock.wallMs = 5_000;
        throw new Error("cut");
      },
    };
    dynamodb.fail("PutItem", cutWhileTimePasses);
    const install = ports({ clock, callTriesMax: 3 }).items.install(
      installRequest({ signBeforeMs: 2_000 }),
    );
    await expect(install).rejects.toMatchObject({ name: "StoreError", fault: "unavailable" });
    expect(dynamodb.seen("PutItem")).toBe(1);
  });
});

describe("an aborted signal", () => {
  test("before the call: nothing is sent, and the reason comes back", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    const { items } = ports();
    await expect(items.install(installRequest(), { signal })).rejects.toThrow("enough");
    await expect(items.get(table, { pk: { S: "x" } }, { signal })).rejects.toThrow("enough");
    expect(dynamodb.seen("PutItem") + dynamodb.seen("GetItem")).toBe(0);
  });

  test("during the call ends it with the reason", async () => {
    dynamodb.fail("GetItem", { kind: "hang" });
    const controller = new AbortController();
    const read = ports({ callTimeoutMs: 30_000 }).items.get(
      table,
      { pk: { S: "x" } },
      { signal: controller.signal },
    );
    while (dynamodb.seen("GetItem") === 0) await systemClock.sleep(1);
    controller.abort(new Error("enough"));
    await expect(read).rejects.toThrow("enough");
  });
});

describe("a batch read that comes back in parts", () => {
  type Answer = {
    Responses: Record<string, Record<string, unknown>[]>;
    UnprocessedKeys: Record<string, unknown>;
  };
  const keys = ["a", "b", "c"].map((S) => ({ pk: { S } }));
  /** Keeps the first row of the answer, hands the other keys back as unprocessed. */
  const onlyFirst: Fault = {
    kind: "rewrite",
    change: (body) => {
      const rows = (body as Answer).Responses[table.name] ?? [];
      const unread = rows.slice(1).map((row) => ({ pk: row["pk"] }));
      return {
        Responses: { [table.name]: rows.slice(0, 1) },
        UnprocessedKeys: { [table.name]: { Keys: unread, ConsistentRead: true } },
      };
    },
  };
  const nothing: Fault = {
    kind: "rewrite",
    change: () => ({
      Responses: {},
      UnprocessedKeys: { [table.name]: { Keys: keys, ConsistentRead: true } },
    }),
  };
  beforeAll(async () => {
    for (const key of keys)
      await stores.ports.items.install({ ...installRequest(), key, item: key });
  });

  test("asks again for what is left", async () => {
    dynamodb.fail("BatchGetItem", onlyFirst, nothing, onlyFirst);
    const found = await ports().items.batchGet(keys.map((key) => ({ table, key })));
    expect(found.map(({ item }) => item)).toEqual(keys);
    expect(dynamodb.seen("BatchGetItem")).toBe(4);
  });

  test("gives up as throttled when the store reads nothing for long", async () => {
    const sleeps: number[] = [];
    const clock: Clock = {
      ...systemClock,
      sleep: (durationMs) => {
        sleeps.push(durationMs);
        return Promise.resolve();
      },
    };
    const random = { next: () => 1, bytes: (length: number) => new Uint8Array(length) };
    dynamodb.fail("BatchGetItem", ...Array.from({ length: 20 }, () => nothing));
    const read = ports({ clock, random }).items.batchGet(keys.map((key) => ({ table, key })));
    await expect(read).rejects.toMatchObject({ fault: "throttled" });
    expect(dynamodb.seen("BatchGetItem")).toBe(limits.batchGetTriesMax);
    expect(Math.max(...sleeps)).toBeLessThanOrEqual(limits.backoffMsMax);
    expect(sleeps).toEqual([...sleeps].sort((a, b) => a - b));
  });
});
