/**
 * Native writes through the plugin, on a real protocol server: what they leave, what they answer,
 * and what becomes of a fence that stands in their way.
 */
import {
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { BatchWriteCommand, DeleteCommand, PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
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

const nonce = { B: expect.objectContaining({ length: 16 }) as Uint8Array };

describe("one call, which leaves a nonce where it adds something", () => {
  test("PutItem", async () => {
    const key = world.key();
    const item = { ...key, a: { S: "x" } };
    await world.native.send(new PutItemCommand({ TableName: world.table, Item: item }));
    expect(await world.stored(key)).toEqual({ ...item, _n: nonce });
    expect(world.proxy.seen("PutItem")).toBe(1);
  });

  test("PutItem over a fence, without a condition", async () => {
    const key = world.key();
    await world.fence(key, "commits");
    await world.native.send(new PutItemCommand({ TableName: world.table, Item: key }));
    expect(await world.stored(key)).toEqual({ ...key, _n: nonce });
    expect([world.proxy.seen("PutItem"), world.cleared]).toEqual([1, []]);
  });

  test.each(["SET a = :a", "REMOVE b SET a = :a", "set\n a = :a", "ADD c :a"])(
    "UpdateItem: %s",
    async (UpdateExpression) => {
      const key = world.key();
      const values = UpdateExpression.includes(":a") ? { ":a": { N: "1" } } : undefined;
      const update = { TableName: world.table, Key: key, UpdateExpression };
      await world.native.send(
        new UpdateItemCommand({ ...update, ExpressionAttributeValues: values }),
      );
      const { _n, ...rest } = (await world.stored(key))!;
      expect(_n).toEqual(nonce);
      await world.plain.send(
        new UpdateItemCommand({
          ...update,
          Key: { ...key, sk: { S: "plain" } },
          ExpressionAttributeValues: values,
        }),
      );
      expect({ ...rest, sk: { S: "plain" } }).toEqual(
        await world.stored({ ...key, sk: { S: "plain" } }),
      );
      expect(world.proxy.seen("UpdateItem")).toBe(1);
    },
  );

  test("UpdateItem that only takes something away leaves the identity as it is", async () => {
    const remove = (Key: Attributes, TableName = world.table) =>
      new UpdateItemCommand({ TableName, Key, UpdateExpression: "REMOVE b" });
    const key = world.key();
    await world.native.send(remove(key));
    await world.plain.send(remove(key, world.otherTable));
    const there = await world.plain.send(
      new GetItemCommand({ TableName: world.otherTable, Key: key }),
    );
    // DynamoDB makes no item, and the emulators make one.
    expect(await world.stored(key)).toEqual(there.Item);
    const _n = { B: new Uint8Array(16).fill(3) };
    await world.store({ ...key, a: { S: "x" }, b: { S: "y" }, _n });
    await world.native.send(remove(key));
    expect(await world.stored(key)).toEqual({ ...key, a: { S: "x" }, _n });
    expect(world.proxy.seen("UpdateItem")).toBe(2);
    await world.fence(key, "commits");
    await world.native.send(remove(key));
    expect(world.cleared).toHaveLength(1);
  });

  test("UpdateItem with an empty expression is refused as DynamoDB refuses it", async () => {
    const empty = { TableName: world.table, Key: world.key(), UpdateExpression: "" };
    const refused = world.native.send(new UpdateItemCommand(empty));
    await expect(refused).rejects.toThrow(/Invalid UpdateExpression/);
  });

  test("UpdateItem without an expression makes an item", async () => {
    const key = world.key();
    const { Attributes } = await world.native.send(
      new UpdateItemCommand({ TableName: world.table, Key: key, ReturnValues: "UPDATED_NEW" }),
    );
    expect(Attributes).toBeUndefined();
    expect(await world.stored(key)).toEqual({ ...key, _n: nonce });
  });

  test("BatchWriteItem; a delete needs nothing", async () => {
    const [put, gone] = [world.key(), world.key()];
    await world.store(gone);
    await world.native.send(
      new BatchWriteItemCommand({
        RequestItems: {
          [world.table]: [{ PutRequest: { Item: put } }, { DeleteRequest: { Key: gone } }],
          [world.otherTable]: [{ PutRequest: { Item: put } }],
        },
      }),
    );
    expect(await world.stored(put)).toEqual({ ...put, _n: nonce });
    expect(await world.stored(gone)).toBeUndefined();
    const bodies = JSON.stringify(world.proxy.bodies("BatchWriteItem"));
    expect(bodies.match(/"_n"/gu)).toHaveLength(1);
  });

  test("commands of the document client", async () => {
    const key = { pk: "document", sk: "s" };
    const wire = { pk: { S: "document" }, sk: { S: "s" } };
    const { table: TableName } = world;
    await world.document.send(new PutCommand({ TableName, Item: { ...key, count: 1 } }));
    expect(await world.stored(wire)).toEqual({ ...wire, count: { N: "1" }, _n: nonce });
    const updated = await world.document.send(
      new UpdateCommand({
        ...{ TableName, Key: key, UpdateExpression: "ADD #c :one", ReturnValues: "ALL_NEW" },
        ExpressionAttributeNames: { "#c": "count" },
        ExpressionAttributeValues: { ":one": 1 },
      }),
    );
    expect(updated.Attributes).toEqual({ ...key, count: 2 });
    const RequestItems = { [TableName]: [{ PutRequest: { Item: { ...key, count: 3 } } }] };
    await world.document.send(new BatchWriteCommand({ RequestItems }));
    const gone = await world.document.send(
      new DeleteCommand({ TableName, Key: key, ReturnValues: "ALL_OLD" }),
    );
    expect(gone.Attributes).toEqual({ ...key, count: 3 });
    expect(await world.stored(wire)).toBeUndefined();
  });
});

describe("a user's condition", () => {
  test("that does not hold ends as it would without the plugin, item or not", async () => {
    const key = world.key();
    const item = { ...key, a: { S: "x" } };
    await world.native.send(new PutItemCommand({ TableName: world.table, Item: item }));
    const put = (asks: object) =>
      world.native.send(
        new PutItemCommand({
          ...{ TableName: world.table, Item: item, ...asks },
          ConditionExpression: "attribute_not_exists(pk)",
        }),
      );
    const plainly = await put({}).catch((error: unknown) => error);
    expect(plainly).toBeInstanceOf(ConditionalCheckFailedException);
    expect(plainly).toHaveProperty("Item", undefined);
    const shown = await put({ ReturnValuesOnConditionCheckFailure: "ALL_OLD" }).catch(
      (error: unknown) => error,
    );
    expect(shown).toBeInstanceOf(ConditionalCheckFailedException);
    if (world.isWhole) expect(shown).toMatchObject({ Item: { a: { S: "x" } } });
    expect(JSON.stringify(shown)).not.toContain("_n");
  });

  test("with OR in it stays one condition", async () => {
    const key = world.key();
    const item = { ...key, a: { S: "x" } };
    await world.store(item);
    await world.fence(key, "aborts");
    await world.native.send(
      new PutItemCommand({
        ...{ TableName: world.table, Item: { ...item, a: { S: "y" } } },
        ConditionExpression: "attribute_not_exists(pk) OR a = :x",
        ExpressionAttributeValues: { ":x": { S: "x" } },
      }),
    );
    expect(world.cleared).toHaveLength(1);
    expect(await world.stored(key)).toMatchObject({ a: { S: "y" } });
  });
});

describe("a fence that stands in the way", () => {
  const missing = { ConditionExpression: "attribute_not_exists(pk)" };

  test.each(["commits", "aborts"] as const)(
    "of one that %s: an update comes after it",
    async (fate) => {
      const key = world.key();
      const item = { ...key, count: { N: "1" } };

      await world.store(item);
      await world.fence(key, fate);
      const { Attributes } = await world.native.send(
        new UpdateItemCommand({
          ...{ TableName: world.table, Key: key, UpdateExpression: "ADD #c :one" },
          ExpressionAttributeNames: { "#c": "count" },
          ExpressionAttributeValues: { ":one": { N: "1" } },
          ReturnValues: "ALL_NEW",
        }),
      );
      const by = fate === "commits" ? { by: { S: "transaction" } } : {};
      expect(Attributes).toEqual({ ...item, ...by, count: { N: "2" } });
      expect(world.cleared).toEqual([{ table: world.table, key }]);
      expect(world.proxy.seen("UpdateItem")).toBe(2);
    },
  );

  test("of one that aborts: attribute_not_exists holds on the placeholder", async () => {
    const key = world.key();
    await world.fence(key, "aborts");
    const item = { ...key, a: { S: "x" } };
    await world.native.send(new PutItemCommand({ TableName: world.table, Item: item, ...missing }));
    expect(await world.stored(key)).toEqual({ ...item, _n: nonce });
  });

  test("of one that commits: attribute_not_exists does not hold, as the user's", async () => {
    const key = world.key();
    await world.fence(key, "commits");
    const put = new PutItemCommand({ TableName: world.table, Item: key, ...missing });
    await expect(world.native.send(put)).rejects.toBeInstanceOf(ConditionalCheckFailedException);
    expect(await world.stored(key)).toMatchObject({ by: { S: "transaction" } });
  });

  test("a delete that asks for old values gets those of the transaction", async () => {
    const key = world.key();
    await world.fence(key, "commits");
    const gone = await world.native.send(
      new DeleteItemCommand({ TableName: world.table, Key: key, ReturnValues: "ALL_OLD" }),
    );
    expect(gone.Attributes).toEqual({ ...key, by: { S: "transaction" } });
  });

  test("again and again: an error says so, with the refusal as its cause", async () => {
    const key = world.key();
    await world.fence(key, "aborts");
    const refusal = {
      __type: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
      message: "The conditional request failed",
      Item: { ...key, _f: { B: "AAAA" } },
    };
    const refused = { kind: "answer", status: 400, body: refusal } as const;
    world.proxy.fail("UpdateItem", ...Array.from({ length: 9 }, () => refused));
    await expect(
      world.native.send(new UpdateItemCommand({ TableName: world.table, Key: key })),
    ).rejects.toMatchObject({
      code: "unavailable",
      cause: expect.any(ConditionalCheckFailedException) as unknown,
    });
  });
});

test("each try has a nonce of its own", async () => {
  const key = world.key();
  world.proxy.fail("PutItem", { kind: "cut-after" });
  await world.native.send(new PutItemCommand({ TableName: world.table, Item: key }));
  const nonces = world.proxy.bodies("PutItem").map((body) => {
    const { Item } = body as { Item: { _n: { B: string } } };
    return Item._n.B;
  });
  expect(new Set(nonces).size).toBe(2);
  const stored = await world.stored(key);
  expect(Buffer.from(stored!["_n"]!.B!).toString("base64")).toBe(nonces[1]);
});
