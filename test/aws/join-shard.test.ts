/** Joining shards on real protocol servers: what it leaves, what it refuses, and cut short. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import { closeShard } from "../../aws/join-shard.ts";
import { createAwsPorts } from "../../aws/ports.ts";
import { splitShard, type SplitParts } from "../../aws/split-shard.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { LogPosition, ShardId, ShardNumber } from "../../core/types.ts";
import { joinShard, type JoinParts } from "../../functions/replay/join-shard.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
let parts: SplitParts;
let joining: JoinParts;
let clients: AwsClients;
const shard = (number: number) => number as ShardNumber;

beforeAll(async () => {
  stores = await startLocalStores({ shardCount: 1, shards: 3 });
  const { ports } = stores;
  clients = createAwsClients(stores.clientOptions);
  parts = { ...ports, carrier: { kinesis: await clients.kinesis(), stream: ports.names.stream } };
  joining = { ports, observability: silentObservability };
});
afterAll(async () => {
  await clients.close();
  await stores.stop();
});

async function handoversIn(name: string): Promise<readonly unknown[]> {
  const { blocks } = await stores.ports.log.readAfter(name as ShardId, 0 as LogPosition);
  return blocks.flatMap(
    ({ bytes, position }) => decodeLogBlockHeader(bytes, position).handover ?? [],
  );
}

test("what cannot be joined is refused, and nothing has changed", async () => {
  const cases: readonly [number, number | undefined, string][] = [
    [9, undefined, "the deployment has no shard 9"],
    [0, undefined, "join shard 1, which is the next one above"],
    [2, 0, "shard 2 is joined to shard 1"],
  ];
  for (const [number, into, why] of cases) {
    const request = { shard: shard(number), into: into === undefined ? into : shard(into) };
    const refused = joinShard(joining, request);
    await expect(refused).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(refused).rejects.toThrow(why);
  }
  expect((await stores.ports.control.shardMap())?.entries).toHaveLength(3);
});

test("a log is closed once, however often that is begun; and is not split any more", async () => {
  for (const _ of [1, 2]) await closeShard(stores.ports, { shard: shard(2) });
  expect(await handoversIn("shard-002")).toEqual([{ kind: "closing" }]);
  const split = splitShard(parts, { shard: shard(2) });
  await expect(split).rejects.toThrow("is being joined to its neighbour");
  expect((await stores.ports.control.shardMap())?.entries).toHaveLength(3);
});

test("a run that is cut short before the range is taken is gone on with", async () => {
  const enterJoin = () => Promise.reject(new Error("cut"));
  const control = { ...stores.ports.control, enterJoin };
  const cut = joinShard(
    { ...joining, ports: { ...stores.ports, control } },
    { shard: shard(2), into: shard(1) },
  );
  await expect(cut).rejects.toThrow("cut");
  expect((await stores.ports.control.shardMap())?.entries).toHaveLength(3);
  const join = await joinShard(joining, { shard: shard(2) });
  expect(join).toMatchObject({ shard: 2, heir: 1, at: 2, takenAt: 1, to: 2 ** 32 });
  expect(await joinShard(joining, { shard: shard(2) })).toEqual(join);
  expect(await handoversIn("shard-002")).toEqual([{ kind: "closing" }, { kind: "ended" }]);
  expect(await handoversIn("shard-001")).toMatchObject([
    { kind: "takes", shard: 2, endedAt: 2, from: join.from, to: 2 ** 32 },
  ]);
});

// The split that was refused has used one up.
test("the range may be split off again, under a number that no shard has had", async () => {
  expect(await splitShard(parts, { shard: shard(1) })).toMatchObject({ shard: 4 });
  expect(await joinShard(joining, { shard: shard(4) })).toMatchObject({ heir: 1 });
  expect(await joinShard(joining, { shard: shard(1) })).toMatchObject({ heir: 0 });
});

test("a process that starts anew finds the map with its ends", async () => {
  const { clientOptions, deployment } = stores;
  const anew = createAwsPorts({ ...clientOptions, deployment });
  const map = await anew.control.shardMap();
  expect(map?.entries.map(({ number }) => number)).toEqual([0]);
  expect(map?.ended.map(({ number, ended }) => [number, ended?.heir]).sort()).toEqual([
    [1, 0],
    [2, 1],
    [4, 1],
  ]);
  expect(await anew.control.shards()).toHaveLength(4);
  await anew.close();
});
