/**
 * The plugin: which commands are a transaction's, what a body sees of errors, and that no swallowed
 * error lets a torn attempt commit.
 */
import {
  ConditionalCheckFailedException,
  DescribeTableCommand,
  ExecuteStatementCommand,
  GetItemCommand,
  PutItemCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import {
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { beforeEach, describe, expect, test } from "vitest";
import { outsideTransactions, tidemarkPlugin } from "../../client/index.ts";
import { createAwsClients } from "../../aws/clients.ts";
import {
  ConflictError,
  createClient,
  defineTable,
  InvalidRequestError,
  type Transaction,
} from "../../sdk/index.ts";
import { counters, failure, rows, startApplication, type Application } from "./application.ts";

let app: Application;
beforeEach(async () => {
  app = await startApplication();
});

const TableName = "rows";
const put = (sk: string, more: object = {}) =>
  app.document.send(new PutCommand({ TableName, Item: { pk: "p", sk, ...more } }));
const get = async (sk: string) =>
  (await app.document.send(new GetCommand({ TableName, Key: { pk: "p", sk } }))).Item;
const add = (id: string, by = 1) =>
  app.document.send(
    new UpdateCommand({
      ...{ TableName: "counters", Key: { id }, UpdateExpression: "ADD n :by" },
      ...{ ExpressionAttributeValues: { ":by": by }, ReturnValues: "ALL_NEW" },
    }),
  );
const transact = <Result>(body: (tx: Transaction) => Promise<Result>) =>
  app.cloud.run(() => app.db.transact(body));

describe("a command", () => {
  test("is the transaction's within its body, and DynamoDB's outside of it", async () => {
    await transact(async () => {
      await put("1", { a: 1 });
      expect(await get("1")).toEqual({ pk: "p", sk: "1", a: 1 });
      expect(app.sent).toEqual([]);
    });
    expect(app.cloud.rows(rows)).toEqual([{ pk: "p", sk: "1", a: 1 }]);
    await put("2");
    expect(app.sent).toEqual(["PutItem"]);
  });

  test("that neither reads nor writes items passes", async () => {
    await transact(() => app.wire.send(new DescribeTableCommand({ TableName })));
    expect(app.sent).toEqual(["DescribeTable"]);
  });

  test("is DynamoDB's where the body says so", async () => {
    await transact(async () => {
      await put("1");
      await outsideTransactions(() => put("2"));
      await put("3");
    });
    expect(app.sent).toEqual(["PutItem"]);
    expect(app.cloud.rows(rows)).toHaveLength(2);
  });

  test("belongs to the innermost transaction", async () => {
    await transact(async (tx) => {
      await put("1");
      await app.db.transact(async () => {
        expect(await get("1")).toBeUndefined();
        await put("2");
      });
      tx.rollback();
    });
    expect(app.cloud.rows(rows)).toEqual([{ pk: "p", sk: "2" }]);
  });

  test("of a listener to events is DynamoDB's", async () => {
    const listening = app.cloud.createClient("listening", {
      onEvent: () => {
        app.wire.send(new GetItemCommand({ TableName, Key: { pk: { S: "p" } } })).catch(() => 0);
      },
    });
    const { receipt } = await transact(async () => {
      await listening.transact(() => put("1"));
    });
    expect(receipt.readTimestamp).toBeGreaterThan(0);
    expect(new Set(app.sent)).toEqual(new Set(["GetItem"]));
  });

  test("is seen by the transaction's own reads, and sees its writes", async () => {
    const { result } = await transact(async (tx) => {
      tx.put(counters, { id: "a" }, { n: 1 });
      await add("a", 2);
      return tx.get(counters, "a");
    });
    expect(result).toEqual({ id: "a", n: 3 });
  });

  test("may be one of many at once: none of them is lost", async () => {
    await transact(async () => {
      await Promise.all(Array.from({ length: 8 }, () => add("a")));
    });
    expect(app.cloud.rows(counters)).toEqual([{ id: "a", n: 8 }]);
  });

  test("reads within a snapshot, and does not write there", async () => {
    await transact(() => put("1"));
    const found = await app.cloud.run(() => app.db.snapshot(() => get("1")));
    expect(found).toEqual({ pk: "p", sk: "1" });
    const refused = await failure(app.cloud.run(() => app.db.snapshot(() => put("2"))));
    expect(refused).toBeInstanceOf(InvalidRequestError);
  });

  test("is waited for: a body that returns before its answer has failed", async () => {
    const refused = await failure(
      transact(async () => {
        add("a").catch(() => undefined);
      }),
    );
    expect(refused).toMatchObject({ field: "body", message: /is an `await` missing/u });
    expect(app.cloud.rows(counters)).toEqual([]);
  });

  test("that comes when the transaction has ended is refused", async () => {
    let late: (() => Promise<unknown>) | undefined;
    await transact(async () => {
      const { AsyncResource } = await import("node:async_hooks");
      late = AsyncResource.bind(() => put("1"));
    });
    expect(await failure(late?.() ?? Promise.resolve())).toMatchObject({
      code: "transaction-closed",
    });
    expect(app.sent).toEqual([]);
  });
});

test("a condition compares values, however they are spelt or ordered", async () => {
  const spelt = defineTable<{ tags: Set<string>; n: number }, { id: string }>("counters");
  await transact(async (tx) => {
    tx.put(spelt, { id: "a" }, { tags: new Set(["y", "x"]), n: 1e-7 });
    const { Attributes } = await app.document.send(
      new UpdateCommand({
        ...{ TableName: "counters", Key: { id: "a" }, UpdateExpression: "SET m = n" },
        ...{ ConditionExpression: "tags = :tags AND n = :n", ReturnValues: "UPDATED_NEW" },
        ExpressionAttributeValues: { ":tags": new Set(["x", "y"]), ":n": 1e-7 },
      }),
    );
    expect(Attributes).toEqual({ m: 1e-7 });
  });
});

test("bytes may be any view, and are as they were when they were sent", async () => {
  const bytes = new Uint8Array([1, 2, 3]);
  const { result } = await transact(async () => {
    await put("1", { bytes, view: new DataView(bytes.buffer, 1), set: new Set([bytes]) });
    bytes.fill(0);
    return get("1");
  });
  const sent = new Uint8Array([1, 2, 3]);
  const view = new Uint8Array([2, 3]);
  expect(result).toEqual({ pk: "p", sk: "1", bytes: sent, view, set: new Set([sent]) });
});

describe("a put and a delete without condition and return values", () => {
  test("are blind: they read nothing", async () => {
    app.cloud.conflictOn(counters, { id: "a" });
    const { receipt } = await transact(async () => {
      await app.document.send(new PutCommand({ TableName: "counters", Item: { id: "a", n: 1 } }));
      await app.document.send(new DeleteCommand({ TableName: "counters", Key: { id: "b" } }));
    });
    expect(receipt).toMatchObject({ attempts: 1, consumed: { readUnits: 0 } });
  });
});

describe("a refusal", () => {
  test("is DynamoDB's own error, of the application's AWS SDK, at once", async () => {
    await transact(() => put("1", { a: 1 }));
    await transact(async () => {
      const refused = await failure(
        app.wire.send(
          new PutItemCommand({
            ...{ TableName, Item: { pk: { S: "p" }, sk: { S: "1" } } },
            ConditionExpression: "attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure: "ALL_OLD",
          }),
        ),
      );
      expect(refused).toBeInstanceOf(ConditionalCheckFailedException);
      const item = { pk: { S: "p" }, sk: { S: "1" }, a: { N: "1" } };
      expect(refused).toMatchObject({ Item: item, $metadata: { attempts: 1 } });
      // And leaves the transaction as it was.
      await put("2");
    });
    expect(app.cloud.rows(rows)).toHaveLength(2);
  });

  test("that a body lets out is what the call fails with, and nothing is written", async () => {
    const conditional = { ConditionExpression: "attribute_exists(pk)" };
    const refused = await failure(
      transact(async () => {
        await put("1");
        const Item = { pk: "p", sk: "2" };
        await app.document.send(new PutCommand({ TableName, Item, ...conditional }));
      }),
    );
    expect(refused).toBeInstanceOf(ConditionalCheckFailedException);
    expect(app.cloud.rows(rows)).toEqual([]);
  });

  test("of what is no request is a ValidationException", async () => {
    const refused = await transact(() => failure(put("", {})));
    expect(refused.result).toMatchObject({ name: "ValidationException", $fault: "client" });
  });

  test("of TransactWriteItems says why, and nothing of it is done", async () => {
    const { result } = await transact(async () => {
      await put("1");
      return failure(
        app.document.send(
          new TransactWriteCommand({
            TransactItems: [
              { Put: { TableName, Item: { pk: "p", sk: "2" } } },
              {
                ConditionCheck: {
                  ...{ TableName, Key: { pk: "p", sk: "1" } },
                  ConditionExpression: "attribute_not_exists(pk)",
                },
              },
            ],
          }),
        ),
      );
    });
    expect(result).toBeInstanceOf(TransactionCanceledException);
    const reasons = (result as TransactionCanceledException).CancellationReasons;
    expect(reasons?.map(({ Code }) => Code)).toEqual(["None", "ConditionalCheckFailed"]);
    expect(app.cloud.rows(rows)).toEqual([{ pk: "p", sk: "1" }]);
  });

  test("rests on what was read: it conflicts with who has made it wrong", async () => {
    const body = () =>
      failure(
        app.document.send(
          new PutCommand({
            ...{ TableName: "counters", Item: { id: "a", n: 7 } },
            ConditionExpression: "attribute_exists(id)",
          }),
        ),
      );
    app.cloud.conflictOn(counters, { id: "a" });
    const { receipt } = await transact(async () => {
      await body();
      await add("b");
    });
    expect(receipt.attempts).toBe(2);
  });
});

describe("an error that a library swallows", () => {
  const swallowed = { count: 0 };
  /** As some libraries do: an error is a missing row. */
  async function lenientGet(id: string): Promise<number> {
    try {
      const { Item } = await app.document.send(
        new GetCommand({ TableName: "counters", Key: { id } }),
      );
      return (Item?.["n"] as number | undefined) ?? 0;
    } catch {
      swallowed.count += 1;
      return 0;
    }
  }

  test("is retried by the transaction, whatever the body returns", async () => {
    await transact(() => add("a", 5));
    let runs = 0;
    const other = app.cloud.createClient("other");
    const { receipt } = await transact(async () => {
      runs += 1;
      const before = await lenientGet("a");
      if (runs === 1) {
        await other.transact(async (tx) => tx.put(counters, { id: "a" }, { n: 6 }));
        await other.transact(async (tx) => tx.put(counters, { id: "b" }, { n: 1 }));
        // What it has read has changed, and there is no moment at which both are true.
        await lenientGet("b");
      }
      await app.document.send(
        new PutCommand({ TableName: "counters", Item: { id: "sum", n: before } }),
      );
    });
    expect(receipt.attempts).toBe(2);
    expect(app.cloud.rows(counters)).toContainEqual({ id: "sum", n: 6 });
  });

  test("of a store that does not answer ends the attempt: it is not torn", async () => {
    await transact(() => add("a"));
    const fresh = app.cloud.createClient("fresh");
    let runs = 0;
    const { receipt } = await app.cloud.run(() =>
      fresh.transact(async () => {
        runs += 1;
        await add("a");
        if (runs === 1) app.cloud.refuseCalls("dynamodb", 5_000);
        await failure(add("b"));
      }),
    );
    expect(receipt.attempts).toBeGreaterThan(1);
    expect(app.cloud.rows(counters)).toEqual([
      { id: "a", n: 2 },
      { id: "b", n: 1 },
    ]);
  });

  test.each([{}, undefined, { TableName }])("of `send` for %j, no command, says so", async (no) => {
    const refused = await failure(transact((tx) => tx.send(no as never)));
    expect(refused).toMatchObject({ code: "invalid-request", field: "command" });
  });

  test("of a request that can never work ends the call", async () => {
    let runs = 0;
    const refused = await failure(
      transact(async () => {
        runs += 1;
        await add("a");
        await failure(app.wire.send(new ExecuteStatementCommand({ Statement: "SELECT 1" })));
      }),
    );
    expect(refused).toMatchObject({ code: "invalid-request", field: "Statement" });
    expect([runs, app.cloud.rows(counters)]).toEqual([1, []]);
  });

  test.each([
    ["a legacy parameter", { AttributesToGet: ["a"] }, "AttributesToGet"],
    ["a table that is not registered", { TableName: "unknown" }, "table"],
    ["a table's ARN", { TableName: "arn:aws:dynamodb:eu-west-1:1:table/rows" }, "TableName"],
  ])("so does %s", async (_, input, field) => {
    const Key = { pk: { S: "p" }, sk: { S: "1" } };
    const get = new GetItemCommand({ TableName, Key, ...input });
    const refused = await failure(transact(() => failure(app.wire.send(get))));
    expect(refused).toMatchObject({ code: "invalid-request", field });
  });

  test("is what it is to the body, and is tried once by the AWS SDK", async () => {
    const other = app.cloud.createClient("other");
    await transact(() => add("a"));
    const seen: unknown[] = [];
    await transact(async () => {
      await lenientGet("a");
      if (seen.length > 0) return;
      await other.transact(async (tx) => tx.put(counters, { id: "a" }, { n: 6 }));
      await other.transact(async (tx) => tx.put(counters, { id: "b" }, { n: 1 }));
      seen.push(
        await failure(
          app.document.send(new GetCommand({ TableName: "counters", Key: { id: "b" } })),
        ),
      );
    });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toBeInstanceOf(ConflictError);
    expect(seen[0]).toMatchObject({ name: "ConflictError", retryable: true });
    expect((seen[0] as { $metadata: { attempts: number } }).$metadata.attempts).toBe(1);
  });
});

test("TransactWriteItems is done once by its token", async () => {
  const update = { Key: { id: { S: "a" } }, UpdateExpression: "ADD n :one" };
  const TransactItems = [
    {
      Update: {
        ...{ ...update, TableName: "counters" },
        ExpressionAttributeValues: { ":one": { N: "1" } },
      },
    },
  ];
  await transact(async () => {
    const send = (items: typeof TransactItems) =>
      app.wire.send(
        new TransactWriteItemsCommand({ TransactItems: items, ClientRequestToken: "token" }),
      );
    await send(TransactItems);
    await send(TransactItems);
    const [part] = TransactItems;
    const changed = [{ Update: { ...part!.Update, Key: { id: { S: "b" } } } }];
    expect(await failure(send(changed))).toMatchObject({
      name: "IdempotentParameterMismatchException",
    });
  });
  expect(app.cloud.rows(counters)).toEqual([{ id: "a", n: 1 }]);
});

test("consumed capacity is DynamoDB's for the command", async () => {
  const { result } = await transact(async () => {
    const ReturnConsumedCapacity = "TOTAL";
    const wide = { pk: "p", sk: "1", text: "x".repeat(5_000) };
    const written = await app.document.send(
      new PutCommand({ TableName, Item: wide, ReturnConsumedCapacity }),
    );
    const read = await app.document.send(
      new GetCommand({ TableName, Key: { pk: "p", sk: "1" }, ReturnConsumedCapacity }),
    );
    const together = await app.document.send(
      new TransactGetCommand({
        TransactItems: [{ Get: { TableName, Key: { pk: "p", sk: "1" } } }],
        ReturnConsumedCapacity,
      }),
    );
    const page = await app.document.send(
      new QueryCommand({
        ...{ TableName, KeyConditionExpression: "pk = :p", ReturnConsumedCapacity },
        ...{ ExpressionAttributeValues: { ":p": "p" }, ConsistentRead: true },
      }),
    );
    return [
      ...[written.ConsumedCapacity, read.ConsumedCapacity, together.ConsumedCapacity?.[0]],
      page.ConsumedCapacity,
    ].map((each) => each?.CapacityUnits);
  });
  expect(result).toEqual([5, 1, 4, 2]);
});

describe("tx.send and tx.client", () => {
  test("answer commands of either kind, wherever they are called", async () => {
    const { result } = await transact(async (tx) => {
      await tx.send(new PutItemCommand({ TableName, Item: { pk: { S: "p" }, sk: { S: "1" } } }));
      await tx.client.send(
        new PutCommand({ TableName, Item: { pk: "p", sk: "2", s: new Set(["a"]) } }),
      );
      const { Item } = await tx.send(new GetCommand({ TableName, Key: { pk: "p", sk: "2" } }));
      const { Attributes } = await tx.send(
        new UpdateItemCommand({
          ...{ TableName, Key: { pk: { S: "p" }, sk: { S: "1" } }, ReturnValues: "ALL_NEW" },
          ...{ UpdateExpression: "SET a = :a", ExpressionAttributeValues: { ":a": { S: "x" } } },
        }),
      );
      return { Item, Attributes };
    });
    expect(result).toEqual({
      Item: { pk: "p", sk: "2", s: new Set(["a"]) },
      Attributes: { pk: { S: "p" }, sk: { S: "1" }, a: { S: "x" } },
    });
    expect(app.cloud.rows(rows)).toHaveLength(2);
  });

  test("throw DynamoDB's errors, and refuse what is no command on items", async () => {
    const { result } = await transact(async (tx) => [
      await failure(
        tx.send(
          new DeleteCommand({
            ...{ TableName, Key: { pk: "p", sk: "1" } },
            ConditionExpression: "attribute_exists(pk)",
          }),
        ),
      ),
      await failure(tx.send(new DescribeTableCommand({ TableName }))),
    ]);
    expect(result[0]).toBeInstanceOf(ConditionalCheckFailedException);
    expect(result[1]).toMatchObject({ code: "invalid-request", field: "command" });
  });
});

describe("a client that Tidemark makes its own calls by", () => {
  test("is refused where it has the plugin", async () => {
    const db = createClient({ deployment: "dev", region: "eu-west-1", dynamodb: app.wire });
    const refused = await failure(db.snapshot(() => Promise.resolve()));
    expect(refused).toMatchObject({ code: "invalid-request", field: "dynamodb" });
    await db.close();
  });

  test("gets none later", async () => {
    const { DynamoDBClient } = await import("@aws-sdk/client-dynamodb");
    const dynamodb = new DynamoDBClient({ region: "eu-west-1" });
    await createAwsClients({ region: "eu-west-1", dynamodb }).dynamodb();
    expect(() => {
      dynamodb.middlewareStack.use(tidemarkPlugin());
    }).toThrow(InvalidRequestError);
  });
});
