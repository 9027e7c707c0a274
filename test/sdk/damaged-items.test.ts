/** Items whose reserved attributes something else has written: who meets one is told which. */
import { PutItemCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import { beforeAll, describe, expect, test } from "vitest";
import { CorruptDataError, defineTable, type Client } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/index.ts";
import { testTable } from "../../testing/test-tables.ts";

type Line = { readonly order: string; readonly no: number };

let cloud: TestCloud;
const keys = { partitionKey: "order", sortKey: { name: "no", type: "N" } } as const;

beforeAll(async () => {
  cloud = await createTestCloud({
    commit: "express",
    tables: [
      testTable("lines", keys),
      testTable("kept", { ...keys, history: true }),
      testTable("mixed", { ...keys, access: "mixed" }),
    ],
  });
  await cloud.run(async () => {
    for (const table of ["lines", "kept", "mixed"]) {
      for (const no of ["1", "2", "3"]) {
        const damage: Record<string, AttributeValue> = no === "2" ? { _v: { S: "x" } } : {};
        const Item = { order: { S: "a" }, no: { N: no }, ...damage };
        await cloud.dynamodb.send(new PutItemCommand({ TableName: table, Item }));
      }
    }
  });
}, 30_000);

describe.each(["lines", "kept", "mixed"])("of the table %s", (name) => {
  const table = defineTable<Line, Line, "order">(name, { key: ["order", "no"] });

  test.each<[string, (client: Client) => Promise<unknown>]>([
    ["a get", (client) => client.snapshot((s) => s.get(table, { order: "a", no: 2 }))],
    [
      "a batch",
      (client) =>
        client.snapshot((s) =>
          s.batchGet(table, [
            { order: "a", no: 1 },
            { order: "a", no: 2 },
          ]),
        ),
    ],
    [
      "a query",
      (client) => client.snapshot((s) => s.query(table, { where: { order: "a" } }).all()),
    ],
    ["a scan", (client) => client.transact((tx) => tx.scan(table).all())],
  ])("%s that meets it names the item, and what to do", async (_, read) => {
    await cloud.run(async () => {
      const error = await read(cloud.createClient("reader")).catch((each: unknown) => each);
      expect(error).toBeInstanceOf(CorruptDataError);
      const { item, message, retryable } = error as CorruptDataError;
      expect(item).toEqual({ table: name, key: { order: { S: "a" }, no: { N: "2" } } });
      expect(retryable).toBe(false);
      expect(message).toContain(`table "${name}", key {"order":{"S":"a"},"no":{"N":"2"}}`);
      expect(message).toMatch(/_v .*put the item back as it was, or remove that attribute/);
    });
  });

  test("what stands beside it is read, by key and by a condition", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("beside");
      const { result } = await client.transact(async (tx) => [
        await tx.get(table, { order: "a", no: 1 }),
        ...(await tx.query(table, { where: { order: "a", no: { gt: 2 } } }).all()),
      ]);
      expect(result).toMatchObject([{ no: 1 }, { no: 3 }]);
    });
  });
});
