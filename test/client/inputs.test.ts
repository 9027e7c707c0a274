/**
 * Inputs of programs without types: within a transaction they are what the AWS SDK makes of them
 * when it sends them.
 */
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { startApplication } from "./application.ts";
import { modelHandler } from "./model-client.ts";

const { cloud, db, wire } = await startApplication();
const TableName = "rows";
const key = (sk: string) => ({ pk: { S: "p" }, sk: { S: sk } });

/** The model of DynamoDB, with one row. */
async function native(): Promise<DynamoDBClient> {
  const KeySchema = [
    { AttributeName: "pk", KeyType: "HASH" as const },
    { AttributeName: "sk", KeyType: "RANGE" as const },
  ];
  const AttributeDefinitions = ["pk", "sk"].map((AttributeName) => ({
    ...{ AttributeName, AttributeType: "S" as const },
  }));
  const BillingMode = "PAY_PER_REQUEST";
  const client = new DynamoDBClient(
    modelHandler({ TableName, KeySchema, AttributeDefinitions, BillingMode }),
  );
  await client.send(new PutItemCommand({ TableName, Item: key("1") }));
  return client;
}

async function found(client: DynamoDBClient, command: object): Promise<unknown> {
  try {
    const { $metadata: _, ...output } = await client.send(command as GetItemCommand);
    return output;
  } catch (error) {
    return (error as Error).name;
  }
}

async function within(command: object): Promise<unknown> {
  const { result } = await cloud.run(() =>
    db.transact(async (tx) => {
      await wire.send(new PutItemCommand({ TableName, Item: key("1") }));
      const answer = await found(wire, command);
      const left = await found(wire, new ScanCommand({ TableName }));
      return tx.rollback([answer, left]);
    }),
  );
  return result;
}

const none = null as unknown as undefined;
const query = {
  ...{ TableName, KeyConditionExpression: "pk = :p" },
  ExpressionAttributeValues: { ":p": { S: "p" } },
};

describe("what has no value is left out", () => {
  test.each<[string, object]>([
    [
      "parameters of a page",
      new QueryCommand({
        ...{ ...query, ExclusiveStartKey: none, Limit: none, FilterExpression: none },
        ...{ IndexName: none, ExpressionAttributeNames: none, ScanIndexForward: none },
      }),
    ],
    [
      "parameters of a write",
      new PutItemCommand({
        ...{ TableName, Item: key("2"), ConditionExpression: none, ReturnValues: none },
        ExpressionAttributeValues: none,
      }),
    ],
    [
      "placeholders",
      new UpdateItemCommand({
        ...{ TableName, Key: key("1"), UpdateExpression: "SET #a = :a" },
        ExpressionAttributeNames: { "#a": "a", "#b": none as never },
        ExpressionAttributeValues: { ":a": { S: "x" }, ":b": none as never },
      }),
    ],
    ["attributes", new PutItemCommand({ TableName, Item: { ...key("2"), a: none as never } })],
    [
      "members of a value",
      new PutItemCommand({
        TableName,
        Item: {
          ...key("2"),
          a: { S: undefined, N: "1" } as never,
          b: { S: "x", N: none } as never,
        },
      }),
    ],
    [
      "parts of a transaction, and their parameters",
      new TransactWriteItemsCommand({
        TransactItems: [
          { Delete: none, Put: { TableName, Item: key("2"), ConditionExpression: none } },
        ],
      }),
    ],
    [
      "requests of a batch of writes",
      new BatchWriteItemCommand({
        RequestItems: {
          rows: [{ PutRequest: { Item: key("2") }, DeleteRequest: none }],
          others: none as never,
        },
      }),
    ],
    [
      "requests of a batch of reads",
      new BatchGetItemCommand({
        RequestItems: {
          rows: { Keys: [key("1")], ProjectionExpression: none, ExpressionAttributeNames: none },
          others: none as never,
        },
      }),
    ],
    [
      "reads of a transaction",
      new TransactGetItemsCommand({
        TransactItems: [{ Get: { TableName, Key: key("1"), ProjectionExpression: none } }],
      }),
    ],
  ])("%s", async (_, command) => {
    const client = await native();
    const answer = await found(client, command);
    expect(answer).toBeTypeOf("object");
    expect(await within(command)).toEqual([
      answer,
      await found(client, new ScanCommand({ TableName })),
    ]);
    client.destroy();
  });
});

const serialization = "SerializationException";
const validation = "ValidationException";

describe("what is of another type is refused, and the transaction goes on", () => {
  test.each<[string, object, string]>([
    ["a limit that is no number", new QueryCommand({ ...query, Limit: Number.NaN }), serialization],
    ["one that is a text", new QueryCommand({ ...query, Limit: "2" as never }), serialization],
    ["one that is a fraction", new QueryCommand({ ...query, Limit: 1.5 }), serialization],
    [
      "a direction that is a text",
      new QueryCommand({ ...query, ScanIndexForward: "false" as never }),
      serialization,
    ],
    [
      "a segment that is no number",
      new ScanCommand({ TableName, Segment: Number.NaN, TotalSegments: 2 }),
      serialization,
    ],
    [
      "a part that is none",
      new TransactWriteItemsCommand({ TransactItems: [none as never] }),
      serialization,
    ],
    [
      "a read that is none",
      new TransactGetItemsCommand({ TransactItems: [none as never] }),
      serialization,
    ],
    [
      "a request that is none",
      new BatchWriteItemCommand({ RequestItems: { rows: [none as never] } }),
      serialization,
    ],
    ...(["", "n".repeat(65_536)] as const).map((name): [string, object, string] => [
      `a name of ${name.length.toString()} bytes`,
      new GetItemCommand({
        ...{ TableName, Key: key("1"), ProjectionExpression: "#a" },
        ExpressionAttributeNames: { "#a": name },
      }),
      validation,
    ]),
    [
      "a name that is a number",
      new GetItemCommand({
        ...{ TableName, Key: key("1"), ProjectionExpression: "#a" },
        ExpressionAttributeNames: { "#a": 5 as never },
      }),
      serialization,
    ],
  ])("%s", async (_, command, name) => {
    expect(await within(command)).toMatchObject([name, { Count: 1 }]);
  });
});

test("members that nobody knows are ignored, as DynamoDB ignores them", async () => {
  const { result } = await cloud.run(() =>
    db.transact(async () => {
      const Item = { ...key("unheard"), n: { N: "1" } };
      const put = { TableName, Item, Unheard: { Of: [1] }, ReturnItem: true };
      await wire.send(new PutItemCommand(put));
      const get = { TableName, Key: key("unheard"), Consistency: "ALL" };
      return (await wire.send(new GetItemCommand(get))).Item;
    }),
  );
  expect(result).toEqual({ ...key("unheard"), n: { N: "1" } });
});
