/** What a test's cloud, its clients and its services take. */
import { ExecuteStatementCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, NotModelledError, testTable } from "../../testing/index.ts";

const orders = defineTable("orders", { key: "id" });

test("options that there are not, or that cannot be, are refused by name", async () => {
  const wrong: readonly (readonly [field: string, options: object])[] = [
    ["faults.no-such", { faults: { "no-such": 1 } }],
    ["faults.slow-service", { faults: { "slow-service": 2 } }],
    ["fault", { fault: { "slow-service": 0.1 } }],
    ["oracleConsumer", { oracleConsumer: "fanout" }],
    ["historyRetentionMs", { historyRetentionMs: 1 }],
    ["recordHistroy", { recordHistroy: true }],
    ["faults.answer-lost", { faults: { "answer-lost": -1 } }],
    ["faults.answer-lost", { faults: { "answer-lost": "much" } }],
    ["strikesMax", { strikesMax: -1 }],
    ["latency", { latency: 5 }],
    ["seed", { seed: 1.5 }],
    ["tables[1]", { tables: [orders, "x"] }],
    ["tables[0]", { tables: [undefined] }],
    ["tables", { tables: [orders, orders] }],
  ];
  for (const [field, options] of wrong) {
    await expect(createTestCloud(options)).rejects.toMatchObject({ field });
  }
  const cloud = await createTestCloud();
  const misspelt = { chianing: false } as object;
  expect(() => cloud.startProcess("app", misspelt)).toThrow(/there is no option `chianing`/u);
});

test("an order that cannot be is refused by name, with what is known", async () => {
  const cloud = await createTestCloud({ tables: [orders] });
  const app = cloud.startProcess();
  const loose = (value: unknown) => value as never;
  const wrong: readonly (readonly [string, RegExp, () => unknown])[] = [
    ["service", /"dynamodb", "kinesis"/u, () => cloud.refuseCalls(loose("dynamo"), 5)],
    ["durationMs", /0 or more/u, () => cloud.refuseCalls("kinesis", Number.NaN)],
    ["durationMs", /0 or more/u, () => cloud.refuseCalls("kinesis", loose(undefined))],
    ["service", /"kinesis"/u, () => cloud.slowCalls(loose("s3"), 5)],
    ["factor", /above 0/u, () => cloud.slowCalls("kinesis", 5, { factor: 0 })],
    ["times", /from 1/u, () => cloud.conflictOn(orders, "a", { times: 0 })],
    ["outcome", /"committed", "aborted"/u, () => app.nextCommitUnknown(loose("lost"))],
    ["act", /function/u, () => app.beforeNextCommit(loose(undefined))],
    ["react", /function/u, () => app.onCrash(loose(undefined))],
    ["clocks", /"stand"/u, () => app.freeze(5, loose("still"))],
    ["durationMs", /0 or more/u, () => cloud.advance(-1)],
    ["limitMs", /0 or more/u, () => cloud.settled(loose("1 min"))],
    ["body", /takes a function/u, () => cloud.run(loose(undefined))],
    ["body", /takes a function/u, () => cloud.run(loose(Promise.resolve(1)))],
    ["limit", /known are: limitMs/u, () => cloud.run(async () => 1, loose({ limit: 1 }))],
  ];
  for (const [field, message, order] of wrong) {
    await expect(async () => order()).rejects.toMatchObject({
      name: "InvalidRequestError",
      field,
      message: expect.stringMatching(message) as unknown,
    });
  }
  app.freeze();
  app.thaw();
  expect(await cloud.run(async () => app.state)).toBe("running");
});

test("a command that the model lacks is refused to who sent it", async () => {
  const cloud = await createTestCloud();
  const command = new ExecuteStatementCommand({ Statement: "SELECT * FROM orders" });
  const sent = cloud.run(() => cloud.dynamodb.send(command), { limitMs: 60_000 });
  await expect(sent).rejects.toBeInstanceOf(NotModelledError);
});

test("a table is described by its definition, and by what is added to that", () => {
  const carts = defineTable<object, { shop: string; day: string }>("carts", {
    key: ["shop", "day"],
  });
  const text = (name: string) => ({ name, type: "S" });
  expect(testTable(carts, { access: "mixed" })).toEqual({
    ...{ name: "carts", partitionKey: text("shop"), sortKey: text("day") },
    ...{ history: false, access: "mixed" },
  });
  const number = { name: "id", type: "N" } as const;
  expect(testTable(carts, { partitionKey: number })).toEqual({
    ...{ name: "carts", partitionKey: number, history: false },
  });
  const wrong: readonly (readonly [string, RegExp, object])[] = [
    [
      "acces",
      /no option `acces`; known are: partitionKey, sortKey, history, access/u,
      { acces: 1 },
    ],
    ["access", /one of "transactional", "mixed"/u, { access: "mix" }],
    ["partitionKey", /name, or \{ name, type \}/u, { partitionKey: { name: "id", type: "X" } }],
    ["partitionKey", /testTable\("plain", \{ partitionKey/u, {}],
  ];
  for (const [field, message, options] of wrong) {
    const described = () => testTable("plain", options);
    expect(described).toThrow(message);
    expect(described).toThrow(expect.objectContaining({ field, code: "invalid-request" }) as never);
  }
});
