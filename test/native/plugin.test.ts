/** The plugin in the stack of a client: where it stands, whom it refuses, what it has to know. */
import {
  BatchWriteItemCommand,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createAwsClients } from "../../aws/clients.ts";
import { InvalidRequestError, tidemarkNative } from "../../native/index.ts";
import { KnownTables } from "../../native/mixed-tables.ts";
import { createClient } from "../../sdk/index.ts";

const tables = [{ name: "rows", partitionKey: "id" }];
const clearFence = (): Promise<boolean> => Promise.resolve(false);
const plugin = () => tidemarkNative({ client: { clearFence }, tables });
const region = "eu-west-1";

const made: DynamoDBClient[] = [];
function awsClient(): DynamoDBClient {
  const client = new DynamoDBClient({ region });
  made.push(client);
  return client;
}
afterEach(() => {
  for (const each of made.splice(0)) each.destroy();
});

describe("a client that Tidemark makes its own calls by", () => {
  test("is refused where it has the plugin", async () => {
    const dynamodb = awsClient();
    dynamodb.middlewareStack.use(plugin());
    const db = createClient({ deployment: "dev", region, dynamodb });
    const used = db.snapshot(() => Promise.resolve());
    await expect(used).rejects.toMatchObject({ code: "invalid-request", field: "dynamodb" });
    await db.close();
  });

  test("gets none later", async () => {
    const dynamodb = awsClient();
    const clients = createAwsClients({ region, dynamodb });
    await clients.dynamodb();
    expect(() => {
      dynamodb.middlewareStack.use(plugin());
    }).toThrow(InvalidRequestError);
  });
});

test("a plugin needs somebody who clears fences, and somebody who names the tables", () => {
  expect(() => tidemarkNative({ client: {} as never, tables })).toThrow(/`client` must be/u);
  expect(() => tidemarkNative({ client: { clearFence } })).toThrow(/name the mixed tables/u);
});

test.each<[string, unknown, string, RegExp]>([
  ["nothing", undefined, "options", /must be an object/u],
  ["no client", {}, "client", /`client` is missing/u],
  ["a misspelt option", { clinet: {} }, "clinet", /no option `clinet`; known are: client, /u],
  ["names of tables", { client: { clearFence }, tables: ["rows"] }, "tables", /a list of \{ name/u],
  ["no keys", { client: { clearFence }, tables: [{ name: "rows" }] }, "tables", /partitionKey/u],
  [
    ...([
      "another's key",
      { client: { clearFence }, tables: [{ ...tables[0], key: "id" }] },
    ] as const),
    ...(["tables", /sortKey\?/u] as const),
  ],
])("%s is refused by name, since it would write unaware", (_what, options, field, message) => {
  const made = () => tidemarkNative(options as never);
  expect(made).toThrow(message);
  expect(made).toThrow(expect.objectContaining({ code: "invalid-request", field }) as never);
});

test("used twice on a client it stands there once", () => {
  const client = awsClient();
  client.middlewareStack.use(plugin());
  client.middlewareStack.use(plugin());
  // The other place is beside a middleware that the commands bring along.
  const found = client.middlewareStack.identify().filter((name) => name.includes("tidemark"));
  expect(found).toHaveLength(1);
});

test("operations without a table wait for no list of tables", async () => {
  const client = new DynamoDBClient({
    ...{ region, credentials: { accessKeyId: "test", secretAccessKey: "test" } },
    requestHandler: {
      handle: () => Promise.reject(new Error("not reached")),
    },
    maxAttempts: 1,
  });
  const { ListTablesCommand } = await import("@aws-sdk/client-dynamodb");
  const mixedTables = vi.fn(() => Promise.reject(new Error("no registry")));
  const support = Object.assign({ clearFence }, {});
  const native = tidemarkNative({
    client: Object.assign(support, {
      [Symbol.for("tidemark.native-support")]: { clearFence, mixedTables },
    }),
  });
  client.middlewareStack.use(native);
  await expect(client.send(new ListTablesCommand({}))).rejects.toThrow("not reached");
  expect(mixedTables).not.toHaveBeenCalled();
  const get = new GetItemCommand({ TableName: "rows", Key: { id: { S: "a" } } });
  await expect(client.send(get)).rejects.toThrow("no registry");
  client.destroy();
});

test("a table that is moved takes no native writes, and is read", async () => {
  const client = new DynamoDBClient({
    ...{ region, credentials: { accessKeyId: "test", secretAccessKey: "test" } },
    requestHandler: { handle: () => Promise.reject(new Error("sent")) },
    maxAttempts: 1,
  });
  const [moved = { name: "" }] = tables;
  const onItsWay = { ...moved, move: { to: "mixed", stage: "guarded" } };
  const mixedTables = () => Promise.resolve([onItsWay]);
  const support = { [Symbol.for("tidemark.native-support")]: { clearFence, mixedTables } };
  client.middlewareStack.use(tidemarkNative({ client: Object.assign({ clearFence }, support) }));
  const at = { TableName: "rows", Key: { id: { S: "a" } } };
  const put = { TableName: "rows", Item: at.Key };
  const writes = [
    client.send(new PutItemCommand(put)),
    client.send(new UpdateItemCommand(at)),
    client.send(new DeleteItemCommand(at)),
    client.send(new BatchWriteItemCommand({ RequestItems: { rows: [{ PutRequest: put }] } })),
    client.send(new TransactWriteItemsCommand({ TransactItems: [{ Put: put }] })),
  ];
  const message =
    'table "rows" is on its way to mixed (guarded) and takes no native writes; ' +
    "`npx tidemark move rows --access mixed` goes on, and says how far it is";
  for (const write of writes)
    await expect(write).rejects.toMatchObject({ code: "unavailable", message });
  await expect(client.send(new GetItemCommand(at))).rejects.toThrow("sent");
  client.destroy();
});

describe("the list of mixed tables", () => {
  test("is asked for again in the background, and waited for only when it is old", async () => {
    let nowMs = 0;
    let known = ["one"];
    const load = vi.fn(() => Promise.resolve(known.map((name) => ({ name, partitionKey: "id" }))));
    const list = new KnownTables(load, () => nowMs);
    await list.ready();
    expect([list.find("one")?.partitionKey, list.find("two")]).toEqual(["id", undefined]);
    known = ["two"];
    nowMs = 5_000;
    expect(list.ready()).toBeUndefined();
    expect(load).toHaveBeenCalledTimes(1);
    nowMs = 5_001;
    expect(list.ready()).toBeUndefined();
    expect(load).toHaveBeenCalledTimes(2);
    await vi.waitFor(() => {
      expect(list.find("two")).toBeDefined();
    });
    nowMs = 15_002;
    expect(list.ready()).toBeInstanceOf(Promise);
  });

  test("stands where nobody answers any more, but not where nobody ever has", async () => {
    let nowMs = 0;
    let fails = true;
    const load = () =>
      fails
        ? Promise.reject(new Error("down"))
        : Promise.resolve([{ name: "one", partitionKey: "p" }]);
    const list = new KnownTables(load, () => nowMs);
    await expect(list.ready()).rejects.toThrow("down");
    fails = false;
    await list.ready();
    fails = true;
    nowMs = 20_000;
    await list.ready();
    expect(list.find("one")).toBeDefined();
  });

  test("knows a table by its ARN as well", async () => {
    const list = new KnownTables(
      () => Promise.resolve([{ name: "my.table-1", partitionKey: "p" }]),
      () => 0,
    );
    await list.ready();
    const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/my.table-1";
    expect(list.find(arn)?.name).toBe("my.table-1");
    expect(list.find(`${arn}x`)).toBeUndefined();
    expect(list.find(undefined)).toBeUndefined();
  });
});
