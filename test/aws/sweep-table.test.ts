/** What sweeps leave of a table's items, on a real DynamoDB server. */
import {
  paginateScan,
  PutItemCommand,
  UpdateItemCommand,
  type AttributeValue,
  type DynamoDBClient,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import { createDynamoDb, type DynamoDb } from "../../aws/dynamodb.ts";
import { sweepTable } from "../../aws/sweep-table.ts";
import { systemClock, systemRandom } from "../../aws/system.ts";
import type { Sweep } from "../../core/table-access.ts";
import type { TableDescription } from "../../core/types.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

type Item = Record<string, AttributeValue>;

let stores: LocalStores;
let clients: AwsClients;
let plain: DynamoDBClient;
let dynamodb: DynamoDb;
let made = 0;

beforeAll(async () => {
  stores = await startLocalStores();
  clients = createAwsClients(stores.clientOptions);
  plain = (await clients.dynamodb()).client;
  dynamodb = createDynamoDb(clients.dynamodb);
});
afterAll(async () => {
  await clients.close();
  await stores.stop();
});

const bytes = (fill: number) => ({ B: new Uint8Array(16).fill(fill) });
const version = { _v: { N: "1700000000000001" } };
const mark = { _x: { BOOL: true } };

/** Every kind of item that a table on its way may hold, under the name of what it is. */
const kinds: Readonly<Record<string, Item>> = {
  row: { ...version, a: { S: "1" } },
  "native row": { _n: bytes(1), a: { S: "2" } },
  "bare row": { a: { S: "3" } },
  tombstone: { ...version, ...mark },
  "fenced tombstone": { ...version, ...mark, _f: bytes(2) },
  placeholder: { ...mark, _n: bytes(3), _f: bytes(4) },
  "row out of a placeholder": { ...mark, _n: bytes(5), _f: bytes(6), a: { S: "4" } },
  "row out of a tombstone": { ...version, ...mark, a: { S: "5" } },
  "fenced row": { ...version, _f: bytes(7), a: { S: "6" } },
};

async function tableOf(items: Readonly<Record<string, Item>>): Promise<TableDescription> {
  made += 1;
  const table = await stores.createTable(`swept-${made.toString()}`, {});
  for (const [name, item] of Object.entries(items)) {
    const Item = { pk: { S: name }, ...item };
    await plain.send(new PutItemCommand({ TableName: table.name, Item }));
  }
  return table;
}

async function itemsOf(table: TableDescription): Promise<Record<string, Item>> {
  const input = { TableName: table.name, ConsistentRead: true };
  const found: Item[] = [];
  for await (const { Items = [] } of paginateScan({ client: plain }, input)) found.push(...Items);
  return Object.fromEntries(found.map(({ pk, ...item }) => [pk?.S ?? "", item]));
}

const sweep = (table: TableDescription, removes: Sweep, through: DynamoDb = dynamodb) =>
  sweepTable({ dynamodb: through, clock: systemClock, random: systemRandom }, { table, removes });

const without = (item: Item | undefined, name: string): Item =>
  Object.fromEntries(Object.entries(item ?? {}).filter(([each]) => each !== name));

/** What differs from how it was; undefined for what is gone. */
const changes: Readonly<Record<Sweep, Readonly<Record<string, Item | undefined>>>> = {
  tombstones: {
    tombstone: undefined,
    "row out of a placeholder": without(kinds["row out of a placeholder"], "_x"),
    "row out of a tombstone": without(kinds["row out of a tombstone"], "_x"),
  },
  marks: {
    "row out of a placeholder": without(kinds["row out of a placeholder"], "_x"),
    "row out of a tombstone": without(kinds["row out of a tombstone"], "_x"),
  },
  fences: {
    placeholder: undefined,
    "fenced row": without(kinds["fenced row"], "_f"),
    "fenced tombstone": without(kinds["fenced tombstone"], "_f"),
  },
};

describe.each(["tombstones", "marks", "fences"] as const)("a sweep of %s", (removes) => {
  test("changes what it says, and leaves all else as it is", async () => {
    const table = await tableOf(kinds);
    const waiting = removes === "tombstones" ? 1 : 0;
    const swept = Object.keys(changes[removes]).length;
    expect(await sweep(table, removes)).toEqual({ swept, waiting });
    const left = Object.entries({ ...kinds, ...changes[removes] });
    const expected = left.flatMap(([name, item]) => (item === undefined ? [] : [[name, item]]));
    expect(await itemsOf(table)).toEqual(Object.fromEntries(expected));
    expect(await sweep(table, removes)).toEqual({ swept: 0, waiting });
  });
});

/** Somebody else does something between a page that is read and what follows from it. */
function meanwhile(act: () => Promise<unknown>): DynamoDb {
  return {
    ...dynamodb,
    scan: async (...args) => {
      const page = await dynamodb.scan(...args);
      await act();
      return page;
    },
  };
}

test("a tombstone that is written over, or fenced, meanwhile is not taken away", async () => {
  const put = async (table: TableDescription, item: Item) => {
    const Item = { pk: { S: "tombstone" }, ...item };
    await plain.send(new PutItemCommand({ TableName: table.name, Item }));
  };
  const states = [
    { _v: { N: "1700000000000002" }, a: { S: "new" } },
    { _v: { N: "1700000000000002" }, ...mark },
    { ...version, ...mark, _f: bytes(9) },
  ];
  for (const state of states) {
    const table = await tableOf({ tombstone: { ...version, ...mark } });
    const through = meanwhile(() => put(table, state));
    expect(await sweep(table, "tombstones", through)).toEqual({ swept: 0, waiting: 1 });
    expect(await itemsOf(table)).toEqual({ tombstone: state });
  }
});

test("what has lost its row meanwhile keeps its mark", async () => {
  const name = "row out of a placeholder";
  const table = await tableOf({ [name]: kinds[name] ?? {} });
  const through = meanwhile(() =>
    plain.send(
      new UpdateItemCommand({
        TableName: table.name,
        Key: { pk: { S: name } },
        UpdateExpression: "REMOVE a",
      }),
    ),
  );
  expect(await sweep(table, "marks", through)).toEqual({ swept: 0, waiting: 1 });
  expect(await itemsOf(table)).toEqual({ [name]: without(kinds[name], "a") });
});

test("goes through all pages of a table", async () => {
  const filler = { S: "x".repeat(100_000) };
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [
      i.toString(),
      i % 2 === 0 ? { ...version, ...mark } : { ...version, filler },
    ]),
  );
  const table = await tableOf(many);
  let pages = 0;
  const counting: DynamoDb = {
    ...dynamodb,
    scan: (...args) => {
      pages += 1;
      return dynamodb.scan(...args);
    },
  };
  expect(await sweep(table, "tombstones", counting)).toEqual({ swept: 15, waiting: 0 });
  expect(pages).toBeGreaterThan(1);
  expect(Object.keys(await itemsOf(table))).toHaveLength(15);
});
