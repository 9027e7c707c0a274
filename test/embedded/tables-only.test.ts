/** A stack of tables alone: clients append to the log, and one function keeps house. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createAwsClients } from "../../aws/clients.ts";
import { createAwsPorts } from "../../aws/ports.ts";
import { awaitWatermark } from "../../demo/stored-rows.ts";
import type { EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { tablesOnlyFunctions } from "../../localstack/stack-functions.ts";
import { createClient, defineTable, type Client, type EngineEvent } from "../../sdk/index.ts";
import { eventually, startTestStack, temporaryFolder } from "./fixtures/test-stack.ts";

const accounts = defineTable<{ readonly n: number }, { readonly id: string }>("accounts", {
  key: "id",
});
const options = { sampleTables: true, tablesOnly: true } as const;

function connect({ endpoint }: EmbeddedStack): Client {
  const client = createClient({ endpoint });
  onTestFinished(() => client.close());
  return client;
}

function increment(client: Client, id: string): Promise<unknown> {
  return client.transact({ attemptsMax: 100 }, async (tx) => {
    const counter = await tx.get(accounts, id);
    tx.put(accounts, { id, n: (counter?.n ?? 0) + 1 });
  });
}

const read = (client: Client, id: string) =>
  client.snapshot((snapshot) => snapshot.get(accounts, id));

test("clients count together, beside one that dies between its block and its install", async () => {
  const stack = await startTestStack(options);
  expect(Object.keys(stack.processes).sort()).toEqual(["api", "housekeeping", "stores"]);
  const { deployment, region, endpoints } = stack;
  const aws = createAwsClients({ region, endpoint: endpoints });
  onTestFinished(() => aws.close());
  const ports = createAwsPorts({ deployment, region, endpoint: endpoints });
  onTestFinished(() => ports.close());
  const clients = [connect(stack), connect(stack)];
  const dead = await runToItsDeath(stack.endpoint);
  expect(dead).toBe("SIGKILL");

  // No client reads it: nobody else would put it.
  const { client: dynamodb, sdk } = await aws.dynamodb();
  const command = { TableName: accounts.name, Key: { id: { S: "left" } }, ConsistentRead: true };
  await eventually(async () => {
    const { Item } = await dynamodb.send(new sdk.GetItemCommand(command));
    return Item !== undefined;
  });
  await Promise.all(
    clients.flatMap((client) => Array.from({ length: 10 }, () => increment(client, "counted"))),
  );
  for (const client of clients) {
    expect(await read(client, "counted")).toMatchObject({ n: 20 });
    expect(await read(client, "left")).toMatchObject({ n: 1 });
  }
  const [shard] = await ports.control.shards();
  const [last] = shard === undefined ? [] : await ports.log.readBackward(shard, { blocksMax: 1 });
  await eventually(async () => {
    const watermark = shard && (await ports.control.readWatermark(shard));
    return watermark?.position === last?.position;
  });
});

test("REST commits by blocks of its own, and a killed housekeeping goes on", async () => {
  const stack = await startTestStack(options);
  await stack.kill("housekeeping");
  const write = { op: "update", table: accounts.name, key: { id: "rest" }, add: { n: 2 } };
  const response = await fetch(`${stack.endpoint}/v1/transactions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ writes: [write], returnItems: true }),
  });
  const answer = (await response.json()) as {
    readonly receipt: { readonly commitTimestamp: number };
  };
  expect(answer).toMatchObject({ written: [{ id: "rest", n: 2 }] });
  await awaitWatermark(stack, answer.receipt.commitTimestamp);
});

test("clients keep house where no function does, on the same terms", async () => {
  const functions = tablesOnlyFunctions.filter(({ name }) => name === "api");
  const stack = await startTestStack({ ...options, functions });
  const kept: EngineEvent[] = [];
  const { endpoint } = stack;
  const db = createClient({
    ...{ endpoint, housekeeping: true },
    onEvent: (event) => {
      if (/^house/u.test(event.kind)) kept.push(event);
    },
  });
  onTestFinished(() => db.close());
  expect(await runToItsDeath(endpoint)).toBe("SIGKILL");
  const { receipt } = await db.transact(async (tx) => {
    tx.put(accounts, { id: "after", n: 1 });
  });
  await awaitWatermark(stack, receipt.commitTimestamp ?? Infinity);
  expect(await read(connect(stack), "left")).toMatchObject({ n: 1 });
  await eventually(() => kept.length > 0);
  expect(kept[0]).toEqual({ kind: "house-kept" });
});

test("the data stays, and a stream is added by a start without the option", async () => {
  const dataFolder = temporaryFolder();
  const first = await startTestStack({ ...options, dataFolder });
  await increment(connect(first), "kept");
  await first.stop();

  const again = await startTestStack({ ...options, dataFolder });
  await increment(connect(again), "kept");
  await again.stop();

  const withStream = await startTestStack({ sampleTables: true, dataFolder });
  expect(Object.keys(withStream.processes)).toContain("oracle");
  const client = connect(withStream);
  await increment(client, "kept");
  expect(await read(client, "kept")).toMatchObject({ n: 3 });
  await withStream.stop();
});

test("a start with the option takes the stream away, and nothing is lost", async () => {
  const dataFolder = temporaryFolder();
  const withStream = { sampleTables: true, dataFolder } as const;
  for (const [n, each] of [withStream, { ...options, dataFolder }, withStream].entries()) {
    const stack = await startTestStack(each);
    const isAlone = "tablesOnly" in each;
    expect(Object.keys(stack.processes).includes("oracle")).toBe(!isAlone);
    const client = connect(stack);
    await increment(client, "kept");
    expect(await read(client, "kept")).toMatchObject({ n: n + 1 });
    await stack.stop();
  }
});

async function runToItsDeath(endpoint: string): Promise<string | null> {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const file = fileURLToPath(new URL("fixtures/dies-before-install.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", loader, file, endpoint], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [, signal] = (await once(child, "close")) as [number | null, string | null];
  return signal;
}
