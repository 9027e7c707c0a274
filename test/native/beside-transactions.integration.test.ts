/**
 * The plugin with a client of Tidemark on a real deployment: it knows the mixed tables from the
 * registry; what a transaction has left in a native write's way is settled, installed or cleaned
 * up; and with transactions running beside it nothing is lost, by either.
 */
import {
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Item, TableDescription } from "../../core/types.ts";
import { tidemarkNative } from "../../native/index.ts";
import { createClient, defineTable, type Client } from "../../sdk/index.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { MixedLog, type MixedWrite } from "../harness/mixed-log.ts";
import { openDynamoDb } from "../integration/support.ts";

type Attributes = Record<string, AttributeValue>;

let deployment: LocalDeployment;
let log: MixedLog;
let table: TableDescription;
let transactional: TableDescription;
let db: Client;
let native: DynamoDBClient;
let plain: DynamoDBClient;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  log = new MixedLog(stores);
  table = await stores.createTable("native", { access: "mixed" });
  transactional = await stores.createTable("transactional");
  const { region, credentials, endpoint } = stores.clientOptions;
  const endpoints = { dynamodb: endpoint.dynamodb, kinesis: endpoint.kinesis };
  db = createClient({ deployment: stores.deployment, region, credentials, endpoints });
  native = openDynamoDb(stores);
  plain = openDynamoDb(stores);
  native.middlewareStack.use(tidemarkNative({ client: db }));
});
afterAll(async () => {
  native.destroy();
  plain.destroy();
  await db.close();
  await deployment.stop();
});

let keys = 0;
function fresh(): Attributes & Item {
  keys += 1;
  return { pk: { S: `row ${keys.toString()}` } };
}
const stored = async (key: Attributes, through = plain): Promise<Attributes | undefined> =>
  (
    await through.send(
      new GetItemCommand({ TableName: table.name, Key: key, ConsistentRead: true }),
    )
  ).Item;
const put = (item: Attributes) =>
  plain.send(new PutItemCommand({ TableName: table.name, Item: item }));
const add = (key: Attributes) =>
  native.send(
    new UpdateItemCommand({
      ...{ TableName: table.name, Key: key, UpdateExpression: "ADD n :one" },
      ExpressionAttributeValues: { ":one": { N: "1" } },
      ReturnValues: "ALL_NEW",
    }),
  );

/** A transaction that has fenced the item that it writes, and has not voted yet. */
async function fenced(key: Item, item: Item | undefined) {
  const write: MixedWrite = { table, key, item };
  const prepared = await log.prepare([write]);
  return { prepared, stamp: await log.fence(prepared) };
}

describe("a native write meets what a transaction has left", () => {
  test("that has not voted: it is voted down, after a while", async () => {
    const key = fresh();
    await put({ ...key, n: { N: "1" } });
    const { prepared } = await fenced(key, { ...key, n: { N: "100" } });
    expect((await add(key)).Attributes).toEqual({ ...key, n: { N: "2" } });
    expect(await db.outcome(prepared.id)).toBe("aborted");
    expect(Object.keys((await stored(key)) ?? {}).sort()).toEqual(["_n", "n", "pk"]);
  });

  test("that votes meanwhile: it is installed, and the write comes after it", async () => {
    const key = fresh();
    await put({ ...key, n: { N: "1" } });
    const { prepared, stamp } = await fenced(key, { ...key, n: { N: "100" } });
    const adding = add(key);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await log.commit(prepared, [stamp]);
    expect((await adding).Attributes).toEqual({ ...key, n: { N: "101" } });
    expect(await db.outcome(prepared.id)).toBe("committed");
  });

  test("that has committed and is not installed", async () => {
    const [key, gone] = [fresh(), fresh()];
    await put({ ...gone, n: { N: "1" } });
    const insert = await fenced(key, { ...key, n: { N: "7" } });
    await log.commit(insert.prepared, [insert.stamp]);
    const missing = { ConditionExpression: "attribute_not_exists(pk)" };
    const create = { TableName: table.name, Item: key, ...missing };
    await expect(native.send(new PutItemCommand(create))).rejects.toMatchObject({
      name: "ConditionalCheckFailedException",
    });
    expect(await stored(key)).toMatchObject({ n: { N: "7" } });
    const deletion = await fenced(gone, undefined);
    await log.commit(deletion.prepared, [deletion.stamp]);
    await native.send(new PutItemCommand({ ...create, Item: { ...gone, by: { S: "native" } } }));
    expect(await stored(gone)).toMatchObject({ by: { S: "native" } });
  });

  test("that has aborted: its placeholder is absent, and gone", async () => {
    const key = fresh();
    const { prepared } = await fenced(key, { ...key, n: { N: "7" } });
    await log.abort(prepared);
    expect(await stored(key)).toBeDefined();
    expect(await stored(key, native)).toBeUndefined();
    const item = { ...key, by: { S: "native" } };
    const missing = { ConditionExpression: "attribute_not_exists(pk)" };
    await native.send(new PutItemCommand({ TableName: table.name, Item: item, ...missing }));
    expect(await stored(key, native)).toEqual(item);
  });

  test("that has not voted: who only reads does not wait, and sees the old state", async () => {
    const key = fresh();
    await put({ ...key, n: { N: "1" } });
    await fenced(key, { ...key, n: { N: "100" } });
    expect(await stored(key, native)).toEqual({ ...key, n: { N: "1" } });
    const all = await native.send(new ScanCommand({ TableName: table.name }));
    expect(JSON.stringify(all.Items)).not.toMatch(/"_[vnfx]"/u);
  });
});

test("native increments and transactions on the same items lose nothing", async () => {
  const rows = [fresh(), fresh(), fresh()];
  const counters = defineTable<{ n: number }, { pk: string }>(table.name);
  const log = defineTable<{ sum: number }, { pk: string }>(transactional.name);
  const pkOf = (key: Attributes): string => key["pk"]?.S ?? "";
  let moved = 0;
  const natives = rows.map(async (key) => {
    for (let i = 0; i < 15; i += 1) await add(key);
  });
  const transactions = [0, 1].map(async (client) => {
    for (let i = 0; i < 8; i += 1) {
      const [from, to] = [rows[(i + client) % 3], rows[(i + client + 1) % 3]].map((key) => ({
        pk: pkOf(key ?? {}),
      }));
      await db.transact({ attemptsMax: 100, deadlineMs: 30_000 }, async (tx) => {
        const source = await tx.get(counters, from ?? { pk: "" });
        const target = await tx.get(counters, to ?? { pk: "" });
        tx.put(counters, { ...(from ?? { pk: "" }), n: (source?.n ?? 0) - 1 });
        tx.put(counters, { ...(to ?? { pk: "" }), n: (target?.n ?? 0) + 2 });
        tx.put(log, { pk: `move ${client.toString()} ${i.toString()}`, sum: 1 });
      });
      moved += 1;
    }
  });
  await Promise.all([...natives, ...transactions]);
  expect(moved).toBe(16);
  await expect
    .poll(async () => {
      const items = await Promise.all(rows.map((key) => stored(key, native)));
      return items.reduce((sum, item) => sum + Number(item?.["n"]?.N), 0);
    })
    .toBe(3 * 15 + 16);
});

test("tables that the registry calls transactional pass untouched", async () => {
  const key = fresh();
  await db.transact(async (tx) => {
    tx.put(defineTable<{ n: number }, { pk: string }>(transactional.name), {
      pk: key["pk"] !== undefined && "S" in key["pk"] ? key["pk"].S : "",
      n: 1,
    });
    return Promise.resolve();
  });
  const query = new QueryCommand({
    ...{ TableName: transactional.name, KeyConditionExpression: "pk = :p" },
    ExpressionAttributeValues: { ":p": key["pk"] as AttributeValue },
  });
  const { Items = [] } = await native.send(query);
  expect(Object.keys(Items[0] ?? {}).sort()).toEqual(["_v", "n", "pk"]);
});
