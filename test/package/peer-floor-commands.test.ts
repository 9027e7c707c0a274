/**
 * Commands inside of transactions in the oldest AWS SDK that the package allows beside it, whose
 * serializers and retries are others than the newest one's.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { FloorSdk } from "./floor-sdk.ts";

const floor = new FloorSdk();

let stack: EmbeddedStack;
beforeAll(async () => {
  const table = {
    ...{ name: "rows", history: false },
    partitionKey: { name: "pk", type: "S" },
    sortKey: { name: "sk", type: "S" },
  } as const;
  const options = { tablesOnly: true, sampleTables: false, tables: [table] };
  [stack] = await Promise.all([
    startEmbeddedStack(options),
    floor.bundle("tidemark.cjs", "sdk", "index.ts"),
    floor.bundle("client.cjs", "client", "index.ts"),
  ]);
});
afterAll(async () => {
  await stack.stop();
  floor.remove();
});

const program = `
const sdk = require("@aws-sdk/client-dynamodb");
const lib = require("@aws-sdk/lib-dynamodb");
const { createClient } = require("./tidemark.cjs");
const { tidemarkPlugin } = require("./client.cjs");
const { endpoint, options } = JSON.parse(process.argv[2]);
const wire = new sdk.DynamoDBClient(options);
wire.middlewareStack.use(tidemarkPlugin());
const document = lib.DynamoDBDocumentClient.from(wire);
const db = createClient({ endpoint });
const TableName = "rows";
const key = (sk) => ({ pk: "p", sk });
const failed = (promise) => promise.then(() => undefined, (error) => error);
(async () => {
  const found = { pages: [], attempts: [] };
  let runs = 0;
  const { receipt } = await db.transact(async (tx) => {
    runs += 1;
    const bytes = { ...key("1"), n: 1, b: Buffer.from("ab") };
    await document.send(new lib.PutCommand({ TableName, Item: bytes }));
    await document.send(new lib.PutCommand({ TableName, Item: key("2") }));
    const { Item } = await document.send(new lib.GetCommand({ TableName, Key: key("1") }));
    found.read = { ...Item, b: Buffer.from(Item.b).toString() };
    const { Attributes } = await document.send(new lib.UpdateCommand({
      TableName, Key: key("1"), UpdateExpression: "ADD n :one REMOVE b", ReturnValues: "ALL_NEW",
      ExpressionAttributeValues: { ":one": 1 },
    }));
    found.updated = Attributes;
    const refused = await failed(wire.send(new sdk.PutItemCommand({
      TableName, Item: { pk: { S: "p" }, sk: { S: "1" } },
      ConditionExpression: "attribute_not_exists(pk)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    })));
    found.refused = [refused instanceof sdk.ConditionalCheckFailedException, refused.Item];
    const canceled = await failed(wire.send(new sdk.TransactWriteItemsCommand({ TransactItems: [{
      ConditionCheck: {
        TableName, Key: { pk: { S: "p" }, sk: { S: "1" } },
        ConditionExpression: "attribute_not_exists(pk)",
      },
    }] })));
    found.canceled = [
      canceled instanceof sdk.TransactionCanceledException,
      canceled.CancellationReasons.map(({ Code }) => Code),
    ];
    const query = {
      TableName, KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": "p" },
    };
    found.pages = [];
    for await (const page of lib.paginateQuery({ client: document, pageSize: 1 }, query)) {
      found.pages.push(page.Items.map(({ sk }) => sk));
    }
    found.sent = (await tx.send(new lib.GetCommand({ TableName, Key: key("2") }))).Item;
    if (runs > 1) return;
    // Ends the attempt: nothing of it is committed, although the body swallows it.
    await db.transact((other) => other.send(new lib.PutCommand({ TableName, Item: key("1") })));
    await db.transact((other) => other.send(new lib.PutCommand({ TableName, Item: key("3") })));
    const conflict = await failed(document.send(new lib.GetCommand({ TableName, Key: key("3") })));
    found.conflict = [conflict.name, conflict.$metadata.attempts];
  });
  found.attempts = [runs, receipt.attempts];
  found.stored = (await document.send(new lib.GetCommand({ TableName, Key: key("1") }))).Item.n;
  await db.close();
  console.log(JSON.stringify(found));
})();
`;

test(`commands are answered in AWS SDK ${floor.version}`, async ({ skip }) => {
  skip(floor.missing !== undefined, floor.missing);
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const options = { region: stack.region, endpoint: stack.endpoints.dynamodb, credentials };
  const found = await floor.run(program, { endpoint: stack.endpoint, options });
  const wire = { pk: { S: "p" }, sk: { S: "1" }, n: { N: "2" } };
  expect(found).toEqual({
    read: { pk: "p", sk: "1", n: 1, b: "ab" },
    updated: { pk: "p", sk: "1", n: 2 },
    refused: [true, wire],
    canceled: [true, ["ConditionalCheckFailed"]],
    pages: [["1"], ["2"], ["3"], []],
    sent: { pk: "p", sk: "2" },
    conflict: ["ConflictError", 1],
    attempts: [2, 2],
    stored: 2,
  });
});
