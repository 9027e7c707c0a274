/** The AWS SDK itself: what libraries use less, and indexes of every kind and projection. */
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import type { Library, Step } from "./library.ts";

export const awsSdk: Library = {
  name: "AWS SDK",
  program: ({ document }, TableName) => {
    const key = (sk: string) => ({ pk: "p", sk });
    const put =
      (sk: string, more: object, input: object = {}) =>
      () =>
        document.send(new PutCommand({ TableName, Item: { ...key(sk), ...more }, ...input }));
    const update =
      (sk: string, UpdateExpression: string, input: object = {}) =>
      () =>
        document.send(
          new UpdateCommand({
            ...{ TableName, Key: key(sk), UpdateExpression, ReturnValues: "ALL_NEW" },
            ...input,
          }),
        );
    const query =
      (KeyConditionExpression: string, values: object, input: object = {}) =>
      () =>
        document.send(
          new QueryCommand({
            ...{ TableName, KeyConditionExpression, ...input },
            ExpressionAttributeValues: values as Record<string, unknown>,
          }),
        );
    const gsi1 = { IndexName: "gsi1" };
    const gsi2 = { IndexName: "gsi2" };
    const lsi1 = { IndexName: "lsi1" };
    const values = (given: object) => ({ ExpressionAttributeValues: given });
    const indexed = { gsi1pk: "g", gsi2pk: "h", note: "n", more: "m" };
    const writes: readonly Step[] = [
      { operation: "PutItem", run: put("1", { ...indexed, gsi1sk: "1", lsi1sk: "9", n: 1 }) },
      {
        operation: "PutItem, ALL_OLD",
        run: put("1", { ...indexed, gsi1sk: "1", lsi1sk: "9", n: 2 }, { ReturnValues: "ALL_OLD" }),
      },
      {
        operation: "PutItem, of more",
        run: put("2", {
          ...indexed,
          gsi1sk: "2",
          lsi1sk: "8",
          n: 3,
          marks: [1, { a: "b" }],
          bytes: new Uint8Array([1, 2]),
        }),
      },
      {
        operation: "PutItem, condition that fails",
        run: put(
          "1",
          {},
          {
            ConditionExpression: "attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure: "ALL_OLD",
          },
        ),
      },
      {
        operation: "UpdateItem, SET",
        run: update(
          "1",
          "SET n = n + :v, marks = list_append(if_not_exists(marks, :empty), :l)",
          values({ ":v": 1, ":l": ["x"], ":empty": [] }),
        ),
      },
      {
        operation: "UpdateItem, ADD and REMOVE",
        run: update(
          "1",
          "ADD s :s, n :v REMOVE marks[0]",
          values({ ":s": new Set(["a", "b"]), ":v": -1 }),
        ),
      },
      {
        operation: "UpdateItem, DELETE",
        run: update("1", "DELETE s :s", values({ ":s": new Set(["a"]) })),
      },
      {
        operation: "UpdateItem, UPDATED_NEW",
        run: update("3", "SET gsi1pk = :g, gsi1sk = :k", {
          ...values({ ":g": "g", ":k": "0" }),
          ReturnValues: "UPDATED_NEW",
        }),
      },
      {
        operation: "UpdateItem, UPDATED_OLD",
        run: update("1", "SET n = :v", { ...values({ ":v": 7 }), ReturnValues: "UPDATED_OLD" }),
      },
      {
        operation: "UpdateItem, of a missing path",
        run: update("1", "SET gone.a = :v", values({ ":v": 1 })),
      },
      {
        operation: "UpdateItem, of the key",
        run: update("1", "SET sk = :v", values({ ":v": "2" })),
      },
      { operation: "UpdateItem, syntax", run: update("1", "SET n = ", values({ ":v": 1 })) },
      {
        operation: "BatchWriteItem",
        run: () =>
          document.send(
            new BatchWriteCommand({
              RequestItems: {
                [TableName]: [
                  { PutRequest: { Item: { ...key("4"), n: 4 } } },
                  { DeleteRequest: { Key: key("none") } },
                ],
              },
            }),
          ),
      },
    ];
    const reads: readonly Step[] = [
      {
        operation: "GetItem",
        run: () => document.send(new GetCommand({ TableName, Key: key("1") })),
      },
      {
        operation: "GetItem, projection",
        run: () =>
          document.send(
            new GetCommand({
              TableName,
              Key: key("2"),
              ProjectionExpression: "marks[1].a, #n",
              ExpressionAttributeNames: { "#n": "n" },
            }),
          ),
      },
      {
        operation: "GetItem, wrong key",
        run: () => document.send(new GetCommand({ TableName, Key: { pk: "p" } })),
      },
      {
        operation: "BatchGetItem",
        unordered: true,
        run: () =>
          document.send(
            new BatchGetCommand({
              RequestItems: {
                [TableName]: { Keys: ["1", "2", "none"].map(key), ProjectionExpression: "n" },
              },
            }),
          ),
      },
      { operation: "Query", run: query("pk = :p", { ":p": "p" }) },
      {
        operation: "Query, BETWEEN",
        run: query("pk = :p AND sk BETWEEN :a AND :b", { ":p": "p", ":a": "2", ":b": "3" }),
      },
      {
        operation: "Query, filter and COUNT",
        run: query(
          "pk = :p",
          { ":p": "p", ":n": 3 },
          { FilterExpression: "n >= :n", Select: "COUNT" },
        ),
      },
      {
        operation: "Query, Limit",
        run: query("pk = :p", { ":p": "p" }, { Limit: 2, ScanIndexForward: false }),
      },
      {
        operation: "Query, ExclusiveStartKey",
        run: query("pk = :p", { ":p": "p" }, { ExclusiveStartKey: key("2"), Limit: 1 }),
      },
      { operation: "Query, global index", run: query("gsi1pk = :g", { ":g": "g" }, gsi1) },
      {
        operation: "Query, global index, sort key",
        run: query("gsi1pk = :g AND gsi1sk > :k", { ":g": "g", ":k": "0" }, { ...gsi1, Limit: 1 }),
      },
      {
        operation: "Query, global index, INCLUDE",
        unordered: true,
        run: query("gsi2pk = :h", { ":h": "h" }, gsi2),
      },
      { operation: "Query, local index, KEYS_ONLY", run: query("pk = :p", { ":p": "p" }, lsi1) },
      {
        operation: "Query, local index, ALL_ATTRIBUTES",
        run: query(
          "pk = :p AND lsi1sk >= :k",
          { ":p": "p", ":k": "8" },
          { ...lsi1, Select: "ALL_ATTRIBUTES" },
        ),
      },
      { operation: "Query, no such key", run: query("gsi1pk = :g", { ":g": "g" }) },
      {
        operation: "Scan",
        unordered: true,
        run: () => document.send(new ScanCommand({ TableName })),
      },
      {
        operation: "Scan, filter",
        unordered: true,
        run: () =>
          document.send(new ScanCommand({ TableName, FilterExpression: "attribute_exists(n)" })),
      },
      {
        operation: "Scan, of an index",
        unordered: true,
        run: () => document.send(new ScanCommand({ TableName, ...gsi2 })),
      },
    ];
    const transactions: readonly Step[] = [
      {
        operation: "TransactWriteItems",
        transaction: true,
        run: () =>
          document.send(
            new TransactWriteCommand({
              TransactItems: [
                { Put: { TableName, Item: { ...key("5"), n: 5 } } },
                { Delete: { TableName, Key: key("4") } },
                {
                  Update: {
                    TableName,
                    Key: key("1"),
                    UpdateExpression: "SET n = :n",
                    ...values({ ":n": 8 }),
                  },
                },
                {
                  ConditionCheck: {
                    TableName,
                    Key: key("2"),
                    ConditionExpression: "attribute_exists(pk)",
                  },
                },
              ],
            }),
          ),
      },
      {
        operation: "TransactWriteItems, canceled",
        transaction: true,
        run: () =>
          document.send(
            new TransactWriteCommand({
              TransactItems: [
                { Put: { TableName, Item: key("6") } },
                {
                  Put: {
                    TableName,
                    Item: key("5"),
                    ConditionExpression: "attribute_not_exists(pk)",
                    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
                  },
                },
              ],
            }),
          ),
      },
      {
        operation: "TransactGetItems",
        transaction: true,
        run: () =>
          document.send(
            new TransactGetCommand({
              TransactItems: ["5", "none"].map((sk) => ({ Get: { TableName, Key: key(sk) } })),
            }),
          ),
      },
    ];
    const gone: readonly Step[] = [
      {
        operation: "DeleteItem, ALL_OLD",
        run: () =>
          document.send(new DeleteCommand({ TableName, Key: key("2"), ReturnValues: "ALL_OLD" })),
      },
      {
        operation: "DeleteItem, condition that fails",
        run: () =>
          document.send(
            new DeleteCommand({
              TableName,
              Key: key("2"),
              ConditionExpression: "attribute_exists(pk)",
            }),
          ),
      },
      {
        operation: "DeleteItem, of none",
        run: () => document.send(new DeleteCommand({ TableName, Key: key("none") })),
      },
    ];
    return [...writes, ...reads, ...transactions, ...gone];
  },
};
