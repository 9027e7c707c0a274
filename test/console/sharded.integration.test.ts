/** The console over several shards, some of them quiet, and while one is split. */
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { splitShardOf } from "../../aws/split-on-aws.ts";
import type { ShardNumber } from "../../core/types.ts";
import type { RowsPage, State, Story } from "../../console/wire.ts";
import { target } from "../../sdk/connect.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { createClient, type Client } from "../../sdk/index.ts";
import { accounts, committed, orders } from "../cli/fixtures/small-deployment.ts";
import { servedConsole, watched, type ServedConsole } from "./fixtures/served-console.ts";

let stack: EmbeddedStack;
let byStream: Client;
let express: Client;
let served: ServedConsole;

beforeAll(async () => {
  stack = await startEmbeddedStack({
    shards: 2,
    sampleTables: false,
    tables: [
      { name: "accounts", partitionKey: { name: "id", type: "S" }, history: false },
      {
        name: "orders",
        partitionKey: { name: "customer", type: "S" },
        sortKey: { name: "placedAt", type: "N" },
        history: true,
      },
    ],
  });
  const { endpoint } = stack;
  byStream = createClient({ endpoint, commit: "stream" });
  express = createClient({ endpoint, commit: "express" });
  served = await servedConsole({ endpoint });
}, 60_000);

afterAll(async () => {
  await served.close();
  await Promise.all([byStream.close(), express.close()]);
  await stack.stop();
  expect(served.defects).toEqual([]);
});

test("a transaction over all shards has a part in each, and counts once", async () => {
  const stream = await watched(served);
  await stream.until(({ kind }) => kind === "state");
  const id = await committed(byStream, async (tx) => {
    for (let at = 0; at < 16; at += 1) tx.put(accounts, { id: `a${at}`, cents: at });
  });
  const seen = await stream.until(
    (event) => event.kind === "seconds" && event.seconds.some(({ part }) => part > 0),
  );
  const last = seen.at(-1)?.event;
  const parts = last?.kind === "seconds" ? last.seconds.map(({ part }) => part) : [];
  expect(parts.reduce((sum, each) => sum + each, 0)).toBe(1);
  const story = await served.get<Story>(`/api/transactions/${id}`);
  expect(story.standing).toBe("committed");
  const shards = story.steps
    .filter(({ kind }) => kind === "prepare")
    .map(({ place }) => place?.shard);
  expect(shards.sort()).toEqual([0, 1]);
});

test("a moment is shown also where one of the shards has been quiet since", async () => {
  await committed(express, async (tx) => {
    tx.put(orders, { customer: "ann", placedAt: 1, total: 1 });
  });
  const now = await served.get<RowsPage>("/api/tables/orders/rows");
  expect(now.rows).toHaveLength(1);
  const at = now.at;
  // The moment is the later one of two logs, whose times agree to a second or so (protocol §10).
  await setTimeout(2_000);
  await committed(express, async (tx) => {
    tx.put(orders, { customer: "ann", placedAt: 1, total: 2 });
  });
  const then = await served.get<RowsPage>(`/api/tables/orders/rows?at=${at}`);
  expect(then.rows).toMatchObject([{ item: { total: { N: "1" } } }]);
});

test("a shard that is split off while it looks shows by itself", async () => {
  const stream = await watched(served);
  const state = async (): Promise<State> => {
    const last = (await stream.until(({ kind }) => kind === "state")).at(-1)?.event;
    if (last?.kind !== "state") throw new Error("a state was waited for");
    return last.state;
  };
  expect((await state()).shards).toHaveLength(2);
  const where = await target({ endpoint: stack.endpoint });
  await splitShardOf(where, { shard: 0 as ShardNumber, at: undefined });
  let seen = await state();
  while (seen.shards.length === 2) seen = await state();
  expect(seen.shards.map(({ number }) => number)).toEqual([0, 1, 2]);
  expect(seen.shards.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(100);
});
