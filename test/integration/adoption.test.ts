/** docs/adoption.md walked step by step: a table that is in use comes in, and goes out again. */
import {
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { registerCommand } from "../../cli/commands/register.ts";
import { Shell } from "../../cli/shell/shell.ts";
import { processTerminal } from "../../cli/shell/terminal.ts";
import { createTables } from "../../aws/create-tables.ts";
import * as limits from "../../core/limits.ts";
import { awaitWatermark } from "../../demo/stored-rows.ts";
import { createClient, defineTable, type Client, type Table } from "../../sdk/index.ts";
import { checkTables, registerTables } from "../../sdk/tables.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { openDynamoDb } from "./support.ts";

type Order = { readonly id: string; readonly cents: number; readonly note?: string };

let deployment: LocalDeployment;
let plain: DynamoDBClient;
let db: Client;
let options: Parameters<typeof registerTables>[0];
let TableName: string;
let orders: Table<Order, { readonly id: string }>;
let beforeAdoption: Date;

/** As the document tells plain readers. */
const live = {
  FilterExpression: "attribute_not_exists(#x)",
  ExpressionAttributeNames: { "#x": "_x" },
};

const order = (id: string, cents: number) => ({ id: { S: id }, cents: { N: `${cents}` } });

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  plain = openDynamoDb(stores);
  TableName = `orders-${stores.deployment}`;
  const { region, credentials, endpoint: endpoints } = stores.clientOptions;
  options = { deployment: stores.deployment, region, credentials, endpoints };
  orders = defineTable<Order, { readonly id: string }>(TableName, { key: "id" });
  const partitionKey = { name: "id", type: "S" } as const;
  await createTables(stores.clientOptions, [{ name: TableName, partitionKey }]);
  for (const each of ["first", "second", "theirs"]) await write(order(each, 100));
  db = createClient(options);
  beforeAdoption = new Date();
});
afterAll(async () => {
  await db.close();
  plain.destroy();
  await deployment.stop();
});

async function write(Item: Record<string, AttributeValue>): Promise<void> {
  await plain.send(new PutItemCommand({ TableName, Item }));
}

/** As a program without Tidemark sees the table. */
async function rows(more: object = {}): Promise<Record<string, AttributeValue>[]> {
  const input = { TableName, ConsistentRead: true, ...more };
  const { Items = [] } = await plain.send(new ScanCommand(input));
  return Items.sort((a, b) => (a["id"]?.S ?? "").localeCompare(b["id"]?.S ?? ""));
}

async function row(id: string): Promise<Record<string, AttributeValue> | undefined> {
  const Key = { id: { S: id } };
  return (await plain.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))).Item;
}

const get = (id: string, client = db) => client.snapshot((snapshot) => snapshot.get(orders, id));

const put = (item: Order, client = db) =>
  client.transact((tx) => {
    tx.put(orders, item);
    return Promise.resolve();
  });

async function allInstalled(): Promise<void> {
  const { deployment: name, clientOptions } = deployment.stores;
  const { region, endpoint: endpoints } = clientOptions;
  const through = await db.snapshot((snapshot) => Promise.resolve(snapshot.readTimestamp));
  // No record wakes replay for a block that the client itself has appended: its schedule does.
  await deployment.runReplay();
  await awaitWatermark({ deployment: name, region, endpoints }, through);
}

/** In the document's order: each goes on where the one before has ended. */
const steps: Readonly<Record<string, () => Promise<void>>> = {
  "Look for the reserved names": async () => {
    const looked = { items: 3, isAll: true };
    expect(await checkTables(options, [TableName])).toMatchObject([{ name: TableName, looked }]);
    await write({ ...order("counted", 100), _v: { N: "7" } });
    for (const look of [checkTables, registerTables]) {
      await expect(look(options, [TableName])).rejects.toMatchObject({
        field: "table",
        message: expect.stringMatching(/"_v" \(of type N\).*\{"id":\{"S":"counted"\}\}/) as string,
      });
    }
    await plain.send(new DeleteItemCommand({ TableName, Key: { id: { S: "counted" } } }));
    // The command that the document gives.
    const command = registerCommand(new Shell(processTerminal()));
    expect(command.options.map(({ long }) => long)).toContain("--check");
    const page = readFileSync(new URL("../../docs/adoption.md", import.meta.url), "utf8");
    expect(page).toMatch(/npx tidemark register orders --check/);
  },
  "Leave room": async () => {
    const longest = Math.max(...(await rows()).map((each) => JSON.stringify(each).length));
    expect(longest).toBeLessThan(limits.itemBytesMax - 64);
  },
  "List the writers": async () => {
    // The one that can do neither finds its table as it was: nothing has happened to it yet.
    await expect(get("first")).rejects.toMatchObject({ code: "invalid-request", field: "table" });
  },
  "Teach the readers": async () => {
    expect(await rows(live)).toEqual(await rows());
  },
  "Grant the roles": () => {
    // Each right is tried there, with the role that needs it.
    expect(existsSync(new URL("trust/rights.test.ts", import.meta.url))).toBe(true);
    return Promise.resolve();
  },
  "Register it": async () => {
    const before = await rows();
    const [registered] = await registerTables(options, [{ name: TableName, history: true }]);
    expect(registered).toMatchObject({ name: TableName, partitionKey: { name: "id", type: "S" } });
    expect(await rows()).toEqual(before);
  },
  "Move the writers": async () => {
    await put({ id: "first", cents: 150 });
    // A plain writer that has stayed, with items that no transaction uses.
    await write(order("theirs", 130));
    expect(await row("theirs")).toEqual(order("theirs", 130));
  },
  Check: async () => {
    expect(await get("first")).toEqual({ id: "first", cents: 150 });
    expect(await get("second")).toEqual({ id: "second", cents: 100 });
    const { result } = await db.transact(async (tx) => {
      const found = await tx.get(orders, "second");
      tx.put(orders, { id: "second", cents: (found?.cents ?? 0) + 1 });
      return found?.cents;
    });
    expect(result).toBe(100);
    await allInstalled();
    expect(Number((await row("second"))?.["_v"]?.N)).toBeGreaterThan(0);
    expect(await row("theirs")).toEqual(order("theirs", 130));
    // "id", "a", "cents", "1" and "note" are no more than 64 bytes.
    const note = (bytes: number) => ({ id: "a", cents: 1, note: "x".repeat(bytes) });
    await put(note(limits.itemBytesMax - 128));
    await expect(put(note(limits.itemBytesMax - 64))).rejects.toMatchObject({
      code: "transaction-too-large",
    });
  },
};

/** What the document says beside the steps, tried between the two walks. */
const meanwhile: Readonly<Record<string, () => Promise<void>>> = {
  "plain readers see a tombstone of key, _v and _x, and filter it by its name": async () => {
    await db.transact((tx) => {
      tx.delete(orders, "first");
      return Promise.resolve();
    });
    expect(await get("first")).toBeUndefined();
    await allInstalled();
    expect(await row("first")).toEqual({
      id: { S: "first" },
      _v: { N: expect.stringMatching(/^\d+$/) as string },
      _x: { BOOL: true },
    });
    expect(ids(await rows())).toContain("first");
    expect(ids(await rows(live))).not.toContain("first");
  },
  "transactions refuse _v and _x in an item": async () => {
    for (const name of ["_v", "_x"]) {
      await expect(put({ id: "copy", cents: 1, [name]: 1 })).rejects.toMatchObject({
        code: "invalid-request",
        field: name,
      });
    }
  },
  "a plain write without _v over a settled item stays, and is read as version 0": async () => {
    await allInstalled();
    await write(order("second", 500));
    expect(await get("second")).toEqual({ id: "second", cents: 500 });
  },
  "history begins with the registration; before that seven minutes are read": async () => {
    const { receipt } = await put({ id: "kept", cents: 1 });
    await put({ id: "kept", cents: 2 });
    const asOf = receipt.commitTimestamp ?? receipt.readTimestamp;
    const kept = db.snapshot({ asOf }, (past) => past.get(orders, "kept"));
    expect(await kept).toEqual({ id: "kept", cents: 1 });
    const first = (asOf: Date) => db.snapshot({ asOf }, (past) => past.get(orders, "first"));
    expect(await first(beforeAdoption)).toEqual({ id: "first", cents: 100 });
    const earlier = beforeAdoption.getTime() - limits.asOfWithoutHistoryMsMax;
    await expect(first(new Date(earlier))).rejects.toMatchObject({
      code: "snapshot-too-old",
      message: expect.stringMatching(/history .* begins at \d+/) as string,
    });
  },
};

const out: Readonly<Record<string, () => Promise<void>>> = {
  "Stop the transactions": () => db.close(),
  "Wait until all is installed": async () => {
    db = createClient(options);
    await allInstalled();
    await db.close();
    const { ports, shard } = deployment.stores;
    const letters = await plain.send(
      new QueryCommand({
        TableName: ports.names.controlTable,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": { S: `dead-letters#${shard}` } },
      }),
    );
    expect(letters.Items).toEqual([]);
  },
  "Wait for the tombstones": async () => {
    // Or, now that no transaction runs, by hand.
    for (const each of await rows()) {
      if (each["_x"] === undefined || each["id"] === undefined) continue;
      await plain.send(new DeleteItemCommand({ TableName, Key: { id: each["id"] } }));
    }
    expect(await rows(live)).toEqual(await rows());
  },
  "Take the table out": async () => {
    const Key = { pk: { S: "registry" }, sk: { S: TableName } };
    const { controlTable } = deployment.stores.ports.names;
    await plain.send(new DeleteItemCommand({ TableName: controlTable, Key }));
    db = createClient(options);
    await expect(get("kept")).rejects.toMatchObject({ code: "invalid-request", field: "table" });
  },
  "Plain writers may write": async () => {
    const kept = await row("kept");
    await write({ ...kept, ...order("kept", 77) });
    await write(order("second", 78));
    // And back, with a version of the past on one of them.
    await registerTables(options, [TableName]);
    await db.close();
    db = createClient(options);
    expect([await get("kept"), await get("second")]).toEqual([
      { id: "kept", cents: 77 },
      { id: "second", cents: 78 },
    ]);
    const { receipt } = await put({ id: "kept", cents: 79 });
    expect(Number((await row("kept"))?.["_v"]?.N)).toBe(receipt.commitTimestamp);
  },
};

function ids(items: readonly Record<string, AttributeValue>[]): (string | undefined)[] {
  return items.map((each) => each["id"]?.S);
}

test("the steps are the document's", () => {
  const page = readFileSync(new URL("../../docs/adoption.md", import.meta.url), "utf8");
  const stepsOf = (heading: string) => {
    const [, after = ""] = page.split(`\n## ${heading}\n`);
    const [section = ""] = after.split("\n## ");
    return [...section.matchAll(/^\d+\. \*\*(.+?)\*\*/gm)].map(([, title]) =>
      title?.replace(/\.$/, ""),
    );
  };
  expect(Object.keys(steps)).toEqual(stepsOf("In, step by step"));
  expect(Object.keys(out)).toEqual(stepsOf("Out again"));
});

test.each(Object.entries(steps))("in: %s", (_, walk) => walk());
test.each(Object.entries(meanwhile))("meanwhile %s", (_, look) => look());
test.each(Object.entries(out))("out: %s", (_, walk) => walk());
