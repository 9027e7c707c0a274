/** The shards' entries are read one by one, while a fork and a join are entered. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import {
  createDynamoDbControlReader,
  createDynamoDbControlStore,
} from "../../aws/dynamodb-control-store.ts";
import { createDynamoDb, type DynamoDb } from "../../aws/dynamodb.ts";
import { deploymentNames } from "../../aws/names.ts";
import { systemClock } from "../../aws/system.ts";
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { LogPosition, ShardId, ShardNumber, Timestamp } from "../../core/types.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
let clients: AwsClients;
let dynamodb: DynamoDb;

beforeEach(async () => {
  stores = await startLocalStores({ shards: 2 });
  clients = createAwsClients(stores.clientOptions);
  dynamodb = createDynamoDb(clients.dynamodb);
});
afterEach(async () => {
  await clients.close();
  await stores.stop();
});

type About = {
  readonly table: string;
  readonly prepareFork: () => Promise<unknown>;
  readonly prepareJoin: () => Promise<void>;
  readonly enter: () => Promise<void>;
};

/** Shard 2 is to be split off shard 0, and shard 1 to be joined to it. */
async function about(): Promise<About> {
  const { controlTable: table } = deploymentNames(stores.deployment);
  const control = createDynamoDbControlStore({ dynamodb, clock: systemClock, table });
  const map = await control.shardMap();
  const [zero, one] = [0, 1].map((n) => map?.get(n as ShardNumber));
  if (zero === undefined || one === undefined) throw new Error("there are two shards");
  const watermark = await control.readWatermark(zero.id);
  if (watermark === undefined) throw new Error("a shard has a watermark");
  const fork = { shard: 2 as ShardNumber, from: one.from / 2 };
  const entry = {
    ...{ shard: "shard-002" as ShardId, number: fork.shard, from: fork.from },
    ...{ startingHashKey: "5", forked: { of: zero.number, at: undefined } },
  };
  const at = 9 as LogPosition;
  const taken = {
    ...{ shard: one.number, ...map?.rangeOf(one.number), endedAt: at },
    endedThrough: 99 as Timestamp,
  };
  return {
    table,
    prepareFork: () => control.prepareFork(entry, watermark),
    prepareJoin: () => control.prepareJoin(one.number),
    enter: async () => {
      await control.enterFork(fork, { of: zero.number, at });
      await control.enterJoin(taken as Parameters<typeof control.enterJoin>[0], {
        ...{ heir: fork.shard, at },
      });
    },
  };
}

test("what is seen in part is read again, and what stays strange is told", async () => {
  const { table, prepareFork, prepareJoin, enter } = await about();
  await prepareFork();
  await prepareJoin();
  let entering: Promise<void> | undefined;
  let isEntered = false;
  let reads = 0;
  // The fork is looked for, and then both are entered; the join is looked for behind that.
  const get: DynamoDb["get"] = async (input, options) => {
    const { pk, sk } = input.Key ?? {};
    if (pk?.S === "shard#shard-002" && sk?.S === "fork") {
      reads += 1;
      const found = await dynamodb.get(input, options);
      await (entering ??= enter());
      isEntered = true;
      return hides && found !== undefined ? undefined : found;
    }
    while (!isEntered) await systemClock.sleep(5);
    return dynamodb.get(input, options);
  };
  let hides = false;
  const reader = createDynamoDbControlReader({ dynamodb: { ...dynamodb, get }, table });
  const map = await reader.shardMap();
  expect(map?.entries.map(({ number }) => number)).toEqual([0, 2]);
  expect(reads).toBe(2);
  hides = true;
  reads = 0;
  await expect(reader.shardMap()).rejects.toBeInstanceOf(CorruptDataError);
  expect(reads).toBe(limits.mapReadTriesMax);
});

test("a join to a shard that was split off behind the list of entries is read again", async () => {
  const { table, prepareFork, prepareJoin, enter } = await about();
  await prepareJoin();
  let lists = 0;
  const query: DynamoDb["query"] = async (input, options) => {
    const found = await dynamodb.query(input, options);
    lists += 1;
    if (lists === 1) {
      await prepareFork();
      await enter();
    }
    return found;
  };
  const reader = createDynamoDbControlReader({ dynamodb: { ...dynamodb, query }, table });
  const map = await reader.shardMap();
  expect(map?.entries.map(({ number }) => number)).toEqual([0, 2]);
  expect(lists).toBe(2);
});
