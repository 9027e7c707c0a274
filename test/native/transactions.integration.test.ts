/**
 * DynamoDB's own transactions and PartiQL through the plugin. On dynalite, which knows neither, it
 * is only what is refused before it is sent.
 */
import {
  BatchExecuteStatementCommand,
  ExecuteStatementCommand,
  ExecuteTransactionCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type TransactWriteItemsCommandInput,
} from "@aws-sdk/client-dynamodb";
import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { InvalidRequestError } from "../../native/index.ts";
import { startNativeWorld, type Attributes, type NativeWorld } from "../harness/native-world.ts";

let world: NativeWorld;
beforeAll(async () => {
  world = await startNativeWorld();
});
afterEach(() => {
  world.proxy.reset();
  world.cleared.length = 0;
});
afterAll(() => world.stop());

const placeholder: Attributes = {
  _n: { B: new Uint8Array(16) },
  _f: { B: new Uint8Array(16) },
  _x: { BOOL: true },
};
const missing = "attribute_not_exists(pk)";
const unknown = "dynalite knows neither transactions nor PartiQL; DynamoDB Local does";

function update(key: Attributes) {
  return {
    ...{ TableName: world.table, Key: key, UpdateExpression: "ADD #c :one" },
    ExpressionAttributeNames: { "#c": "count" },
    ExpressionAttributeValues: { ":one": { N: "1" } },
  };
}

function write(
  TransactItems: NonNullable<TransactWriteItemsCommandInput["TransactItems"]>,
  ClientRequestToken?: string,
) {
  return world.native.send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken }));
}

describe("TransactWriteItems", () => {
  test("meets the fences of several parts, and is then made as it was asked", async ({ skip }) => {
    skip(!world.isWhole, unknown);
    const [put, changed, gone, checked] = [world.key(), world.key(), world.key(), world.key()];
    await world.store({ ...changed, count: { N: "1" } });
    await world.fence(put, "aborts");
    await world.fence(changed, "commits");
    await world.fence(gone, "commits");
    await world.fence(checked, "aborts");
    const { table: TableName } = world;
    await write([
      { Put: { TableName, Item: put, ConditionExpression: missing } },
      { Update: update(changed) },
      { Delete: { TableName, Key: gone } },
      { ConditionCheck: { TableName, Key: checked, ConditionExpression: missing } },
    ]);
    expect(world.cleared).toHaveLength(4);
    expect(world.proxy.seen("TransactWriteItems")).toBe(2);
    const nonce = { B: expect.any(Uint8Array) as Uint8Array };
    expect(await world.stored(put)).toEqual({ ...put, _n: nonce });
    expect(await world.stored(changed)).toMatchObject({
      count: { N: "2" },
      by: { S: "transaction" },
    });
    expect(await world.stored(gone)).toBeUndefined();
    expect(await world.stored(checked)).toBeUndefined();
  });

  test("is canceled by the user's conditions only, and shows what was asked for", async ({
    skip,
  }) => {
    skip(!world.isWhole, unknown);
    const [there, asked, fenced] = [world.key(), world.key(), world.key()];
    const stored = { B: new Uint8Array(16) };
    await world.store({ ...there, a: { S: "x" }, _n: stored });
    await world.store({ ...asked, a: { S: "y" }, _n: stored });
    await world.fence(fenced, "aborts");
    const { table: TableName } = world;
    const put = (Item: Attributes) => ({ TableName, Item, ConditionExpression: missing });
    const canceled = await write([
      { Put: put(there) },
      { Put: { ...put(asked), ReturnValuesOnConditionCheckFailure: "ALL_OLD" } },
      { Put: put(fenced) },
    ]).catch((error: unknown) => error);
    expect(canceled).toBeInstanceOf(TransactionCanceledException);
    const { CancellationReasons: reasons } = canceled as TransactionCanceledException;
    expect(reasons?.map(({ Code }) => Code)).toEqual([
      ...["ConditionalCheckFailed", "ConditionalCheckFailed", "None"],
    ]);
    expect(reasons?.map(({ Item }) => Item)).toEqual([
      ...[undefined, { ...asked, a: { S: "y" } }, undefined],
    ]);
  });

  test("is the same when it is repeated by its token", async ({ skip }) => {
    skip(!world.isWhole, unknown);
    const { table: TableName } = world;
    const key = world.key();
    const token = crypto.randomUUID();
    const once = () => write([{ Update: update(key) }], token);
    await once();
    await once();
    expect(await world.stored(key)).toMatchObject({ count: { N: "1" } });
    const document = new TransactWriteCommand({
      TransactItems: [{ Put: { TableName, Item: { pk: "document", sk: "s", a: 1 } } }],
    });
    await world.document.send(document);
    const put = { pk: { S: "document" }, sk: { S: "s" } };
    expect(await world.stored(put)).toMatchObject({ a: { N: "1" }, _n: {} });
  });
});

test("TransactGetItems hides, whatever is projected", async ({ skip }) => {
  skip(!world.isWhole, unknown);
  const [hidden, there, made] = [world.key(), world.key(), world.key()];
  await world.store({ ...hidden, ...placeholder });
  await world.store({ ...there, a: { S: "x" }, _v: { N: "1700000000000000" } });
  await world.store({ ...made, ...placeholder, b: { S: "y" } });
  const get = async (projection: object) => {
    const TransactItems = [hidden, there, made].map((Key) => ({
      Get: { TableName: world.table, Key, ...projection },
    }));
    const read = new TransactGetItemsCommand({ TransactItems });
    return (await world.native.send(read)).Responses?.map(({ Item }) => Item);
  };
  expect(await get({})).toEqual([
    undefined,
    { ...there, a: { S: "x" } },
    { ...made, b: { S: "y" } },
  ]);
  expect(await get({ ProjectionExpression: "a" })).toEqual([undefined, { a: { S: "x" } }, {}]);
});

describe("PartiQL that reads", () => {
  test("hides placeholders and Tidemark's attributes", async ({ skip }) => {
    skip(!world.isWhole, unknown);
    const [hidden, there] = [world.key(), world.key()];
    await world.store({ ...hidden, ...placeholder });
    await world.store({ ...there, a: { S: "x" }, _v: { N: "1700000000000000" } });
    const select = async (what: string, { pk }: Attributes) => {
      const Statement = `SELECT ${what} FROM "${world.table}" WHERE pk = '${pk?.S ?? ""}'`;
      return (await world.native.send(new ExecuteStatementCommand({ Statement }))).Items;
    };
    expect(await select("*", there)).toEqual([{ ...there, a: { S: "x" } }]);
    expect(await select("a", there)).toEqual([{ a: { S: "x" } }]);
    expect(await select("*", hidden)).toEqual([]);
    expect(await select("a", hidden)).toEqual([]);
    const where = ({ pk }: Attributes) => `pk = '${pk?.S ?? ""}' AND sk = 's'`;
    const batch = new BatchExecuteStatementCommand({
      Statements: [hidden, there].map((key) => ({
        Statement: `SELECT * FROM "${world.table}" WHERE ${where(key)}`,
      })),
    });
    const { Responses } = await world.native.send(batch);
    expect(Responses?.map(({ Item }) => Item)).toEqual([undefined, { ...there, a: { S: "x" } }]);
  });
});

describe("refused by name, before anything is sent", () => {
  const key = { pk: { S: "p" }, sk: { S: "s" } };

  async function refusal(sent: Promise<unknown>): Promise<unknown> {
    const error = await sent.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect((error as Error).message).toContain(world.table);
    return (error as InvalidRequestError).field;
  }

  test("legacy parameters", async () => {
    const { native, table: TableName } = world;
    const value = [{ S: "p" }];
    const compared = { ComparisonOperator: "EQ", AttributeValueList: value } as const;
    expect(
      await refusal(
        native.send(
          new PutItemCommand({ TableName, Item: key, Expected: { a: { Exists: false } } }),
        ),
      ),
    ).toBe("Expected");
    const change = { a: { Action: "DELETE" } } as const;
    expect(
      await refusal(
        native.send(new UpdateItemCommand({ TableName, Key: key, AttributeUpdates: change })),
      ),
    ).toBe("AttributeUpdates");
    const query = { TableName, KeyConditions: { pk: compared } };
    expect(await refusal(native.send(new QueryCommand(query)))).toBe("KeyConditions");
    const scan = { TableName, ScanFilter: { a: compared } };
    expect(await refusal(native.send(new ScanCommand(scan)))).toBe("ScanFilter");
  });

  test("attributes with Tidemark's names", async () => {
    const item = { ...key, _v: { N: "1" } };
    const put = new PutItemCommand({ TableName: world.table, Item: item });
    expect(await refusal(world.native.send(put))).toBe("Item");
    const transact = new TransactWriteItemsCommand({
      TransactItems: [{ Put: { TableName: world.table, Item: item } }],
    });
    expect(await refusal(world.native.send(transact))).toBe("Item");
  });

  test.each([
    "INSERT INTO \"TABLE\" VALUE {'pk': 'p'}",
    "insert  into TABLE value {'pk': 'p'}",
    "UPDATE \"TABLE\" SET a = 1 WHERE pk = 'p'",
    "/* ours */ -- and so on\n UPDATE\"TABLE\" SET a = 1 WHERE pk = 'p'",
    "DELETE FROM \"TABLE\" WHERE pk = 'p'",
    "EXISTS(SELECT * FROM \"TABLE\" WHERE pk = 'p')",
  ])("PartiQL: %s", async (text) => {
    const Statement = text.replace("TABLE", world.table);
    const one = world.native.send(new ExecuteStatementCommand({ Statement }));
    expect(await refusal(one)).toBe("Statement");
    const Statements = [{ Statement }];
    const some = world.native.send(new BatchExecuteStatementCommand({ Statements }));
    expect(await refusal(some)).toBe("Statement");
    const all = new ExecuteTransactionCommand({ TransactStatements: Statements });
    expect(await refusal(world.native.send(all))).toBe("Statement");
  });

  afterEach(() => {
    const sent = ["PutItem", "UpdateItem", "Query", "Scan", "TransactWriteItems"];
    expect(sent.map((name) => world.proxy.seen(name))).toEqual([0, 0, 0, 0, 0]);
  });
});
