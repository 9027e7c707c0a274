/**
 * The contestants beside Tidemark, on the model of DynamoDB in memory, which knows
 * TransactWriteItems.
 */
import type { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, test } from "vitest";
import { toSdkItem } from "../../bench/contestants/buffered-writes.ts";
import { nativeOn } from "../../bench/contestants/native.ts";
import { transactWriteItemsOn } from "../../bench/contestants/transact-write-items.ts";
import { type ContestantName, physicalName } from "../../bench/harness/contestant.ts";
import type { BenchTransaction, Operation, Workload } from "../../bench/harness/workload.ts";
import { DynamoDbModel } from "../../testing/cloud/dynamodb/model.ts";
import { playSample, playScript, samples, script, table } from "./contestants.ts";

const key = (n: number) => ({ group: "a", n });

let model: DynamoDbModel;
let sent: { readonly name: string; readonly input: Record<string, unknown> }[];
let client: DynamoDBClient;

beforeEach(() => {
  model = new DynamoDbModel({ nowMs: () => 1_767_225_600_000 });
  sent = [];
  const send = async (command: { readonly input: Record<string, unknown> }): Promise<unknown> => {
    const name = command.constructor.name.replace(/Command$/, "");
    sent.push({ name, input: command.input });
    return Promise.resolve(model.execute(name as never, command.input as never));
  };
  client = { send } as unknown as DynamoDBClient;
});

function fill(contestant: ContestantName, workload: Workload): void {
  for (const { partitionKey, sortKey, ...one } of workload.tables) {
    const keys = sortKey === undefined ? [partitionKey] : [partitionKey, sortKey];
    model.execute("CreateTable", {
      TableName: physicalName(contestant, { partitionKey, ...one }),
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: keys.map(({ name }, n) => ({
        AttributeName: name,
        KeyType: n === 0 ? ("HASH" as const) : ("RANGE" as const),
      })),
      AttributeDefinitions: keys.map(({ name, type }) => ({
        AttributeName: name,
        AttributeType: type,
      })),
    });
  }
  for (const { table: into, item } of workload.rows()) {
    const TableName = physicalName(contestant, into);
    model.execute("PutItem", { TableName, Item: toSdkItem(item) });
  }
}

function writing(body: (tx: BenchTransaction) => Promise<void>): Operation {
  return { name: "write", readOnly: false, body };
}

const names = (): readonly string[] => sent.map(({ name }) => name);

test("both see and leave the same", async () => {
  fill("native", script);
  fill("transact-write-items", script);
  const native = await playScript(nativeOn(client));
  expect(await playScript(transactWriteItemsOn(client))).toEqual(native);
  expect(native).toMatchObject({
    end: expect.arrayContaining([expect.objectContaining({ n: 6, text: "blind" })]) as unknown,
  });
});

test.each(samples)("both do the same reads and writes of %s", async (_, make) => {
  fill("native", make());
  fill("transact-write-items", make());
  const native = await playSample(nativeOn(client), make(), 30);
  expect(await playSample(transactWriteItemsOn(client), make(), 30)).toEqual(native);
});

describe("native", () => {
  test("sends nothing before the body ends, then one call per row written", async () => {
    fill("native", script);
    sent = [];
    await nativeOn(client).run(
      writing(async (tx) => {
        tx.put(table, { ...key(1), text: "a" });
        tx.put(table, { ...key(1), text: "b" });
        tx.delete(table, key(2));
        await tx.get(table, key(3));
        expect(names()).toEqual(["GetItem"]);
      }),
    );
    expect(names()).toEqual(["GetItem", "PutItem", "DeleteItem"]);
  });

  test.each([
    ["native", 2],
    ["native-in-turn", 1],
  ] as const)("%s has at most %i writes under way", async (name, expected) => {
    fill(name, script);
    let [underWay, most] = [0, 0];
    const counting = {
      async send(command: PutItemCommand): Promise<unknown> {
        underWay += 1;
        most = Math.max(most, underWay);
        await Promise.resolve();
        underWay -= 1;
        return client.send(command);
      },
    } as unknown as DynamoDBClient;
    await nativeOn(counting, name).run(
      writing((tx) => {
        tx.put(table, { ...key(1), text: "a" });
        tx.put(table, { ...key(2), text: "b" });
        return Promise.resolve();
      }),
    );
    expect(most).toBe(expected);
  });

  test("reads consistently", async () => {
    fill("native", script);
    sent = [];
    await nativeOn(client).read(async (read) => {
      await read.get(table, key(1));
      await read.query(table, { partition: "a" });
      await read.batchGet(table, [key(1), key(2)]);
    });
    expect(JSON.stringify(sent).match(/"ConsistentRead":true/g)).toHaveLength(3);
  });
});

describe("TransactWriteItems", () => {
  beforeEach(() => {
    fill("transact-write-items", script);
    sent = [];
  });

  test("checks what was only read, and conditions what is written on what was read", async () => {
    await transactWriteItemsOn(client).run(
      writing(async (tx) => {
        await tx.batchGet(table, [key(1), key(2)]);
        tx.put(table, { ...key(1), text: "x" });
        tx.put(table, { ...key(3), text: "blind" });
      }),
    );
    const actions = sent.at(-1)?.input["TransactItems"] as Record<
      string,
      { ConditionExpression?: string }
    >[];
    expect(actions.map((action) => Object.keys(action)[0])).toEqual([
      "ConditionCheck",
      "Put",
      "Put",
    ]);
    expect(
      actions.map((action) => Object.values(action)[0]?.ConditionExpression !== undefined),
    ).toEqual([true, true, false]);
  });

  test("runs the body again when something read was changed, and loses no update", async () => {
    const contestant = transactWriteItemsOn(client);
    let disturbed = false;
    const { attempts } = await contestant.run(
      writing(async (tx) => {
        const [one] = await tx.batchGet(table, [key(1), key(2)]);
        if (!disturbed) {
          disturbed = true;
          await contestant.run(
            writing(async (other) => {
              const row = await other.get(table, key(2));
              other.put(table, { ...row, ...key(2), text: "changed meanwhile" });
            }),
          );
        }
        tx.put(table, { ...one, ...key(1), text: "after it" });
      }),
    );
    expect(attempts).toBe(2);
  });

  test("is not fooled by a row that comes back as it was", async () => {
    const contestant = transactWriteItemsOn(client);
    // As loaded it has no version at all, which nothing could bring back.
    await contestant.run(
      writing(async (tx) => {
        tx.put(table, { ...key(1), text: "first" });
      }),
    );
    let disturbed = false;
    const { attempts } = await contestant.run(
      writing(async (tx) => {
        const row = await tx.get(table, key(1));
        if (!disturbed) {
          disturbed = true;
          for (const text of ["other", row?.["text"]]) {
            await contestant.run(
              writing(async (other) => {
                other.put(table, { ...row, ...key(1), text });
              }),
            );
          }
        }
        tx.put(table, { ...row, ...key(1), text: "mine" });
      }),
    );
    expect(attempts).toBe(2);
  });

  test("needs no transaction for one row", async () => {
    await transactWriteItemsOn(client).run(
      writing(async (tx) => {
        const row = await tx.get(table, key(1));
        tx.put(table, { ...row, ...key(1), text: "x" });
      }),
    );
    expect(names()).toEqual(["GetItem", "PutItem"]);
    expect(sent[1]?.input).toHaveProperty("ConditionExpression");
  });

  test("checks reads of several rows even if nothing is written", async () => {
    await transactWriteItemsOn(client).run(
      writing(async (tx) => {
        await tx.batchGet(table, [key(1), key(77)]);
      }),
    );
    expect(names()).toEqual(["BatchGetItem", "TransactWriteItems"]);
  });

  test("leaves what only a query showed unchecked", async () => {
    await transactWriteItemsOn(client).run(
      writing(async (tx) => {
        await tx.query(table, { partition: "a" });
      }),
    );
    expect(names()).toEqual(["Query"]);
  });

  test("refuses more than 100 rows", async () => {
    const run = transactWriteItemsOn(client).run(
      writing(async (tx) => {
        for (let n = 0; n < 101; n += 1) tx.put(table, key(n));
        return Promise.resolve();
      }),
    );
    await expect(run).rejects.toThrow(/above the 100 items/);
    expect(sent).toEqual([]);
  });
});
