/** The commit log, the version store and the control table on a real protocol server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AbortedFences } from "../../core/aborted-fences-port.ts";
import * as limits from "../../core/limits.ts";
import type { DeadLetter, StoredBlock, TombstoneBatch } from "../../core/ports.ts";
import type {
  Item,
  LogPosition,
  SequenceNumber,
  ShardId,
  Timestamp,
  TransactionId,
  Version,
} from "../../core/types.ts";
import type { AwsPorts } from "../../aws/ports.ts";
import { encodeItem } from "../../schemas/attribute-value.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
let ports: AwsPorts;
let lastShard = 0;

beforeAll(async () => {
  stores = await startLocalStores();
  ({ ports } = stores);
});
afterAll(() => stores.stop());

/** A partition of its own per test. */
function freshShard(): ShardId {
  lastShard += 1;
  return `shardId-${lastShard.toString().padStart(12, "9")}` as ShardId;
}

function block(position: number, bytes = Uint8Array.of(position % 256)): StoredBlock {
  return { position: position as LogPosition, bytes };
}

function positions(blocks: readonly StoredBlock[]): number[] {
  return blocks.map(({ position }) => position);
}

const id = "000102030405060708090a0b0c0d0e0f" as TransactionId;

describe("commit log", () => {
  test("I1: takes one block per position, and keeps the first", async () => {
    const shard = freshShard();
    expect(await ports.log.append(shard, block(1))).toBe("appended");
    const second = await ports.log.append(shard, block(1, Uint8Array.of(99)));
    expect(second).not.toBe("appended");
    expect(await ports.log.append(freshShard(), block(1))).toBe("appended");
    const found = await ports.log.readAt(shard, 1 as LogPosition);
    expect([...(found?.bytes ?? [])]).toEqual([1]);
    expect(await ports.log.readAt(shard, 2 as LogPosition)).toBeUndefined();
  });

  test("I1: of many appends to one position exactly one succeeds", async () => {
    const shard = freshShard();
    const tries = Array.from({ length: 16 }, (_, i) =>
      ports.log.append(shard, block(1, Uint8Array.of(i))),
    );
    const outcomes = await Promise.all(tries);
    expect(outcomes.filter((outcome) => outcome === "appended")).toHaveLength(1);
  });

  test("reads forward after a position and backward from one, in number order", async () => {
    const shard = freshShard();
    for (const position of [1, 2, 9, 10, 11]) await ports.log.append(shard, block(position));
    const after = async (position: number): Promise<number[]> =>
      positions((await ports.log.readAfter(shard, position as LogPosition)).blocks);
    expect(await after(0)).toEqual([1, 2, 9, 10, 11]);
    expect(await after(9)).toEqual([10, 11]);
    expect(await after(10)).toEqual([11]);
    expect(await after(11)).toEqual([]);
    const backward = (blocksMax: number, from?: number): Promise<number[]> =>
      ports.log
        .readBackward(shard, {
          blocksMax,
          ...(from === undefined ? {} : { from: from as LogPosition }),
        })
        .then(positions);
    expect(await backward(2)).toEqual([11, 10]);
    expect(await backward(9, 9)).toEqual([9, 2, 1]);
    expect(await backward(9, 8)).toEqual([2, 1]);
  });

  test("says when a page was cut, and goes on from its last block", async () => {
    const shard = freshShard();
    for (const position of [1, 2, 3, 4]) {
      await ports.log.append(shard, block(position, new Uint8Array(limits.blockBytesMax)));
    }
    const first = await ports.log.readAfter(shard, 0 as LogPosition);
    expect(first.complete).toBe(false);
    const last = first.blocks.at(-1)?.position ?? (0 as LogPosition);
    const second = await ports.log.readAfter(shard, last);
    expect(second.complete).toBe(true);
    expect([...positions(first.blocks), ...positions(second.blocks)]).toEqual([1, 2, 3, 4]);
  });

  test("spills chunks that come back in order, and says when one is missing", async () => {
    const chunks = Array.from({ length: 20 }, (_, i) => new Uint8Array(1000).fill(i));
    await ports.log.spill(id, chunks);
    await ports.log.spill(id, chunks);
    const found = await ports.log.readSpilled(id, 20);
    expect(found?.map((chunk) => [chunk.length, chunk[0]])).toEqual(
      chunks.map((c, i) => [c.length, i]),
    );
    expect(await ports.log.readSpilled(id, 21)).toBeUndefined();
    expect(await ports.log.readSpilled(id, limits.spillChunksMax + 1)).toBeUndefined();
    expect(await ports.log.readSpilled(`${id.slice(2)}ff` as TransactionId, 1)).toBeUndefined();
  });
});

describe("version store", () => {
  const entry = (key: Item, version: number, next: number, item: Item | undefined) => ({
    table: "users",
    key,
    version: version as Version,
    next: next as Version,
    item,
  });
  const save = (saved: ReturnType<typeof entry>): Promise<void> =>
    ports.versions.save({ ...saved, keptMs: 60_000 });
  const find = async (key: Item, at: number): Promise<number | undefined> =>
    (await ports.versions.find("users", key, at as Timestamp))?.version;

  test("finds the version that stood at a timestamp: [version, next)", async () => {
    const key = { pk: { S: "a" } };
    await save(entry(key, 10, 20, { ...key, v: { N: "1" } }));
    await save(entry(key, 20, 30, undefined));
    await save(entry(key, 40, 50, { ...key, v: { N: "4" } }));
    const found = await Promise.all(
      [9, 10, 19, 20, 29, 30, 39, 40, 49, 50].map((at) => find(key, at)),
    );
    expect(found).toEqual([undefined, 10, 10, 20, 20, undefined, undefined, 40, 40, undefined]);
    expect(await ports.versions.find("users", key, 15 as Timestamp)).toEqual(
      entry(key, 10, 20, { ...key, v: { N: "1" } }),
    );
    expect((await ports.versions.find("users", key, 25 as Timestamp))?.item).toBeUndefined();
    expect(await ports.versions.find("others", key, 15 as Timestamp)).toBeUndefined();
  });

  test("knows a key however its attributes are ordered and its numbers spelled", async () => {
    await save(entry({ a: { S: "x" }, b: { N: "1.0" } }, 1, 2, undefined));
    expect(await find({ b: { N: "10e-1" }, a: { S: "x" } }, 1)).toBe(1);
  });

  test("holds keys beyond a partition key's size, each apart", async () => {
    const long = (last: string): Item => ({
      pk: { S: "p".repeat(limits.partitionKeyBytesMax) },
      sk: { S: "s".repeat(limits.sortKeyBytesMax - 1) + last },
    });
    await save(entry(long("1"), 1, 9, undefined));
    await save(entry(long("2"), 2, 9, undefined));
    expect([await find(long("1"), 5), await find(long("2"), 5)]).toEqual([1, 2]);
  });

  test.each([-1, 0, 1, 30_000])(
    "holds an item whose encoding differs from one part's size by %i bytes",
    async (difference) => {
      const key = { pk: { S: `large ${difference.toString()}` } };
      const sized = (padding: number) => ({ ...key, pad: { B: new Uint8Array(padding).fill(7) } });
      const wanted = limits.versionPartBytesMax + difference;
      const frame =
        encodeItem(sized(limits.versionPartBytesMax)).length - limits.versionPartBytesMax;
      const padding = wanted - frame;
      const item = sized(padding);
      expect(encodeItem(item)).toHaveLength(wanted);
      await save(entry(key, 1, 9, item));
      const found = await ports.versions.find("users", key, 5 as Timestamp);
      const pad = found?.item?.["pad"];
      expect(pad !== undefined && "B" in pad ? pad.B.length : 0).toBe(padding);
      expect(pad !== undefined && "B" in pad && pad.B.every((byte) => byte === 7)).toBe(true);
    },
  );
});

describe("control store", () => {
  const watermark = (position: number, requestsDone: number | "all" = "all") => ({
    position: position as LogPosition,
    timestamp: (position * 100) as Timestamp,
    cursor: { sequenceNumber: "4960" as SequenceNumber, requestsDone },
  });

  test("advances a watermark only forward", async () => {
    const shard = freshShard();
    const { control } = ports;
    expect(await control.readWatermark(shard)).toBeUndefined();
    expect(await control.advanceWatermark(shard, watermark(5, 3))).toBe(true);
    expect(await control.readWatermark(shard)).toEqual(watermark(5, 3));
    expect(await control.advanceWatermark(shard, watermark(5))).toBe(false);
    expect(await control.advanceWatermark(shard, watermark(4))).toBe(false);
    expect(await control.readWatermark(shard)).toEqual(watermark(5, 3));
    expect(await control.advanceWatermark(shard, watermark(10))).toBe(true);
    expect(await control.readWatermark(shard)).toEqual(watermark(10));
  });

  test("gives everyone the same secret, made once", async () => {
    const make = (byte: number) => () => new Uint8Array(32).fill(byte);
    const all = await Promise.all(
      [1, 2, 3, 4].map((byte) => stores.openPorts().control.secret("token", make(byte))),
    );
    for (const secret of all) expect([...secret]).toEqual([...(all[0] ?? [])]);
    const later = await ports.control.secret("token", () => {
      throw new Error("made twice");
    });
    expect([...later]).toEqual([...(all[0] ?? [])]);
  });

  test("refuses a registry entry that it cannot understand", async () => {
    const table = await stores.createTable("odd");
    const key = { pk: { S: "registry" }, sk: { S: "broken" } };
    const control = { ...table, name: ports.names.controlTable };
    const complete = {
      ...key,
      partitionKeyName: { S: "pk" },
      partitionKeyType: { S: "S" },
      history: { BOOL: false },
      access: { S: "transactional" },
    };
    const broken: Item[] = [
      { ...complete, partitionKeyType: { S: "BOOL" } },
      { ...complete, history: { S: "no" } },
      { ...complete, access: { S: "native" } },
      { ...complete, sortKeyName: { S: "sk" } },
    ];
    let version = 0;
    const put = (item: Item) =>
      ports.items.install({
        table: control.name,
        key,
        item,
        version: ++version as Version,
        expects: "below",
        signBeforeMs: Number.MAX_SAFE_INTEGER,
      });
    for (const item of broken) {
      await put(item);
      await expect(ports.control.tables()).rejects.toMatchObject({ code: "corrupt-data" });
    }
    await put({ ...complete, access: { S: "mixed" } });
    expect(await ports.control.tables()).toContainEqual(
      expect.objectContaining({ name: "broken", access: "mixed" }),
    );
    await put(complete);
    expect((await ports.control.tables()).map(({ name }) => name)).toContain("broken");
  });

  test("names the idempotency table without a call", () => {
    expect(ports.control.idempotencyTable).toEqual({
      name: ports.names.controlTable,
      partitionKey: { name: "pk", type: "S" },
      sortKey: { name: "sk", type: "S" },
      history: false,
      access: "transactional",
    });
  });

  const life = "grace";
  const batch = (
    shard: ShardId,
    position: number,
    count: number,
    keyBytes = 4,
  ): TombstoneBatch => ({
    shard,
    position: position as LogPosition,
    life,
    through: (position * 10) as Timestamp,
    tombstones: Array.from({ length: count }, (_, i) => ({
      table: "users",
      key: { pk: { S: `${position.toString()}-${i.toString()}-`.padEnd(keyBytes, "k") } },
      version: (position * 10) as Version,
    })),
  });

  function queue(each: TombstoneBatch, from = each.position - 1): Promise<void> {
    return ports.control.queueTombstones({ ...each, from: from as LogPosition });
  }

  test("keeps tombstones of a stretch beside those of one that ends with it", async () => {
    const shard = freshShard();
    const whole = batch(shard, 9, 3);
    const rest = { ...whole, tombstones: whole.tombstones.slice(2) };
    await queue(whole, 4);
    await queue(rest, 7);
    const [queued, ...others] = await ports.control.queuedTombstones(shard);
    expect(queued?.tombstones).toEqual([...whole.tombstones, ...rest.tombstones]);
    expect(others).toEqual([]);
    await ports.control.dropTombstones(whole);
    expect(await ports.control.queuedTombstones(shard)).toEqual([]);
  });

  test("queues tombstones oldest first, and drops exactly the batch named", async () => {
    const shard = freshShard();
    for (const position of [10, 9, 100]) await queue(batch(shard, position, 2));
    await queue(batch(shard, 9, 2));
    expect(await ports.control.queuedTombstones(shard)).toEqual(
      [9, 10, 100].map((position) => batch(shard, position, 2)),
    );
    await ports.control.dropTombstones({ shard, position: 10 as LogPosition, life });
    await ports.control.dropTombstones({ shard, position: 10 as LogPosition, life });
    const left = await ports.control.queuedTombstones(shard);
    expect(left.map(({ position }) => position)).toEqual([9, 100]);
    expect(await ports.control.queuedTombstones(freshShard())).toEqual([]);
  });

  test("keeps what lives longer apart, and goes on behind either", async () => {
    const shard = freshShard();
    const short = batch(shard, 5, 2);
    const long = { ...batch(shard, 5, 3), life: "history" as const };
    const next = batch(shard, 6, 1);
    for (const each of [next, long, short]) await queue(each);
    expect(await ports.control.queuedTombstones(shard)).toEqual([short, long, next]);
    expect(await ports.control.queuedTombstones(shard, { after: short })).toEqual([long, next]);
    expect(await ports.control.queuedTombstones(shard, { after: long })).toEqual([next]);
    await ports.control.dropTombstones(short);
    expect(await ports.control.queuedTombstones(shard)).toEqual([long, next]);
  });

  test("queues a batch larger than an item, and a page never cuts one", async () => {
    const shard = freshShard();
    const large = [
      batch(shard, 1, 300, 2000),
      batch(shard, 2, 300, 2000),
      batch(shard, 3, 300, 2000),
    ];
    for (const each of large) await queue(each);
    const queued = await ports.control.queuedTombstones(shard);
    expect(queued.length).toBeGreaterThanOrEqual(1);
    expect(queued.length).toBeLessThan(3);
    queued.forEach((each, i) => expect(each).toEqual(large[i]));
    for (const { position } of large) await ports.control.dropTombstones({ shard, position, life });
    expect(await ports.control.queuedTombstones(shard)).toEqual([]);
  });

  test("queues what aborted transactions may leave by the time of the abort", async () => {
    const shard = freshShard();
    const fences = (through: number, part = 0): AbortedFences => ({
      ...{ shard, through: through as Timestamp, part, table: "carts" },
      id: through.toString().padStart(32, "0") as TransactionId,
      keys: [
        { pk: { S: "a" }, sk: { N: "1" } },
        { pk: { S: "b" }, sk: { N: "2" } },
      ],
    });
    const all = [fences(7), fences(40), fences(40, 1), fences(300)];
    for (const each of [...all].reverse()) await ports.control.queueFences(each);
    await ports.control.queueFences(fences(40));
    expect(await ports.control.queuedFences(shard)).toEqual(all);
    expect(await ports.control.queuedFences(shard, { after: fences(40) })).toEqual(all.slice(2));
    await ports.control.dropFences(fences(40));
    await ports.control.dropFences(fences(40));
    expect(await ports.control.queuedFences(shard)).toEqual([fences(7), ...all.slice(2)]);
    expect(await ports.control.queuedFences(freshShard())).toEqual([]);
  });

  test("keeps the samples saved last", async () => {
    const shard = freshShard();
    expect(await ports.control.watermarkSamples(shard)).toEqual([]);
    const sample = (n: number) => ({ observedMs: n, timestamp: (n * 2) as Timestamp });
    await ports.control.saveWatermarkSamples(shard, [sample(1), sample(2)]);
    await ports.control.saveWatermarkSamples(shard, [sample(2), sample(3)]);
    expect(await ports.control.watermarkSamples(shard)).toEqual([sample(2), sample(3)]);
  });

  test("saves dead letters of any size, each key of a transaction apart", async () => {
    const letter = (pk: string, item: Item | undefined): DeadLetter => ({
      shard: stores.shard,
      timestamp: 7 as Timestamp,
      id,
      table: "users",
      key: { pk: { S: pk } },
      item,
      reason: "r".repeat(5000),
    });
    const huge = { pk: { S: "b" }, pad: { B: new Uint8Array(500 * 1024) } };
    for (const each of [letter("a", undefined), letter("b", huge), letter("b", huge)]) {
      await ports.control.saveDeadLetter(each);
    }
    const page = await ports.items.query({
      table: ports.control.idempotencyTable,
      partitionKey: { S: `dead-letters#${stores.shard}` },
      descending: false,
    });
    const kept = page.rows.map(({ item }) => [item?.["kind"], item?.["itemBytes"]]);
    expect(kept).toHaveLength(2);
    expect(kept).toContainEqual([{ S: "delete" }, { N: "0" }]);
    expect(kept).toContainEqual([{ S: "put" }, { N: encodeItem(huge).length.toString() }]);
  });
});
