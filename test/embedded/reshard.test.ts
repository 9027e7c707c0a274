/**
 * The deployed handlers while their stream is split and merged, as an on-demand stream does by
 * itself: the embedded mapping hands them a child after its parent, and one log goes on
 * (docs/adr/0008-a-shard-is-a-hash-key.md; I1 to I3, I7).
 */
import { expect, test } from "vitest";
import { createAwsPorts, type AwsPorts } from "../../aws/ports.ts";
import { createTables } from "../../aws/create-tables.ts";
import { registerTables } from "../../aws/register-tables.ts";
import { StoreError } from "../../core/errors.ts";
import type { LogPosition, ShardId, TableDescription } from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import type { Engine } from "../../engine/types.ts";
import { stackFunctions, type FunctionDefinition } from "../../localstack/stack-functions.ts";
import { localIdentity } from "../harness/local-servers.ts";
import { openReshard, type Reshard } from "../harness/reshard.ts";
import { increment, key, numberOf, readOne } from "../integration/support.ts";
import { eventually, startTestStack } from "./fixtures/test-stack.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";

const table: TableDescription = {
  name: "counters",
  partitionKey: { name: "pk", type: "S" },
  history: false,
  access: "transactional",
};
const counter = key("counter");

type World = {
  readonly ports: AwsPorts;
  readonly shard: ShardId;
  readonly engine: Engine;
  /** A client that commits and dies before it installs. */
  readonly dying: Engine;
  readonly stream: Reshard;
  close(): Promise<void>;
};

async function begin(functions: readonly FunctionDefinition[]): Promise<World> {
  const { endpoints, region, deployment } = await startTestStack({ functions });
  const aws = { ...localIdentity, region, endpoint: endpoints };
  await createTables(aws, [table]);
  await registerTables({ ...aws, deployment }, [table]);
  const ports = createAwsPorts({ ...aws, deployment });
  const [shard] = await ports.control.shards();
  if (shard === undefined) throw new Error("no shard");
  const stream = await openReshard(aws, ports.names.stream);
  const engine = createEngine(ports, { commit: "stream" });
  const install = (): Promise<never> => Promise.reject(new StoreError("unavailable", "dead"));
  const dying = createEngine(
    { ...ports, items: { ...ports.items, install } },
    { commit: "stream" },
  );
  const close = async (): Promise<void> => {
    await Promise.all([engine.close(), dying.close()]);
    await ports.close();
    await stream.close();
  };
  return { ports, shard, engine, dying, stream, close };
}

async function add(by: Engine): Promise<void> {
  await by.transact({ ack: "certified" }, (tx) => increment(tx, table, counter));
}

/** Where the watermark stands once it has reached the log's end, which has no gap. */
async function installedThrough({ ports, shard }: World): Promise<LogPosition> {
  const [newest] = await ports.log.readBackward(shard, { blocksMax: 1 });
  if (newest === undefined) throw new Error("the log is empty");
  const { position } = decodeBlock(newest, new KeyHashes(await ports.control.keyHasher(shard)));
  await eventually(async () => {
    const watermark = await ports.control.readWatermark(shard);
    return watermark !== undefined && watermark.position >= position;
  });
  return position;
}

test("goes on through splits and merges, in one log, and skips what lies beside it", async () => {
  const world = await begin(stackFunctions.filter(({ name }) => name !== "api"));
  const { engine, dying, stream, ports, shard } = world;
  await add(engine);
  const [lower, upper] = await stream.split(shard);
  await add(dying);
  await add(engine);
  // A record of nobody's, in a Kinesis shard that carries none: it stops neither function.
  const { endingHashKey } = (await stream.shards()).find(({ id }) => id === upper) ?? {};
  await stream.put(endingHashKey ?? "", Uint8Array.of(1, 2, 3));
  await add(engine);
  const merged = await stream.merge(lower, upper);
  await add(dying);
  const before = await installedThrough(world);
  const [lowest] = await stream.split(merged);
  await add(engine);
  await add(dying);
  expect(await installedThrough(world)).toBeGreaterThan(before);
  const { item } = await ports.items.get(table, counter);
  expect(numberOf(item)).toBe(7);
  expect(await ports.control.shards()).toEqual([shard]);
  expect(await ports.shardOwners.ownersOf(lowest)).toEqual([shard]);
  await world.close();
});

test("a reader finds payloads in the parent and in the child, while no replay runs", async () => {
  const world = await begin(stackFunctions.filter(({ name }) => name === "oracle"));
  const { dying, stream, ports, shard } = world;
  await add(dying);
  await stream.split(shard);
  const fresh = createEngine(ports);
  expect(numberOf(await readOne(fresh, table, counter))).toBe(1);
  await add(dying);
  expect(numberOf(await readOne(fresh, table, counter))).toBe(2);
  expect(numberOf((await ports.items.get(table, counter)).item)).toBe(2);
  await fresh.close();
  await world.close();
});
