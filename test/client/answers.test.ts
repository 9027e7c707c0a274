/**
 * Inside of a transaction a command answers what DynamoDB answers natively: random commands, one
 * after the other, by the plugin and by the model of DynamoDB, on the same items.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tidemarkPlugin, warmUp } from "../../client/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import { DynamoDbModel } from "../../testing/cloud/dynamodb/model.ts";
import type { Operations } from "../../testing/cloud/dynamodb/operation-types.ts";
import type { Attributes } from "../harness/native-world.ts";
import {
  answerOf,
  item,
  pages,
  reads,
  transactions,
  writes,
  type Command,
} from "../native/random-commands.ts";
import { sweep } from "../harness/sweep.ts";

const rows = testTable("rows", { partitionKey: "pk", sortKey: "sk" });

const application = new DynamoDBClient({
  region: "eu-west-1",
  credentials: { accessKeyId: "a", secretAccessKey: "b" },
});
application.middlewareStack.use(tidemarkPlugin());
beforeAll(() => warmUp(application));
afterAll(() => {
  application.destroy();
});

/** A client of the AWS SDK, as far as commands go: DynamoDB's model answers. */
function native(items: readonly Attributes[]): DynamoDBClient {
  const model = new DynamoDbModel({ nowMs: () => 0 });
  model.execute("CreateTable", {
    TableName: "rows",
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "S" },
    ],
    BillingMode: "PAY_PER_REQUEST",
  });
  for (const Item of items) model.execute("PutItem", { TableName: "rows", Item });
  const send = async (command: {
    readonly input: object;
    readonly constructor: { name: string };
  }) =>
    model.execute(
      command.constructor.name.replace(/Command$/u, "") as keyof Operations,
      command.input,
    );
  return { send } as never;
}

/** A scan's order is the store's secret. */
async function answer(client: DynamoDBClient, command: Command): Promise<unknown> {
  const found = await answerOf(client, command, "rows");
  if (command.name !== "scan") return found;
  const { Items = [], ...others } = found as { readonly Items?: readonly object[] };
  return { ...others, items: Items.map((each) => JSON.stringify(each)).toSorted() };
}

const items = fc.uniqueArray(item, { maxLength: 5, selector: ({ sk }) => sk?.S });

/** What commands answer within one transaction, the items being committed or its own. */
async function within(
  given: { readonly committed: readonly Attributes[]; readonly own: readonly Attributes[] },
  commands: readonly Command[],
): Promise<readonly unknown[]> {
  const cloud = await createTestCloud({ seed: "1", tables: [rows] });
  const db = cloud.createClient();
  const puts = (all: readonly Attributes[]) => async () => {
    for (const each of all)
      await answerOf(application, { name: "put", input: { Item: each } }, "rows");
  };
  return cloud.run(async () => {
    await db.transact(puts(given.committed));
    const { result } = await db.transact(async (tx) => {
      await puts(given.own)();
      const answers: unknown[] = [];
      for (const command of commands) answers.push(await answer(application, command));
      return tx.rollback(answers);
    });
    return result;
  });
}

async function expectSame([committed, own, commands]: readonly [
  readonly Attributes[],
  readonly Attributes[],
  readonly Command[],
]): Promise<void> {
  const client = native([...committed, ...own]);
  const expected: unknown[] = [];
  for (const command of commands) expected.push(await answer(client, command));
  expect(await within({ committed, own }, commands)).toEqual(expected);
}

describe("answers as DynamoDB does", () => {
  const runs = { numRuns: sweep(40, 100) };
  const commands = fc.array(fc.oneof(reads, writes, transactions), { minLength: 1, maxLength: 6 });

  test("reads and writes of committed items and of its own", () =>
    fc.assert(
      fc.asyncProperty(items, items, commands, (...all) => expectSame(all)),
      runs,
    ));

  test("pages of a given size", () =>
    fc.assert(
      fc.asyncProperty(
        items,
        pages.filter(({ name }) => name === "query"),
        (committed, page) => expectSame([committed, [], [page]]),
      ),
      runs,
    ));
});
