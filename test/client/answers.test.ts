/**
 * Inside of a transaction a command answers what DynamoDB answers natively: random commands, by the
 * plugin and by the model of DynamoDB, on the same items. Of those that are sent at once, there is
 * an order in which the model answers the same.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tidemarkPlugin, warmUp } from "../../client/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import { DynamoDbModel } from "../../testing/cloud/dynamodb/model.ts";
import { requestText } from "../../expressions/transact.ts";
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
  ask: () => Promise<readonly unknown[]>,
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
      return tx.rollback(await ask());
    });
    return result;
  });
}

async function expectSame([committed, own, commands]: readonly [
  readonly Attributes[],
  readonly Attributes[],
  readonly Command[],
]): Promise<void> {
  const expected = await inTurn(native([...committed, ...own]), commands);
  const found = await within({ committed, own }, () => inTurn(application, commands));
  expect(found).toEqual(expected);
}

async function inTurn(
  client: DynamoDBClient,
  commands: readonly Command[],
): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for (const command of commands) answers.push(await answer(client, command));
  return answers;
}

const all: Command = { name: "scan", input: {} };

/** By an order in which they may have come, what they answer and leave. */
async function ordersOf(
  items: readonly Attributes[],
  commands: readonly Command[],
): Promise<readonly string[]> {
  const orders = permutations(commands.map((_, i) => i));
  return Promise.all(
    orders.map(async (order) => {
      const client = native(items);
      const answers: unknown[] = [];
      for (const i of order) answers[i] = await answer(client, commands[i] ?? all);
      return requestText([...answers, await answer(client, all)]);
    }),
  );
}

function permutations(of: readonly number[]): readonly (readonly number[])[] {
  if (of.length < 2) return [of];
  return of.flatMap((first) =>
    permutations(of.filter((each) => each !== first)).map((rest) => [first, ...rest]),
  );
}

describe("answers as DynamoDB does", () => {
  const runs = { numRuns: sweep(40, 100) };
  const commands = fc.array(fc.oneof(reads, writes, transactions), { minLength: 1, maxLength: 6 });

  test("reads and writes of committed items and of its own", () =>
    fc.assert(
      fc.asyncProperty(items, items, commands, (...all) => expectSame(all)),
      runs,
    ));

  test("pages of a given size, over what it has changed", () =>
    fc.assert(
      fc.asyncProperty(
        ...[items, items, fc.array(writes, { maxLength: 4 })],
        pages.filter(({ name }) => name === "query"),
        (committed, own, changes, page) => expectSame([committed, own, [...changes, page]]),
      ),
      runs,
    ));

  test("commands at once, as if they had come in some order", async () => {
    // A batch is not one of DynamoDB's steps, and a page is none.
    const steps = fc.oneof(reads, writes, writes, transactions).filter(({ name }) => {
      return !["batchGet", "batchWrite", "query", "scan"].includes(name);
    });
    await fc.assert(
      fc.asyncProperty(
        ...[items, items, fc.array(steps, { minLength: 2, maxLength: 4 })],
        async (committed, own, commands) => {
          const found = await within({ committed, own }, async () => {
            const answers = await Promise.all(commands.map((each) => answer(application, each)));
            return [...answers, await answer(application, all)];
          });
          expect(await ordersOf([...committed, ...own], commands)).toContain(requestText(found));
        },
      ),
      runs,
    );
  });
});
