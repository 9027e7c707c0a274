/** The reaper on real stores, with a wall clock that the test moves. */
import {
  DeleteItemCommand,
  DynamoDBClient,
  PutItemCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import fc from "fast-check";
import * as limits from "../../core/limits.ts";
import { LateSignatureError, StoreError } from "../../core/errors.ts";
import type { Clock, WatermarkSample } from "../../core/ports.ts";
import type { AbortedFences } from "../../core/aborted-fences-port.ts";
import type {
  Item,
  LogPosition,
  TableDescription,
  Timestamp,
  TransactionId,
  Version,
} from "../../core/types.ts";
import { deploymentNames } from "../../aws/names.ts";
import type { AwsPorts } from "../../aws/ports.ts";
import { systemClock } from "../../aws/system.ts";
import { passedAt, reap, thinned, type ReaperReport } from "../../functions/reaper/service.ts";
import type { InvocationBudget } from "../../functions/shared/invocation-budget.ts";
import type { Observability } from "../../functions/shared/observability.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { awsError, startFaultyProxy } from "../harness/faulty-proxy.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

/** Of a tombstone on a table with history. */
const keptMs = limits.historyRetentionMsDefault + limits.readerMarginMs;
const clock: Clock & { wallMs: number } = { ...systemClock, wallMs: 0, nowMs: () => clock.wallMs };
let stores: LocalStores;
let ports: AwsPorts;
let table: TableDescription;
let keeping: TableDescription;
let position = 0;

beforeAll(async () => {
  stores = await startLocalStores({ ports: { clock } });
  ({ ports } = stores);
  table = await stores.createTable("plain");
  keeping = await stores.createTable("keeping", { history: true });
});
afterAll(() => stores.stop());
beforeEach(async () => {
  clock.wallMs = 1_000_000_000;
  await ports.control.saveWatermarkSamples(stores.shard, []);
});

type RunMore = { ports?: AwsPorts; budget?: InvocationBudget; observability?: Observability };

function run(more: RunMore = {}): Promise<ReaperReport> {
  return reap({
    ports,
    observability: silentObservability,
    budget: { remainingMs: () => 60_000 },
    ...more,
  });
}

/**
 * Deletes keys at versions, as an installer and a replayer do, and moves the watermark past them.
 */
async function commitDeletes(
  tombstones: readonly { table: TableDescription; key: Item; version: number }[],
  watermark?: number,
): Promise<void> {
  position += 1;
  for (const each of tombstones) await install({ ...each, item: undefined });
  const through = Math.max(...tombstones.map(({ version }) => version)) as Timestamp;
  await ports.control.queueTombstones({
    shard: stores.shard,
    from: 0 as LogPosition,
    position: position as LogPosition,
    life: "grace",
    through,
    tombstones: tombstones.map((each) => ({
      table: each.table.name,
      key: each.key,
      version: each.version as Version,
    })),
  });
  await ports.control.advanceWatermark(stores.shard, {
    position: position as LogPosition,
    timestamp: (watermark ?? through) as Timestamp,
    cursor: undefined,
  });
}

function install(write: {
  table: TableDescription;
  key: Item;
  version: number;
  item: Item | undefined;
  signBeforeMs?: number;
}): Promise<"installed" | "superseded"> {
  return ports.items.install({
    table: write.table.name,
    key: write.key,
    item: write.item,
    version: write.version as Version,
    expects: "below",
    signBeforeMs: write.signBeforeMs ?? Number.MAX_SAFE_INTEGER,
  });
}

let lastKey = 0;
function freshKey(): Item {
  lastKey += 1;
  return { pk: { S: `key-${lastKey.toString()}` } };
}

async function isThere(of: TableDescription, key: Item): Promise<boolean> {
  const { version } = await ports.items.get(of, key);
  return version > 0;
}

async function drain(): Promise<void> {
  for (const batch of await ports.control.queuedTombstones(stores.shard)) {
    await ports.control.dropTombstones(batch);
  }
}

describe("a tombstone", () => {
  beforeEach(drain);

  test("goes exactly when a sample of the watermark past it is as old as the grace", async () => {
    const key = freshKey();
    await commitDeletes([{ table, key, version: 50 }]);
    expect(await run()).toMatchObject({ removed: 0, batchesWaiting: 1 });
    clock.wallMs += limits.tombstoneGraceMs - 1;
    expect(await run()).toMatchObject({ removed: 0, batchesWaiting: 1 });
    expect(await isThere(table, key)).toBe(true);
    clock.wallMs += 1;
    expect(await run()).toMatchObject({ removed: 1, batchesDropped: 1, batchesWaiting: 0 });
    expect(await isThere(table, key)).toBe(false);
    expect(await ports.control.queuedTombstones(stores.shard)).toEqual([]);
  });

  test.each([
    { watermark: 49, removed: 0 },
    { watermark: 50, removed: 1 },
    { watermark: 51, removed: 1 },
  ])("at version 50 under an old watermark of $watermark: $removed removed", async (expected) => {
    await commitDeletes([{ table, key: freshKey(), version: 50 }], expected.watermark);
    await run();
    clock.wallMs += limits.tombstoneGraceMs;
    expect((await run()).removed).toBe(expected.removed);
  });

  test("on a table with history outlives the oldest moment that is kept, by a margin", async () => {
    const key = freshKey();
    await commitDeletes([{ table: keeping, key, version: 60 }]);
    await run();
    clock.wallMs += keptMs - 1;
    expect((await run()).removed).toBe(0);
    clock.wallMs += 1;
    expect((await run()).removed).toBe(1);
    expect(await isThere(keeping, key)).toBe(false);
  });

  test("that was overwritten by a newer write leaves the item alone", async () => {
    const key = freshKey();
    await commitDeletes([{ table, key, version: 70 }]);
    await install({ table, key, version: 71, item: { ...key, alive: { BOOL: true } } });
    await run();
    clock.wallMs += limits.tombstoneGraceMs;
    expect(await run()).toMatchObject({ removed: 0, kept: 1, batchesDropped: 1 });
    expect((await ports.items.get(table, key)).item).toEqual({ ...key, alive: { BOOL: true } });
  });

  test("once removed cannot be undone by an install that was held up", async () => {
    const key = freshKey();
    const signBeforeMs = clock.wallMs + limits.installSignMsMax;
    await commitDeletes([{ table, key, version: 81 }]);
    await run();
    clock.wallMs += limits.tombstoneGraceMs;
    await run();
    expect(await isThere(table, key)).toBe(false);
    const late = install({ table, key, version: 80, item: key, signBeforeMs });
    await expect(late).rejects.toBeInstanceOf(LateSignatureError);
    expect(await isThere(table, key)).toBe(false);
  });

  test("of a table that was dropped holds nothing up", async () => {
    const gone = { ...table, name: "dropped-table" };
    position += 1;
    await ports.control.queueTombstones({
      shard: stores.shard,
      from: 0 as LogPosition,
      position: position as LogPosition,
      life: "grace",
      through: 5 as Timestamp,
      tombstones: [{ table: gone.name, key: freshKey(), version: 5 as Version }],
    });
    await run();
    clock.wallMs += keptMs;
    expect(await run()).toMatchObject({ kept: 1, batchesDropped: 1, failures: [] });
  });
});

describe("a run", () => {
  beforeEach(drain);

  test("stops when its time is nearly up, and the next goes on", async () => {
    const keys = Array.from({ length: 5 }, freshKey);
    for (const key of keys) await commitDeletes([{ table, key, version: 100 + position }]);
    await run();
    clock.wallMs += limits.tombstoneGraceMs;
    const cut = await run({ budget: { remainingMs: () => limits.reaperStopMs } });
    expect(cut).toMatchObject({ removed: 0, batchesDropped: 0, stoppedEarly: true });
    let asked = 0;
    // Each batch of one asks twice: before the batch and before its tombstone.
    const partly = await run({ budget: { remainingMs: () => (++asked > 4 ? 0 : 60_000) } });
    expect(partly).toMatchObject({ removed: 2, batchesDropped: 2, stoppedEarly: true });
    expect(await run()).toMatchObject({ removed: 3, batchesDropped: 3, stoppedEarly: false });
  });

  test("keeps a batch queued when the store fails, reports it, and succeeds later", async () => {
    const proxy = await startFaultyProxy(stores.servers.endpoint.dynamodb);
    const endpoint = { ...stores.servers.endpoint, dynamodb: proxy.url };
    const faulty = stores.openPorts({ endpoint, callTriesMax: 1 });
    const key = freshKey();
    await commitDeletes([{ table, key, version: 1_000 }]);
    await run();
    clock.wallMs += limits.tombstoneGraceMs;
    proxy.fail("DeleteItem", awsError(500, "InternalServerError"));
    const said: unknown[] = [];
    const log = { ...silentObservability.log, warn: (...line: unknown[]) => void said.push(line) };
    const report = await run({ ports: faulty, observability: { ...silentObservability, log } });
    expect(report).toMatchObject({ removed: 0, batchesDropped: 0 });
    const fields = { table: table.name, cause: report.failures[0]?.message };
    expect(said).toMatchObject([["a tombstone or a fence could not be removed", fields]]);
    expect(said).not.toMatchObject([[{}, { message: expect.anything() as string }]]);
    expect(report.failures).toMatchObject([{ table: table.name, fault: "unavailable" }]);
    // The removal happens, its answer is lost, and the repeat finds nothing: dealt with all the
    // same.
    proxy.fail("DeleteItem", { kind: "cut-after" });
    expect((await run({ ports: faulty })).failures).toHaveLength(1);
    expect(await run({ ports: faulty })).toMatchObject({ kept: 1, batchesDropped: 1 });
    expect(await isThere(table, key)).toBe(false);
    await proxy.stop();
  });

  test("goes past a page of batches that fail: they starve no other table", async () => {
    const long = "x".repeat(1_000);
    // More than a page of the control table holds.
    for (let batch = 0; batch < 6; batch += 1) {
      position += 1;
      await ports.control.queueTombstones({
        shard: stores.shard,
        from: 0 as LogPosition,
        position: position as LogPosition,
        life: "grace",
        through: 100 as Timestamp,
        tombstones: Array.from({ length: 200 }, (_, i) => ({
          table: table.name,
          key: { pk: { S: `${long}-${batch.toString()}-${i.toString()}` } },
          version: 100 as Version,
        })),
      });
    }
    const key = freshKey();
    await commitDeletes([{ table, key, version: 200 }]);
    await run();
    clock.wallMs += limits.tombstoneGraceMs;
    const failing: AwsPorts = {
      ...ports,
      items: {
        ...ports.items,
        removeTombstone: (tombstone) =>
          tombstone.version === 100
            ? Promise.reject(new StoreError("throttled", "scripted"))
            : ports.items.removeTombstone(tombstone),
      },
    };
    const report = await run({ ports: failing });
    expect(report.batchesDropped).toBe(1);
    expect(report.failures).not.toEqual([]);
    expect(await isThere(table, key)).toBe(false);
    for (let page = 0; page < 3; page += 1) await drain();
  });

  test("beside another changes nothing about what is left", async () => {
    const keys = Array.from({ length: 40 }, freshKey);
    const newer = keys.slice(0, 10);
    await commitDeletes(keys.map((key) => ({ table, key, version: 2_000 })));
    for (const key of newer) await install({ table, key, version: 2_001, item: key });
    await run();
    clock.wallMs += limits.tombstoneGraceMs;
    const reports = await Promise.all([run(), run({ ports: stores.openPorts({ clock }) }), run()]);
    expect(reports.reduce((sum, { removed }) => sum + removed, 0)).toBe(30);
    const there = await Promise.all(keys.map((key) => isThere(table, key)));
    expect(there).toEqual(keys.map((key) => newer.includes(key)));
    expect(await ports.control.queuedTombstones(stores.shard)).toEqual([]);
  });
});

describe("what is damaged in the control table", () => {
  beforeEach(drain);

  let client: DynamoDBClient;
  let TableName: string;
  beforeAll(() => {
    const endpoint = stores.servers.endpoint.dynamodb;
    client = new DynamoDBClient({ ...stores.clientOptions, endpoint });
    TableName = deploymentNames(stores.deployment).controlTable;
  });
  afterAll(() => {
    client.destroy();
  });
  const store = async (pk: string, sk: string, rest: Record<string, AttributeValue>) => {
    const Item = { ...rest, pk: { S: pk }, sk: { S: sk } };
    await client.send(new PutItemCommand({ TableName, Item }));
  };
  const remove = async (pk: string, sk: string) => {
    await client.send(new DeleteItemCommand({ TableName, Key: { pk: { S: pk }, sk: { S: sk } } }));
  };
  const padded = (n: number): string => n.toString().padStart(16, "0");

  test.each<[string, string, Record<string, AttributeValue>]>([
    ["tombstones", "0000", {}],
    ["tombstones", `${padded(1)}#grace#${padded(0)}000000`, { through: { N: "1" } }],
    ["fences", "0000", {}],
    ["fences", `${padded(1)}#${"0".repeat(32)}#${padded(0)}`, { keys: { S: "none" } }],
  ])("%s, %s: is told, stays, and holds up nothing", async (queue, sk, rest) => {
    const pk = `${queue}#${stores.shard}`;
    const key = freshKey();
    await commitDeletes([{ table, key, version: 50 }]);
    const fences: AbortedFences = {
      ...{ shard: stores.shard, through: 2 as Timestamp, part: 0, table: table.name },
      ...{ id: "1".repeat(32) as TransactionId, keys: [freshKey()] },
    };
    await ports.control.queueFences(fences);
    await store(pk, sk, rest);
    await run();
    clock.wallMs += limits.tombstoneGraceMs;
    try {
      const report = await run();
      expect(report).toMatchObject({ removed: 1, batchesDropped: 1 });
      expect(report.failures).toEqual([
        {
          ...{ shard: stores.shard, table: undefined, fault: "damaged" },
          message: expect.stringContaining(`${queue} of ${stores.shard}, "${sk}"`) as string,
        },
      ]);
      const onDamaged = (): void => undefined;
      expect(await ports.control.queuedFences(stores.shard, { onDamaged })).toEqual([]);
      expect(await ports.control.queuedTombstones(stores.shard, { onDamaged })).toEqual([]);
    } finally {
      await remove(pk, sk);
    }
  });

  test("samples of the watermark are told, and the next shard has its turn", async () => {
    const [pk, sk] = [`shard#${stores.shard}`, "watermark-samples"];
    await store(pk, sk, { samples: { S: "none" } });
    const { failures } = await run();
    expect(failures).toMatchObject([{ shard: stores.shard, fault: "damaged" }]);
    await ports.control.saveWatermarkSamples(stores.shard, []);
  });
});

describe("watermark samples", () => {
  const sample = (observedMs: number, timestamp = observedMs): WatermarkSample => ({
    observedMs,
    timestamp: timestamp as Timestamp,
  });

  test("I6: no sample younger than the grace ever lets a tombstone go", () => {
    const samples = fc.array(
      fc.tuple(fc.nat(10_000), fc.nat(10_000)).map(([at, ts]) => sample(at, ts)),
    );
    fc.assert(
      fc.property(samples, fc.nat(10_000), fc.nat(5_000), (all, nowMs, graceMs) => {
        const passed = passedAt(all, nowMs, graceMs);
        const allowed = all.filter(({ observedMs }) => nowMs - observedMs >= graceMs);
        expect(passed).toBe(Math.max(0, ...allowed.map(({ timestamp }) => timestamp)));
        const kept = thinned(all, { nowMs, longestGraceMs: 5_000 });
        expect(passedAt(kept, nowMs, graceMs)).toBeLessThanOrEqual(passed);
      }),
    );
  });

  test("stay bounded, and one as old as any grace is always near, for a week of history", () => {
    const intervalMs = 5 * 60_000;
    const longestGraceMs = 7 * 24 * 3_600_000;
    const stepMs = longestGraceMs / (limits.watermarkSamplesMax / 2 - 4);
    let samples: readonly WatermarkSample[] = [];
    for (let nowMs = 0; nowMs < 2.5 * longestGraceMs; nowMs += intervalMs) {
      samples = thinned([...samples, sample(nowMs)], { nowMs, longestGraceMs });
      expect(samples.length).toBeLessThanOrEqual(limits.watermarkSamplesMax);
      if (nowMs < longestGraceMs + 2 * stepMs) continue;
      for (const graceMs of [limits.tombstoneGraceMs, longestGraceMs / 2, longestGraceMs]) {
        const ageMs = nowMs - passedAt(samples, nowMs, graceMs);
        expect(ageMs).toBeGreaterThanOrEqual(graceMs);
        expect(ageMs).toBeLessThanOrEqual(graceMs + stepMs + 2 * intervalMs);
      }
    }
  });
});
