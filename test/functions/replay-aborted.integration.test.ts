/**
 * What aborted transactions leave on mixed tables is taken away, by replay at the abort and by the
 * reaper once more, whoever stops where; on real stores (docs/adr/0014-native-operations.md,
 * Replay).
 */
import { UpdateItemCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { toSdkItem } from "../../aws/attribute-values.ts";
import { StoreError } from "../../core/errors.ts";
import { fenceBytesOf } from "../../core/item-identity.ts";
import * as limits from "../../core/limits.ts";
import type { Clock, Ports } from "../../core/ports.ts";
import type { Item, LogBlock, TableDescription } from "../../core/types.ts";
import { reap, type ReaperReport } from "../../functions/reaper/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";
import {
  addressOf,
  MixedLog,
  registerAs,
  type MixedWrite,
  type Prepared,
} from "../harness/mixed-log.ts";
import { openDynamoDb } from "../integration/support.ts";
import { runReplay } from "./replay-runs.ts";

let stores: LocalStores;
let carts: TableDescription;
let orders: TableDescription;
let foreign: DynamoDBClient;
let log: MixedLog;
let keys = 0;

beforeAll(async () => {
  stores = await startLocalStores({ stream: false });
  foreign = openDynamoDb(stores);
  log = new MixedLog(stores);
  orders = await stores.createTable("orders");
  carts = await registerAs(stores, await stores.createTable("carts"), "mixed");
});
beforeEach(async () => {
  keys += 1;
  // What others have left is done.
  await replay();
  for (const fences of await queued()) await stores.ports.control.dropFences(fences);
});
afterAll(async () => {
  foreign.destroy();
  await stores.stop();
});

function key(name: string): Item {
  return { pk: { S: `${name} ${keys}` } };
}

function writeOf(name: string, table = carts): MixedWrite {
  return { table, key: key(name), item: { ...key(name), is: { S: "new" } } };
}

async function put(name: string, more: Item): Promise<void> {
  const write = { ...addressOf(writeOf(name)), over: undefined, nonce: new Uint8Array(16).fill(9) };
  const change = { kind: "put", item: { ...key(name), ...more } } as const;
  await stores.ports.mixed.writeLocally({ ...write, change, condition: undefined });
}

function stored(name: string): Promise<Item | undefined> {
  return stores.ports.mixed.read(addressOf(writeOf(name)));
}

async function replay(ports: Partial<Ports> = {}): Promise<number> {
  return (await runReplay(stores, { ports })).watermark.position;
}

function queued(): ReturnType<Ports["control"]["queuedFences"]> {
  return stores.ports.control.queuedFences(stores.shard);
}

/** An item that is there, and a placeholder; then the vote against. */
async function aborted(): Promise<{ readonly prepared: Prepared; readonly block: LogBlock }> {
  await put("a", { is: { S: "old" } });
  const prepared = await log.prepare([writeOf("a"), writeOf("x", orders), writeOf("b")]);
  await log.fence(prepared, 0);
  await log.fence(prepared, 2);
  return { prepared, block: await log.abort(prepared) };
}

async function expectClean(): Promise<void> {
  expect(await stored("a")).toEqual({
    ...key("a"),
    is: { S: "old" },
    _n: expect.anything() as unknown,
  });
  expect(await stored("b")).toBeUndefined();
}

function reaperAt(laterMs: number, more: Partial<Ports> = {}): Promise<ReaperReport> {
  const ports = stores.openPorts();
  const { clock } = ports;
  const later: Clock = { ...clock, nowMs: () => clock.nowMs() + laterMs };
  const budget = { remainingMs: (): number => 60_000 };
  const observability = silentObservability;
  return reap({ ports: { ...ports, clock: later, ...more }, observability, budget });
}

/** Its first run sees the watermark, and those behind the grace believe that one. */
async function reapedLater(more: Partial<Ports> = {}): Promise<ReaperReport> {
  expect(await reaperAt(0)).toMatchObject({ fencesRemoved: 0 });
  return reaperAt(limits.tombstoneGraceMs, more);
}

/** A call of the aborted transaction that comes as late as can be. */
async function lateFence({ id }: Prepared, name: string): Promise<void> {
  const nonce = new Uint8Array(16).fill(7);
  const expects = { kind: "absent" } as const;
  const answer = await stores.ports.mixed.fence({
    ...addressOf(writeOf(name)),
    id,
    expects,
    nonce,
  });
  expect(answer.kind).toBe("done");
}

const denied = new StoreError("rejected", "not you", { code: "AccessDeniedException" });

test("replay takes fence and placeholder away, and queues their items", async () => {
  const { prepared, block } = await aborted();
  expect(await replay()).toBe(block.position);
  await expectClean();
  const { id } = prepared;
  const { shard } = stores;
  expect(await queued()).toEqual([
    {
      ...{ shard, through: block.throughTimestamp, id, part: 0, table: carts.name },
      keys: [key("a"), key("b")],
    },
  ]);
});

test("what an unaware writer has made of a placeholder stays, without its marks", async () => {
  const { block } = await aborted();
  await foreign.send(
    new UpdateItemCommand({
      TableName: carts.name,
      Key: toSdkItem(key("b")),
      UpdateExpression: "SET n = :n",
      ExpressionAttributeValues: { ":n": { N: "1" } },
    }),
  );
  expect(await replay()).toBe(block.position);
  const n = { N: "1" };
  expect(await stored("b")).toEqual({ ...key("b"), n, _n: expect.anything() as unknown });
});

describe("whoever stops on the way leaves it to the next one:", () => {
  test("replay before anything is queued, since the watermark waits", async () => {
    const { block } = await aborted();
    const { control } = stores.ports;
    const failing = Object.assign(Object.create(control) as Ports["control"], {
      queueFences: () => Promise.reject(new StoreError("unavailable", "no answer")),
    });
    await expect(replay({ control: failing })).rejects.toThrow("no answer");
    expect((await control.readWatermark(stores.shard))?.position).toBe(block.position - 2);
    expect(await replay()).toBe(block.position);
    await expectClean();
  });

  test("replay before it has cleaned up", async () => {
    const { block } = await aborted();
    const dead = { ...stores.ports.mixed, readAll: () => Promise.reject(new Error("killed")) };
    await expect(replay({ mixed: dead })).rejects.toThrow("killed");
    expect(await replay()).toBe(block.position);
    await expectClean();
    expect(await queued()).toHaveLength(1);
  });

  test("replay that no table lets in moves on, and the reaper cleans up", async () => {
    const { block } = await aborted();
    const mixed = { ...stores.ports.mixed, readAll: () => Promise.reject(denied) };
    expect(await replay({ mixed })).toBe(block.position);
    expect(await stored("b")).toMatchObject({ _x: { BOOL: true } });
    expect(await reapedLater({ mixed })).toMatchObject({
      fencesRemoved: 0,
      failures: [{ table: carts.name }],
    });
    expect(await queued()).toHaveLength(1);
    expect(await reaperAt(limits.tombstoneGraceMs)).toMatchObject({ fencesRemoved: 2 });
    await expectClean();
    expect(await queued()).toEqual([]);
  });
});

describe("a fence that comes after replay has cleaned up", () => {
  test("is taken away by the reaper, not before no other one can come", async () => {
    const { prepared } = await aborted();
    await replay();
    await lateFence(prepared, "b");
    expect(await reaperAt(0)).toMatchObject({ fencesRemoved: 0, fencesWaiting: 1 });
    const tooEarly = await reaperAt(limits.tombstoneGraceMs - 60_000);
    expect(tooEarly).toMatchObject({ fencesRemoved: 0, fencesWaiting: 1 });
    expect(await stored("b")).toMatchObject({ _f: { B: fenceBytesOf(prepared.id) } });
    expect(await reaperAt(limits.tombstoneGraceMs)).toMatchObject({ fencesRemoved: 1 });
    expect(await stored("b")).toBeUndefined();
    expect(await queued()).toEqual([]);
  });

  test("is left alone where another transaction has fenced the item since", async () => {
    const { prepared } = await aborted();
    await replay();
    const other = await log.prepare([writeOf("b")]);
    const stamp = await log.fence(other);
    expect(await reapedLater()).toMatchObject({ fencesRemoved: 0 });
    expect(await stored("b")).toMatchObject({ _f: { B: fenceBytesOf(other.id) } });
    expect(prepared.id).not.toBe(other.id);
    await log.commit(other, [stamp]);
    await replay();
    expect(await stored("b")).toMatchObject({ is: { S: "new" } });
  });
});

test("of a table that is gone the reaper drops what is queued", async () => {
  const { prepared, block } = await aborted();
  await replay();
  const fences = {
    ...{ shard: stores.shard, through: block.throughTimestamp, id: prepared.id, part: 7 },
    ...{ table: `gone-${carts.name}`, keys: [key("a")] },
  };
  await stores.ports.control.queueFences(fences);
  expect(await reapedLater()).toMatchObject({ failures: [] });
  expect(await queued()).toEqual([]);
});

test("one that writes thousands of items is queued in parts, and cleaned up whole", async () => {
  const long = "x".repeat(1_500);
  const names = Array.from({ length: 200 }, (_, i) => `${long}${i}`);
  const prepared = await log.prepare(names.map((name) => ({ ...writeOf(name), item: undefined })));
  await log.fence(prepared, 0);
  await log.fence(prepared, 199);
  const block = await log.abort(prepared);
  expect(await replay()).toBe(block.position);
  const parts = await queued();
  expect(parts.map(({ part }) => part)).toEqual([0, 1]);
  expect(parts.flatMap((each) => each.keys)).toEqual(names.map(key));
  for (const name of [names[0], names[199]]) expect(await stored(name ?? "")).toBeUndefined();
});

test("a vote against behind a vote for, which no oracle writes, takes nothing away", async () => {
  await put("a", { is: { S: "old" } });
  const prepared = await log.prepare([writeOf("a")]);
  const stamp = await log.fence(prepared);
  await log.commit(prepared, [stamp]);
  await log.abort(prepared);
  await replay();
  expect(await stored("a")).toMatchObject({ is: { S: "new" } });
  expect(await queued()).toEqual([]);
});
