/**
 * Errors that the application's own AWS SDK makes, before or behind the transaction's answer: none
 * that a library swallows lets the attempt commit.
 */
import {
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { beforeEach, expect, test } from "vitest";
import { tidemarkPlugin } from "../../client/index.ts";
import type { Transaction } from "../../sdk/index.ts";
import { counters, failure, startApplication, type Application } from "./application.ts";

let app: Application;
beforeEach(async () => {
  app = await startApplication();
});

const TableName = "counters";
const add = (id: string, by = 1) =>
  app.wire.send(
    new UpdateItemCommand({
      ...{ TableName, Key: { id: { S: id } }, UpdateExpression: "ADD n :by" },
      ExpressionAttributeValues: { ":by": { N: by.toString() } },
    }),
  );
const transact = <Result>(body: (tx: Transaction) => Promise<Result>) =>
  app.cloud.run(() => app.db.transact(body));

test.each(["plugin", "tx.send"])("one of the AWS SDK ends the call, by %s", async (way) => {
  await transact(() => add("a", 5));
  // Its credentials fail, or it cannot marshall what it is given.
  const stale = new DynamoDBClient({
    region: "eu-west-1",
    credentials: () => Promise.reject(new Error("no credentials")),
  });
  stale.middlewareStack.use(tidemarkPlugin());
  const refused = await failure(
    transact(async (tx) => {
      const found =
        way === "plugin"
          ? stale.send(new GetItemCommand({ TableName: "counters", Key: { id: { S: "a" } } }))
          : tx.send(new PutCommand({ TableName, Item: { id: "b", row: new Date() } }));
      const n = await found.then(
        () => 5,
        () => 0,
      );
      await add("copy", n);
    }),
  );
  const why = way === "plugin" ? /no credentials/u : /Unsupported type/u;
  expect((refused as Error).message).toMatch(why);
  expect(app.cloud.rows(counters)).toEqual([{ id: "a", n: 5 }]);
});

test("one of what stands around its calls ends the call", async () => {
  app.wire.middlewareStack.add(
    (next) => async (args) => {
      await next(args);
      throw new Error("no span");
    },
    { step: "initialize", name: "tracing" },
  );
  expect(await failure(transact(() => failure(add("a"))))).toMatchObject({ message: "no span" });
  // Not those of others, and not in place of a refusal.
  const { result } = await transact(async () => [
    await failure(app.wire.send(new DescribeTableCommand({ TableName }))),
    await failure(app.document.send(new PutCommand({ TableName, Item: { id: "" } }))),
  ]);
  expect(result).toMatchObject([{ message: "no span" }, { name: "ValidationException" }]);
  expect(app.cloud.rows(counters)).toEqual([]);
});
