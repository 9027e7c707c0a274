/**
 * REST and SDK on a deployment of tables alone, on real protocol servers: they commit by blocks of
 * their own, and what is over a limit is refused by the limit's name, with the remedy.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemDigest } from "../../aws/system-digest.ts";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { Timestamp } from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import type { CommitPreference, Engine, EngineEvent } from "../../engine/types.ts";
import { createApi } from "../../functions/api/service.ts";
import { transactionIdFor } from "../../schemas/transaction-id.ts";
import { createClient, defineTable, type Client, type Table } from "../../sdk/index.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";
import { callerOf, type Answer, type Caller } from "./fixtures/api-harness.ts";

type Row = { readonly id: string; readonly n?: number; readonly text?: string };

let stores: LocalStores;
let rows: Table<Row, { readonly id: string }>;
let client: Client;
const engines: Engine[] = [];

beforeAll(async () => {
  stores = await startLocalStores({ stream: false });
  const { name } = await stores.createTable("rows", { partitionKey: { name: "id", type: "S" } });
  rows = defineTable<Row, { readonly id: string }>(name, { key: "id" });
  const { region, credentials, endpoint: endpoints } = stores.clientOptions;
  client = createClient({ deployment: stores.deployment, region, credentials, endpoints });
});
afterAll(async () => {
  await client.close();
  await Promise.all(engines.map((engine) => engine.close()));
  await stores.stop();
});

/** An instance of the service, and which ways its commits went. */
function open(
  commit: CommitPreference = "auto",
  change: (ports: ClientPorts) => Partial<ClientPorts> = () => ({}),
): { readonly call: Caller; readonly ways: string[] } {
  const ports = stores.openPorts();
  const ways: string[] = [];
  const onEvent = (event: EngineEvent): void => {
    if (event.kind === "certified") ways.push(event.via);
  };
  const engine = createEngine({ ...ports, ...change(ports) }, { commit, onEvent });
  engines.push(engine);
  const logger = { info: () => undefined, error: () => undefined };
  const { control, clock, random } = ports;
  return { call: callerOf(createApi({ engine, control, clock, random, logger })), ways };
}

const put = (item: Row) => ({ op: "put", table: rows.name, item });
const at = (id: string) => ({ table: rows.name, key: { id } });
const keyed = (value: string) => ({ headers: { "Idempotency-Key": value } });
const receiptOf = ({ body }: Answer) => body["receipt"] as { transactionId: string };

describe("REST", () => {
  // What is asked for does not matter: there is one way only.
  test.each(["auto", "express", "stream"] as const)("commits, asked for %s", async (commit) => {
    const { call, ways } = open(commit);
    const id = `one-${commit}`;
    expect((await call("/v1/transactions", { writes: [put({ id, n: 1 })] })).status).toBe(200);
    const update = { op: "update", ...at(id), add: { n: 1 } };
    const condition = { attributes: { n: { eq: 1 } } };
    const both = { writes: [{ ...update, condition }], returnItems: true };
    const answer = await call("/v1/transactions", both, keyed(id));
    expect(answer).toMatchObject({ status: 200, body: { written: [{ id, n: 2 }] } });
    const again = await open(commit).call("/v1/transactions", both, keyed(id));
    expect(again).toMatchObject({ status: 200, body: { receipt: { replayed: true } } });
    expect(ways).toEqual(["express", "express"]);
    expect(await client.snapshot((tx) => tx.get(rows, id))).toEqual({ id, n: 2 });
  });

  test("commits what another instance has read, unless it changed", async () => {
    const [here, there] = [open(), open()];
    await here.call("/v1/transactions", { writes: [put({ id: "read", n: 1 })] });
    const begin = async () => {
      const reads = { gets: [at("read")] };
      const { body } = await here.call("/v1/transactions/begin", { reads });
      return body["transaction"];
    };
    const [first, second] = [await begin(), await begin()];
    const commit = (transaction: unknown, n: number) =>
      there.call("/v1/transactions/commit", { transaction, writes: [put({ id: "read", n })] });
    expect((await commit(first, 2)).status).toBe(200);
    expect(await commit(second, 3)).toMatchObject({ status: 409, body: { code: "conflict" } });
  });

  test("settles outcomes, of what was committed and of what never was", async () => {
    const { call } = open();
    const written = await call("/v1/transactions", { writes: [put({ id: "asked", n: 1 })] });
    const ask = (id: string) => open().call(`/v1/transactions/${id}/outcome`, {});
    expect(await ask(receiptOf(written).transactionId)).toMatchObject({
      status: 200,
      body: { outcome: "committed" },
    });
    const never = transactionIdFor(0 as Timestamp, new Uint8Array(9).fill(1), systemDigest);
    for (const _ of [1, 2]) {
      expect(await ask(never)).toMatchObject({ status: 200, body: { outcome: "aborted" } });
    }
  });
});

describe("what is large", () => {
  const text = "x".repeat(200_000);
  const items = Array.from({ length: 4 }, (_, i): Row => ({ id: `large-${i.toString()}`, text }));

  test("is committed, also where no block has room for it", async () => {
    const { call, ways } = open();
    expect((await call("/v1/transactions", { writes: items.map(put) })).status).toBe(200);
    expect(ways).toEqual(["express"]);
    const ids = items.map(({ id }) => id);
    await client.transact(async (tx) => {
      for (const row of await tx.batchGet(rows, ids)) tx.put(rows, { ...row, id: `${row?.id}-` });
    });
    const copies = await client.snapshot((tx) =>
      tx.batchGet(
        rows,
        ids.map((id) => `${id}-`),
      ),
    );
    expect(copies.map((row) => row?.text?.length)).toEqual(items.map(() => text.length));
  });

  test("more than 16 MiB, or 10,000 keys: refused as everywhere", async () => {
    const many = client.transact((tx) => {
      for (let i = 0; i <= limits.transactionKeysMax; i += 1) tx.put(rows, { id: i.toString() });
      return Promise.resolve();
    });
    await expect(many).rejects.toMatchObject({
      limit: { name: "transactionKeysMax" },
      message: expect.stringContaining("split the work") as string,
    });
    const text = "x".repeat(390_000);
    const much = client.transact((tx) => {
      for (let i = 0; i < 44; i += 1) tx.put(rows, { id: i.toString(), text });
      return Promise.resolve();
    });
    await expect(much).rejects.toMatchObject({
      limit: { name: "payloadBytesMax" },
      message: expect.stringContaining("split the work") as string,
    });
    const writes = Array.from({ length: limits.transactionKeysMax + 1 }, (_, i) =>
      put({ id: i.toString() }),
    );
    expect(await open().call("/v1/transactions", { writes })).toMatchObject({
      status: 413,
      body: { limit: { name: "transactionKeysMax" } },
    });
    const body = { writes: [put({ id: "b", text: "x".repeat(limits.restRequestBytesMax) })] };
    expect(await open().call("/v1/transactions", body)).toMatchObject({
      status: 413,
      body: { limit: { name: "restRequestBytesMax" } },
    });
  });
});

test("whoever cannot refresh its tail puts nothing, and may be asked again", async () => {
  let isDown = false;
  let puts = 0;
  const { call } = open("auto", ({ log }) => ({
    log: {
      ...log,
      readAfter: (shard, position, options) =>
        isDown
          ? Promise.reject(new StoreError("unavailable", "the log does not answer"))
          : log.readAfter(shard, position, options),
      append: (shard, block, options) => {
        puts += 1;
        if (log.append === undefined) throw new Error("no way to append");
        return log.append(shard, block, options);
      },
    },
  }));
  const write = () => call("/v1/transactions", { writes: [put({ id: "down", n: 1 })] });
  expect((await write()).status).toBe(200);
  isDown = true;
  const answer = await write();
  expect(answer).toMatchObject({ status: 503, body: { code: "unavailable", outcome: "aborted" } });
  expect(puts).toBe(1);
  isDown = false;
  expect((await write()).status).toBe(200);
}, 60_000);
