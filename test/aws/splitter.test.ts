/** The splitter on real protocol servers: it measures logs, and splits as operators do. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import { createDynamoDbControlStore } from "../../aws/dynamodb-control-store.ts";
import { createDynamoDb } from "../../aws/dynamodb.ts";
import { closeShard } from "../../aws/join-shard.ts";
import { deploymentNames } from "../../aws/names.ts";
import { splitPartsOn } from "../../aws/split-on-aws.ts";
import { systemClock } from "../../aws/system.ts";
import { StoreError } from "../../core/errors.ts";
import { splitPolicyOf } from "../../core/split-policy.ts";
import type { ShardId, ShardNumber } from "../../core/types.ts";
import { joinShard } from "../../functions/replay/join-shard.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import {
  createSplitterService,
  type SplitterParts,
  type SplitterService,
} from "../../functions/splitter/service.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";
import { loadedBlocks } from "../harness/loaded-log.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

const policy = splitPolicyOf({
  ...{ entriesPerSecond: 20, writeUnitsPerSecond: 1_000, windowSeconds: 10 },
  ...{ coolDownSeconds: 60, shardsMax: 4 },
});
const ample = { remainingMs: () => 60_000 };
const first = "shardId-000000000000" as ShardId;

let stores: LocalStores;
let clients: AwsClients;
/** What the splitter takes for the time, and loads are made for. */
let nowMs = Date.now();
let told: (readonly [string, Readonly<Record<string, unknown>>])[] = [];
let counted: (readonly [string, number, string | undefined])[] = [];
let splitter: SplitterService;

beforeAll(async () => {
  stores = await startLocalStores();
  clients = createAwsClients(stores.clientOptions);
  splitter = createSplitterService(parts());
});
afterAll(async () => {
  await clients.close();
  await stores.stop();
});

function parts(): SplitterParts {
  const tell = (message: string, fields = {}): void => void told.push([message, fields]);
  const count = (...metric: (typeof counted)[number]): void => void counted.push(metric);
  const { ports } = stores;
  return {
    ...{ log: ports.log, control: ports.control, policy, clock: { nowMs: () => nowMs } },
    splitParts: () => splitPartsOn(clients, ports),
    observability: {
      log: { debug: () => undefined, info: tell, warn: tell, error: tell },
      metrics: { count, milliseconds: () => undefined, bytes: () => undefined },
    },
  };
}

async function run(service = splitter, budget = ample) {
  told = [];
  counted = [];
  return await service.run(budget);
}

/** Lets time pass, and fills the log's window with so many commits a second. */
async function fill(shard: ShardId, perSecond: number, partitions: readonly number[]) {
  const { log, control } = stores.ports;
  const hashes = new KeyHashes(await control.keyHasher(shard));
  const [newest] = await log.readBackward(shard, { blocksMax: 1 });
  const after =
    newest === undefined
      ? await control.readWatermark(shard)
      : {
          ...newest,
          timestamp: decodeLogBlockHeader(newest.bytes, newest.position).throughTimestamp,
        };
  nowMs += policy.coolDownSeconds * 2_000;
  const blocks = policy.windowSeconds * 5;
  const each = perSecond / 5;
  const loaded = Array.from({ length: blocks }, (_, block) => ({
    atMs: nowMs - policy.windowSeconds * 1_000 + 200 * (block + 1),
    partitions: Array.from({ length: each }, (_unused, i) => {
      return partitions[(block * each + i) % partitions.length] ?? 0;
    }),
  }));
  for (const block of loadedBlocks(hashes, loaded, after)) {
    expect(await log.append(shard, block)).toBe("appended");
  }
}

const map = async () => (await stores.ports.control.shardMap())?.entries ?? [];
const low = [1, 2, 3, 4].map((n) => n * 1_000_000);

test("a shard with little to do is left alone, and its load is told", async () => {
  expect(await run()).toMatchObject({ measured: 1, decision: { because: "calm" } });
  await fill(first, 10, low);
  expect(await run()).toEqual({
    ...{ measured: 1, unmeasured: 0, split: undefined },
    decision: { kind: "rest", because: "calm" },
  });
  expect(counted).toContainEqual(["EntriesPerSecond", 10, first]);
  expect(told).toEqual([]);
  expect(await map()).toHaveLength(1);
});

test("a busy one is split where its load lies, and says why; the next waits", async () => {
  await fill(first, 40, low);
  const { decision, split } = await run();
  expect(decision).toMatchObject({ kind: "split", because: "entries", movedShare: 0.5 });
  expect(split).toMatchObject({ shard: 1, id: "shard-001", from: 2_500_000 });
  expect(await map()).toMatchObject([
    { number: 0, from: 0 },
    { number: 1, from: 2_500_000, forked: { of: 0, at: split?.forkedAt } },
  ]);
  expect(told).toEqual([
    [
      "a busy shard is split",
      expect.objectContaining({ of: 0, because: "entries", entriesPerSecond: 40, shard: 1 }),
    ],
  ]);
  expect(counted).toContainEqual(["Splits", 1]);
  // The same load is seen, and is of before.
  expect(await run()).toMatchObject({
    ...{ measured: 2, split: undefined },
    decision: { because: "cooling-down", shard: 0 },
  });
  expect(counted).toContainEqual(["SplitsHeldBack", 1]);
  expect(counted).toContainEqual(["EntriesPerSecond", 0, "shard-001"]);
});

test("a process that starts anew cools down as well", async () => {
  const anew = createSplitterService(parts());
  expect(await run(anew)).toMatchObject({ decision: { because: "cooling-down" } });
});

test("a split that was begun and cut short is ended, and no other one begun", async () => {
  await fill(first, 40, [1_000_000, 2_000_000]);
  const append = () => Promise.reject(new StoreError("unavailable", "cut"));
  const real = await splitPartsOn(clients, stores.ports);
  const cutting = { ...real, log: { ...real.log, append } };
  const cut = createSplitterService({ ...parts(), splitParts: () => Promise.resolve(cutting) });
  await expect(run(cut)).rejects.toThrow("cut");
  expect(await map()).toHaveLength(2);
  expect(await run()).toMatchObject({ split: { shard: 2, from: 1_500_000 }, measured: 0 });
  expect(told).toMatchObject([["a split that was begun is ended", { of: 0, shard: 2 }]]);
  expect(await map()).toHaveLength(3);
  expect(await run()).toMatchObject({ decision: { because: "cooling-down" } });
});

test("one busy partition is not split, which would relieve nobody", async () => {
  await fill("shard-001" as ShardId, 40, [3_000_000_000]);
  expect(await run()).toMatchObject({ decision: { because: "indivisible", shard: 1 } });
  expect(told).toMatchObject([["a busy shard is not split", { because: "indivisible" }]]);
});

test("while a shard is being joined none is split, and once it is, none for a while", async () => {
  const { ports } = stores;
  const busy = "shard-001" as ShardId;
  await fill(busy, 40, [3_000_000_000, 4_000_000_000]);
  // Said, and not begun: whoever did may never come back.
  await ports.control.prepareJoin(2 as ShardNumber);
  const looking = createSplitterService({
    ...parts(),
    splitParts: () => Promise.reject(new Error("it is to be split")),
  });
  await expect(run(looking)).rejects.toThrow("it is to be split");
  await closeShard(ports, { shard: 2 as ShardNumber });
  expect(await run()).toMatchObject({ decision: { because: "under-way", shard: 1 } });
  expect(await map()).toHaveLength(3);
  await joinShard({ ports, observability: silentObservability }, { shard: 2 as ShardNumber });
  expect(await map()).toHaveLength(2);
  expect(await run()).toMatchObject({ decision: { because: "cooling-down", shard: 1 } });
});

test("what there is no time for is measured by the next run", async () => {
  const only = { remainingMs: () => (counted.length === 0 ? 60_000 : 0) };
  const service = createSplitterService(parts());
  expect(await run(service, only)).toMatchObject({ measured: 1, unmeasured: 1 });
  const [[, , before] = []] = counted;
  expect(await run(service, only)).toMatchObject({ measured: 1, unmeasured: 1 });
  const [[, , after] = []] = counted;
  expect([before, after].sort()).toEqual(["shard-001", first]);
});

test("two that run at once split a shard once, or one after the other", async () => {
  await fill("shard-001" as ShardId, 60, [3_000_000_000, 3_500_000_000, 4_000_000_000]);
  const runs = await Promise.allSettled(
    [1, 2].map(() => createSplitterService(parts()).run(ample)),
  );
  const done = runs.flatMap((each) => (each.status === "fulfilled" ? [each.value.split] : []));
  expect(done.filter((split) => split !== undefined).length).toBeGreaterThan(0);
  for (const each of runs) {
    if (each.status === "rejected") expect(each.reason).toBeInstanceOf(StoreError);
  }
  expect((await map()).length).toBeGreaterThanOrEqual(3);
  expect((await map()).length).toBeLessThanOrEqual(policy.shardsMax);
});

test("while a table is on its way nothing is split: it says so, and why", async () => {
  await fill("shard-001" as ShardId, 60, [2_600_000, 2_700_000, 2_800_000, 2_900_000]);
  const { name } = await stores.createTable("carts");
  const dynamodb = createDynamoDb(clients.dynamodb);
  const { controlTable: table } = deploymentNames(stores.deployment);
  const control = createDynamoDbControlStore({ dynamodb, clock: systemClock, table });
  const move = { to: "mixed", stage: "closed" } as const;
  await control.changeAccess(name, ({ access }) => ({ access, move, mover: "somebody" }));
  const anew = createSplitterService(parts());
  expect(await run(anew)).toMatchObject({ decision: { kind: "split" }, split: undefined });
  expect(counted).toContainEqual(["SplitsRefused", 1]);
  expect(told).toMatchObject([["a split was refused", { of: 1, field: "table" }]]);
  expect(told[0]?.[1]["reason"]).toContain("once the move is done");
});
