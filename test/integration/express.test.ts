/**
 * Express commit on real protocol servers, beside the deployed oracle and replay: a lone
 * read-modify-write, processes at one hot row, and what the others see of it.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { awaitWatermark } from "../../demo/stored-rows.ts";
import type { EngineEvent } from "../../engine/types.ts";
import {
  createClient,
  defineTable,
  type Client,
  type DeployedClientOptions,
  type Table,
} from "../../sdk/index.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";

type Counter = { readonly id: string; readonly n: number };
type Counters = Table<Counter, { readonly id: string }>;

let deployment: LocalDeployment;
let counters: Counters;
let options: Omit<DeployedClientOptions, "commit">;
let stack: Parameters<typeof awaitWatermark>[0];
const clients: Client[] = [];

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  const { region, credentials, endpoint: endpoints } = stores.clientOptions;
  options = { deployment: stores.deployment, region, credentials, endpoints };
  stack = { deployment: stores.deployment, region, endpoints };
  const { name } = await stores.createTable("counters", {
    partitionKey: { name: "id", type: "S" },
  });
  counters = defineTable<Counter, { readonly id: string }>(name, { key: "id" });
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await deployment.stop();
});

function open(commit: "auto" | "express" | "stream"): { client: Client; ways: string[] } {
  const ways: string[] = [];
  const onEvent = (event: EngineEvent): void => {
    if (event.kind === "certified") ways.push(event.via);
  };
  const client = createClient({ ...options, commit, onEvent });
  clients.push(client);
  return { client, ways };
}

async function increment(client: Client, id: string): Promise<number> {
  const { result } = await client.transact({ attemptsMax: 500, deadlineMs: 50_000 }, async (tx) => {
    const n = ((await tx.get(counters, id))?.n ?? 0) + 1;
    tx.put(counters, { id, n });
    return n;
  });
  return result;
}

test("a lone client commits without the stream, and others read what it wrote", async () => {
  const [app, reader] = [open("express"), open("stream")];
  for (const n of [1, 2, 3]) expect(await increment(app.client, "lone")).toBe(n);
  expect(app.ways).toEqual(["express", "express", "express"]);
  expect(await reader.client.snapshot((tx) => tx.get(counters, "lone"))).toEqual({
    id: "lone",
    n: 3,
  });
});

test("processes at one row count every increment, whichever way they go", async () => {
  const apps = [open("express"), open("express"), open("auto"), open("stream")];
  const times = 6;
  await Promise.all(
    apps.map(async ({ client }) => {
      for (let i = 0; i < times; i += 1) await increment(client, "hot");
    }),
  );
  const row = await open("stream").client.snapshot((tx) => tx.get(counters, "hot"));
  expect(row?.n).toBe(apps.length * times);
  expect(apps.flatMap(({ ways }) => ways)).toContain("express");
  expect(apps[3]?.ways).not.toContain("express");
});

test("replay passes the blocks of clients", async () => {
  const { receipt } = await open("express").client.transact((tx) => {
    tx.put(counters, { id: "seen", n: 1 });
    return Promise.resolve();
  });
  // Nothing in the stream tells replay of it: the next record does, or its schedule.
  await increment(open("stream").client, "seen");
  await awaitWatermark(stack, receipt.commitTimestamp ?? 0);
});
