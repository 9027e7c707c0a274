/** Commands inside of transactions over mixed tables, by a client that has both plugins. */
import { ConditionalCheckFailedException, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  DynamoDBDocumentClient,
  GetCommand,
  paginateScan,
  PutCommand,
  QueryCommand,
  ScanCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { beforeEach, expect, test } from "vitest";
import { tidemarkPlugin, warmUp } from "../../client/index.ts";
import { tidemarkNative } from "../../native/index.ts";
import { defineTable, type Client } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";

const carts = defineTable<{ readonly n: number }, { readonly id: string; readonly line: string }>(
  "carts",
  { key: ["id", "line"] },
);
const TableName = "carts";

let cloud: TestCloud;
let db: Client;
let document: DynamoDBDocumentClient;
let sent: number;

beforeEach(async () => {
  cloud = await createTestCloud({ seed: "1", tables: [testTable(carts, { access: "mixed" })] });
  db = cloud.createClient();
  sent = 0;
  const wire = new DynamoDBClient({
    region: "eu-west-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    requestHandler: {
      handle: async () => {
        sent += 1;
        return { response: { statusCode: 200, headers: {}, body: new TextEncoder().encode("{}") } };
      },
    } as never,
  });
  const tables = [{ name: "carts", partitionKey: "id", sortKey: "line" }];
  const clearFence = () => Promise.resolve(false);
  wire.middlewareStack.use(tidemarkNative({ client: { clearFence }, tables }));
  wire.middlewareStack.use(tidemarkPlugin());
  document = DynamoDBDocumentClient.from(wire);
  await warmUp(document);
});

test("a client without this plugin goes on to be aware of transactions within them", async () => {
  const bodies: string[] = [];
  const native = new DynamoDBClient({
    region: "eu-west-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    requestHandler: {
      handle: async ({ body }: { readonly body: string }) => {
        bodies.push(body);
        return { response: { statusCode: 200, headers: {}, body: new TextEncoder().encode("{}") } };
      },
    } as never,
  });
  const tables = [{ name: "carts", partitionKey: "id", sortKey: "line" }];
  const clearFence = () => Promise.resolve(false);
  native.middlewareStack.use(tidemarkNative({ client: { clearFence }, tables }));
  const update = new UpdateCommand({
    ...{ TableName, Key: { id: "a", line: "1" }, UpdateExpression: "ADD n :by" },
    ExpressionAttributeValues: { ":by": 1 },
  });
  await DynamoDBDocumentClient.from(native).send(update);
  await cloud.run(() => db.transact(() => DynamoDBDocumentClient.from(native).send(update)));
  const conditions = bodies.map(
    (body) => (JSON.parse(body) as { readonly ConditionExpression?: string }).ConditionExpression,
  );
  expect(conditions[0]).toContain("attribute_not_exists");
  expect(conditions[1]).toBe(conditions[0]);
  native.destroy();
});

const put = (line: string, n: number) =>
  document.send(new PutCommand({ TableName, Item: { id: "a", line, n } }));

test("answers as of any other table, and nothing of it is native", async () => {
  await cloud.run(() => db.transact(() => put("1", 1)));
  const { result } = await cloud.run(() =>
    db.transact(async () => {
      await put("2", 2);
      const Key = { id: "a", line: "1" };
      const updated = await document.send(
        new UpdateCommand({
          ...{ TableName, Key, UpdateExpression: "ADD n :by", ReturnValues: "ALL_NEW" },
          ExpressionAttributeValues: { ":by": 5 },
        }),
      );
      const ConditionExpression = "attribute_not_exists(id)";
      const refused = await document
        .send(new PutCommand({ TableName, Item: { ...Key, n: 0 }, ConditionExpression }))
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ConditionalCheckFailedException);
      const page = await document.send(
        new QueryCommand({
          ...{ TableName, KeyConditionExpression: "id = :a" },
          ExpressionAttributeValues: { ":a": "a" },
        }),
      );
      const scanned: unknown[] = [];
      for await (const { Items = [] } of paginateScan(
        { client: document, pageSize: 1 },
        { TableName },
      )) {
        scanned.push(...Items);
      }
      const segments = await Promise.all(
        [0, 1].map((Segment) =>
          document.send(new ScanCommand({ TableName, Segment, TotalSegments: 2 })),
        ),
      );
      return {
        updated: updated.Attributes,
        found: page.Items,
        scanned: scanned.length,
        segments: segments.flatMap(({ Items = [] }) => Items).length,
      };
    }),
  );
  const rows = [
    { id: "a", line: "1", n: 6 },
    { id: "a", line: "2", n: 2 },
  ];
  expect(result).toEqual({ updated: rows[0], found: rows, scanned: 2, segments: 2 });
  expect(cloud.rows(carts)).toEqual(rows);
  expect(sent).toBe(0);
});

test("an attempt that others have made wrong does not commit what it swallowed", async () => {
  await cloud.run(() => db.transact(() => put("1", 1)));
  const other = cloud.createClient("other");
  let runs = 0;
  const { receipt } = await cloud.run(() =>
    db.transact(async () => {
      runs += 1;
      const get = new GetCommand({ TableName, Key: { id: "a", line: "1" } });
      const n = (await document.send(get)).Item?.["n"] as number;
      if (runs === 1)
        await other.transact(async (tx) => tx.put(carts, { id: "a", line: "1", n: 7 }));
      await put("sum", n).catch(() => undefined);
    }),
  );
  expect([runs, receipt.attempts]).toEqual([2, 2]);
  expect(cloud.rows(carts)).toContainEqual({ id: "a", line: "sum", n: 7 });
});
