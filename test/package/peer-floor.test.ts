/**
 * The plugin of tidemark/native in the oldest AWS SDK that the package allows beside it, whose
 * middleware, requests and document client are others than the newest one's.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { localIdentity } from "../harness/local-servers.ts";
import { startNativeWorld, type NativeWorld } from "../harness/native-world.ts";
import { FloorSdk } from "./floor-sdk.ts";

const floor = new FloorSdk();

let world: NativeWorld;
beforeAll(async () => {
  world = await startNativeWorld();
  await floor.bundle("native.cjs", "native", "index.ts");
});
afterAll(async () => {
  await world.stop();
  floor.remove();
});

const program = `
const sdk = require("@aws-sdk/client-dynamodb");
const lib = require("@aws-sdk/lib-dynamodb");
const { tidemarkNative } = require("./native.cjs");
const { options, table } = JSON.parse(process.argv[2]);
const plain = new sdk.DynamoDBClient(options);
const native = new sdk.DynamoDBClient(options);
const document = lib.DynamoDBDocumentClient.from(native);
const wire = (sk) => ({ pk: { S: "floor" }, sk: { S: sk } });
const update = (UpdateExpression) =>
  plain.send(new sdk.UpdateItemCommand({
    TableName: table, Key: wire("1"), UpdateExpression,
    ExpressionAttributeNames: { "#f": "_f" },
    ...(UpdateExpression.startsWith("SET")
      ? { ExpressionAttributeValues: { ":f": { B: new Uint8Array(16) } } } : {}),
  }));
const clearFence = async ({ key }) => {
  const { Item } = await plain.send(new sdk.GetItemCommand({ TableName: table, Key: key }));
  if (Item._f === undefined) return false;
  await update("REMOVE #f");
  return true;
};
native.middlewareStack.use(tidemarkNative({
  tables: [{ name: table, partitionKey: "pk", sortKey: "sk" }], client: { clearFence },
}));
const nonces = [];
let failures = 0;
native.middlewareStack.add((next) => async (args) => {
  const { Item } = JSON.parse(Buffer.from(args.request.body).toString());
  if (Item && Item._n) nonces.push(Item._n.B);
  if (failures-- > 0) throw Object.assign(new Error("scripted"), { name: "TimeoutError" });
  return next(args);
}, { step: "deserialize", priority: "low", name: "watch" });
(async () => {
  const found = {};
  const Key = { pk: "floor", sk: "1" };
  failures = 1;
  await document.send(new lib.PutCommand({ TableName: table, Item: { ...Key, a: 1 } }));
  found.nonces = new Set(nonces).size;
  found.read = (await document.send(new lib.GetCommand({ TableName: table, Key }))).Item;
  await update("SET #f = :f");
  const added = await document.send(new lib.UpdateCommand({
    TableName: table, Key, UpdateExpression: "ADD a :one", ReturnValues: "ALL_NEW",
    ExpressionAttributeValues: { ":one": 1 },
  }));
  found.updated = added.Attributes;
  const refused = await native.send(new sdk.PutItemCommand({
    TableName: table, Item: wire("1"), ConditionExpression: "attribute_not_exists(pk)",
  })).catch((error) => error);
  found.refused = [refused instanceof sdk.ConditionalCheckFailedException, refused.Item ?? null];
  await plain.send(new sdk.PutItemCommand({
    TableName: table, Item: { ...wire("0"), _f: { B: new Uint8Array(16) }, _x: { BOOL: true } },
  }));
  found.pages = [];
  const query = {
    TableName: table, KeyConditionExpression: "pk = :p",
    ExpressionAttributeValues: { ":p": "floor" },
  };
  for await (const page of lib.paginateQuery({ client: document, pageSize: 1 }, query)) {
    found.pages.push(page.Items.map(({ sk }) => sk));
  }
  console.log(JSON.stringify(found));
})();
`;

test(`the plugin works in AWS SDK ${floor.version}`, async ({ skip }) => {
  skip(floor.missing !== undefined, floor.missing);
  const options = { ...localIdentity, endpoint: world.proxy.url };
  const found = await floor.run(program, { options, table: world.table });
  const row = { pk: "floor", sk: "1" };
  expect(found).toEqual({
    nonces: 2,
    read: { ...row, a: 1 },
    updated: { ...row, a: 2 },
    refused: [true, null],
    pages: [["1"], []],
  });
});
