/** Splitting shards on real protocol servers: what it leaves, what it refuses, and cut short. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import { createAwsPorts } from "../../aws/ports.ts";
import { splitShard, type SplitParts } from "../../aws/split-shard.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type {
  KeyHash,
  LogBlock,
  LogPosition,
  MakerNumber,
  ShardId,
  ShardNumber,
  Timestamp,
  TransactionId,
  Verdict,
} from "../../core/types.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import { decodeLogBlock, decodeLogBlockHeader } from "../../schemas/log-block.ts";
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
  await expect(none).rejects.toThrow("the deployment has no shard 7; it has 0");
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

test("a table that begins to move between the first question and the fork refuses it", async () => {
  const before = (await parts.control.shardMap())?.entries.length;
  const now = await parts.control.registry();
  const partitionKey = { name: "id", type: "S" } as const;
  const move = { to: "mixed", stage: "closed" } as const;
  const access = "transactional" as const;
  const tables = [{ name: "late", partitionKey, history: false, access, move }];
  let asked = 0;
  const registry = () => Promise.resolve(asked++ === 0 ? now : { ...now, tables });
  const control = { ...parts.control, registry };
  const refused = splitShard({ ...parts, control }, { shard: shard(0) });
  await expect(refused).rejects.toThrow('table "late" is being moved');
  expect((await parts.control.shardMap())?.entries).toHaveLength(before ?? 0);
});

test("what waits for its vote at a fork is a part in the new log", async () => {
  const id = "shard-002" as ShardId;
  const hashes = new KeyHashes(await parts.control.keyHasher(id));
  const put = async (verdict: (at: Timestamp) => Verdict, names: Partial<LogBlock> = {}) => {
    const [newest] = await parts.log.readBackward(id, { blocksMax: 1 });
    if (newest === undefined) throw new Error("there is a fork at least");
    const before = decodeLogBlockHeader(newest.bytes, newest.position);
    const at = (before.throughTimestamp + 1) as Timestamp;
    const position = (newest.position + 1) as LogPosition;
    const block: LogBlock = {
      ...{ position, previousTimestamp: before.throughTimestamp, throughTimestamp: at },
      ...{ cursor: before.cursor, arrivalMs: 1, rejectedRecords: 0, verdicts: [verdict(at)] },
      ...{ maker: { number: 1 as MakerNumber, installed: [] }, ...names },
    };
    const stored = { position, bytes: encodeLogBlock(block, hashes) };
    const dateMs = Date.now();
    await parts.log.append(id, stored, { signBeforeMs: dateMs + 10_000, dateMs });
    return position;
  };
  const voted = "1".padStart(32, "0") as TransactionId;
  const oldestOpen = await put((timestamp) => ({
    ...{ kind: "prepared", id: voted, timestamp, checks: [5n as KeyHash], writes: [] },
    payload: { kind: "inline", bytes: new Uint8Array(1) },
  }));
  const split = await splitShard(parts, { shard: shard(2) });
  expect(split).toMatchObject({ forkedAt: oldestOpen + 1 });
  const before = (oldestOpen - 1) as LogPosition;
  const { blocks } = await parts.log.readAfter(id, before);
  const [stored] = blocks;
  if (stored === undefined) throw new Error("it was put");
  const [own, heirs] = [hashes, new KeyHashes(await parts.control.keyHasher(split.id))].map(
    (each) => decodeLogBlock(stored.bytes, oldestOpen, each).verdicts,
  );
  expect(own?.[0]).not.toHaveProperty("parts");
  expect(heirs).toMatchObject([{ id: voted, of: 2, parts: [{ shard: 2, stamps: 0 }] }]);
});
