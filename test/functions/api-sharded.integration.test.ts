/**
 * Interactive transactions of the REST API over several shards, on real protocol servers: the
 * service as it is deployed and two instances beside it, while an operator splits and joins shards
 * and a caller loses its answers.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import { createAwsPorts, type AwsPorts } from "../../aws/ports.ts";
import { splitShard } from "../../aws/split-shard.ts";
import type { ShardNumber } from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import type { Engine } from "../../engine/types.ts";
import { createApi } from "../../functions/api/service.ts";
import { joinShard } from "../../functions/replay/join-shard.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { callerOf, type Answer, type Caller } from "./fixtures/api-harness.ts";

const table = "accounts";
const names = Array.from({ length: 64 }, (_, n) => `over-shards-${n.toString()}`);

let stack: EmbeddedStack;
let ports: AwsPorts;
let clients: AwsClients;
const engines: Engine[] = [];
/** The service as it is deployed; an instance that commits by blocks, and one by the stream. */
let served: Caller;
let express: Caller;
let stream: Caller;

beforeAll(async () => {
  stack = await startEmbeddedStack({ sampleTables: true, shards: 4 });
  const { deployment, region, endpoints, endpoint } = stack;
  ports = createAwsPorts({ deployment, region, endpoint: endpoints });
  clients = createAwsClients({ endpoint: endpoints, region });
  served = callerOf({
    request: (path, init) => {
      if (typeof path !== "string") throw new TypeError("a caller names a path");
      return fetch(`${endpoint}${path}`, init);
    },
  });
  [express, stream] = (["express", "stream"] as const).map((commit) => {
    const engine = createEngine(ports, { commit });
    engines.push(engine);
    const { control, clock, random } = ports;
    const logger = { info: () => undefined, error: () => undefined };
    return callerOf(createApi({ engine, control, clock, random, logger }));
  }) as [Caller, Caller];
});

afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await clients.close();
  await ports.close();
  await stack.stop();
});

const get = (...ids: readonly string[]) => ({ gets: ids.map((id) => ({ table, key: { id } })) });
const put = (id: string, n: number) => ({ op: "put", table, item: { id, n } });
const tokenIn = (answer: Answer): string => {
  expect(answer.status).toBe(200);
  return String(answer.body["transaction"]);
};
const numbersIn = ({ body }: Answer): unknown[] =>
  (body["reads"] as { gets: ({ n: number } | null)[] }).gets.map((each) => each?.n);
const receiptIn = ({ body }: Answer) => body["receipt"] as { readonly transactionId: string };
const begin = async (by: Caller, ...ids: readonly string[]): Promise<string> =>
  tokenIn(await by("/v1/transactions/begin", { reads: get(...ids) }));
const read = (by: Caller, transaction: string, ...ids: readonly string[]): Promise<Answer> =>
  by("/v1/transactions/read", { transaction, reads: get(...ids) });
const commit = (
  by: Caller,
  transaction: string,
  writes: readonly object[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => by("/v1/transactions/commit", { transaction, writes }, { headers });

/** The n-th name of a shard, as they lie now. */
async function purses(): Promise<(shard: number, n?: number) => string> {
  const map = await ports.control.shardMap();
  const [first] = map?.entries ?? [];
  if (map === undefined || first === undefined) throw new Error("there is no deployment");
  const hashes = new KeyHashes(await ports.control.keyHasher(first.id));
  const shardOf = (id: string) => map.at(hashes.partition(table, { S: id })).number;
  return (shard, n = 0) => {
    const found = names.filter((id) => shardOf(id) === shard)[n];
    if (found === undefined) throw new Error(`shard ${shard.toString()} has no such name`);
    return found;
  };
}

async function fill(): Promise<void> {
  const answer = await served("/v1/transactions", { writes: names.map((id) => put(id, 10)) });
  expect(answer.status).toBe(200);
}

async function stored(...ids: readonly string[]): Promise<unknown[]> {
  return numbersIn(await served("/v1/snapshots", { reads: get(...ids) }));
}

beforeEach(fill);

test("it goes from instance to instance, and commits in all shards or in none", async () => {
  const of = await purses();
  const [a, b, c] = [of(0), of(1), of(2)];
  for (const [n, by] of [served, express, stream].entries()) {
    const token = tokenIn(await read(by, await begin(served, a), b));
    const done = await commit(by, token, [put(a, n), put(b, n), put(c, n)]);
    expect(done.status).toBe(200);
    expect(await stored(a, b, c)).toEqual([n, n, n]);
    const settled = await served(`/v1/transactions/${receiptIn(done).transactionId}/outcome`, {});
    expect(settled.body["outcome"]).toBe("committed");

    const beaten = tokenIn(await read(by, await begin(served, a), b));
    await served("/v1/transactions", { writes: [put(b, 100)] });
    const lost = await commit(by, beaten, [put(a, 99), put(c, 99)]);
    expect(lost.body).toMatchObject({ status: 409, code: "conflict" });
    expect(await stored(a, b, c)).toEqual([n, 100, n]);
  }
});

test("a caller that hears nothing sends it again, and it happens once", async () => {
  const of = await purses();
  const [a, b] = [of(2), of(3)];
  const token = tokenIn(await read(express, await begin(served, a), b));
  const send = (by: Caller) =>
    commit(by, token, [put(a, 1), put(b, 2)], { "Idempotency-Key": "over-shards" });
  // All at once, to everybody; whoever runs into another one is told to come again.
  const answers = await Promise.all([served, express, stream].map(send));
  for (const { status } of answers) expect([200, 202, 409, 503]).toContain(status);
  const ids = new Set<string>();
  for (const by of [served, express, stream]) {
    const again = await send(by);
    expect(again.headers.get("Idempotency-Replayed")).toBe("true");
    ids.add(receiptIn(again).transactionId);
  }
  for (const each of answers) if (each.status === 200) ids.add(receiptIn(each).transactionId);
  expect(ids.size).toBe(1);
  expect(await stored(a, b)).toEqual([1, 2]);
  const other = await commit(stream, token, [put(a, 9)]);
  expect(other.body).toMatchObject({ code: "already-committed", transactionId: [...ids][0] });
});

test("a split and a join between two calls are conflicts where it has read", async () => {
  const of = await purses();
  const [inSplit, elsewhere] = [of(3), of(1)];
  const [caught, free] = [await begin(served, inSplit), await begin(express, elsewhere)];
  const kinesis = await clients.kinesis();
  const carrier = { kinesis, stream: ports.names.stream };
  const { shard } = await splitShard({ ...ports, carrier }, { shard: 3 as ShardNumber });
  for (const by of [served, express, stream]) {
    const refused = await commit(by, caught, [put(elsewhere, 9)]);
    expect(refused.body).toMatchObject({ status: 409, code: "conflict" });
  }
  const halves = await purses();
  const [low, high] = [halves(3), halves(shard)];
  const both = tokenIn(await read(stream, free, low, high));
  expect((await commit(served, both, [put(low, 1), put(high, 2)])).status).toBe(200);
  expect(await stored(low, high, elsewhere)).toEqual([1, 2, 10]);

  const joined = await begin(stream, high);
  await joinShard({ ports, observability: silentObservability }, { shard });
  for (const by of [served, express, stream]) {
    const refused = await commit(by, joined, [put(elsewhere, 9)]);
    expect(refused.body).toMatchObject({ status: 409, code: "conflict" });
  }
  const again = tokenIn(await read(express, await begin(stream, high), elsewhere));
  expect((await commit(served, again, [put(high, 3), put(elsewhere, 4)])).status).toBe(200);
  expect(await stored(high, elsewhere)).toEqual([3, 4]);
});
