/** Splitting shards on real protocol servers: what it leaves, what it refuses, and cut short. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import { createAwsPorts } from "../../aws/ports.ts";
import { splitShard, type SplitParts } from "../../aws/split-shard.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { LogPosition, ShardId, ShardNumber } from "../../core/types.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
let parts: SplitParts;
let clients: AwsClients;
const shard = (number: number) => number as ShardNumber;

beforeAll(async () => {
  stores = await startLocalStores({ shardCount: 2, shards: 1 });
  const { ports } = stores;
  clients = createAwsClients(stores.clientOptions);
  const kinesis = await clients.kinesis();
  parts = { ...ports, carrier: { kinesis, stream: ports.names.stream } };
});
afterAll(async () => {
  await clients.close();
  await stores.stop();
});

test("a shard that is not there, and a place outside of its range, are refused", async () => {
  const none = splitShard(parts, { shard: shard(7) });
  await expect(none).rejects.toThrow("the deployment has no shard 7");
  for (const at of [0, 2 ** 32, 1.5, -1]) {
    const refused = splitShard(parts, { shard: shard(0), at });
    await expect(refused).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(refused).rejects.toThrow("has the hashes from 0x00000000 to 0xffffffff");
  }
  expect((await parts.control.shardMap())?.entries).toHaveLength(1);
});

test("one that is cut short before its fork has changed nothing, and is gone on with", async () => {
  const append = () => Promise.reject(new Error("cut"));
  const cut = splitShard({ ...parts, log: { ...parts.log, append } }, { shard: shard(0) });
  await expect(cut).rejects.toThrow("cut");
  expect(await parts.control.shardMap()).toMatchObject({ entries: [{ number: 0 }] });
  expect(await stores.ports.control.shards()).toHaveLength(1);
  const unnamed = stores.ports.control.keyHasher("shard-001" as ShardId);
  await expect(unnamed).rejects.toThrow("about to be split off");
  const elsewhere = splitShard(parts, { shard: shard(0), at: 5 });
  await expect(elsewhere).rejects.toThrow("at 0x80000000 was begun and cut short");
  const split = await splitShard(parts, { shard: shard(0) });
  expect(split).toEqual({ shard: 1, id: "shard-001", from: 2 ** 31, forkedAt: 1 });
});

test("one that is cut short behind its fork ends where it stands", async () => {
  const enterFork = () => Promise.reject(new Error("cut"));
  const control = { ...parts.control, enterFork };
  await expect(splitShard({ ...parts, control }, { shard: shard(1) })).rejects.toThrow("cut");
  expect((await parts.control.shardMap())?.entries).toHaveLength(2);
  const split = await splitShard(parts, { shard: shard(1) });
  expect(split).toEqual({ shard: 2, id: "shard-002", from: 3 * 2 ** 30, forkedAt: 2 });
  const { blocks } = await parts.log.readAfter("shard-001" as ShardId, 0 as LogPosition);
  expect(blocks.map(({ position }) => position)).toEqual([1]);
});

test("two at once split it once or twice, and never give two logs one name", async () => {
  const both = await Promise.allSettled([
    splitShard(parts, { shard: shard(0) }),
    splitShard(parts, { shard: shard(0) }),
  ]);
  const map = await parts.control.shardMap();
  const done = both.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  expect(done.length).toBeGreaterThan(0);
  for (const { shard: number, from, forkedAt } of done) {
    expect(map?.get(number)).toMatchObject({ from, forked: { of: 0, at: forkedAt } });
  }
});

test("a process that starts anew reads the logs with their pasts", async () => {
  const { clientOptions, deployment } = stores;
  const anew = createAwsPorts({ ...clientOptions, deployment });
  const hashes = new KeyHashes(await anew.control.keyHasher("shard-002" as ShardId));
  expect(hashes.past).toMatchObject([
    { shard: 0, through: 1 },
    { shard: 1, through: 2 },
  ]);
  const newest = await anew.log.readBackward("shard-002" as ShardId, { blocksMax: 10 });
  expect(newest.map(({ position }) => position)).toEqual([2]);
  const before = await anew.log.readBackward("shard-002" as ShardId, {
    ...{ blocksMax: 10, from: 1 as LogPosition },
  });
  expect(before.map(({ position }) => position)).toEqual([1]);
  await anew.close();
});

test("its records go to a hash key of the Kinesis shard that carries the other's", async () => {
  const entries = await stores.ports.control.shardEntries();
  const half = 2n ** 127n;
  for (const { startingHashKey } of entries) expect(BigInt(startingHashKey)).toBeLessThan(half);
  expect(new Set(entries.map(({ startingHashKey }) => startingHashKey)).size).toBe(entries.length);
});
