/**
 * The recipe of docs/mixed-tables.md for other languages, as it is printed there: run with Python's
 * boto3 against the embedded stack, beside fences of transactions that abort, or that go on.
 */

import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import {
  DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TransactionId } from "../../core/types.ts";
import { fenceBytesOf } from "../../core/item-identity.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { createClient, defineTable, type Client } from "../../sdk/index.ts";
import { startFaultyProxy, type FaultyProxy } from "../harness/faulty-proxy.ts";
import { localIdentity } from "../harness/local-servers.ts";

const python = spawnSync("python3", ["-c", "import boto3"], { encoding: "utf8" });
const hasBoto = python.status === 0;
const missing = "the recipe for other languages needs python3 with boto3, which is not here";
if (!hasBoto) console.warn(`SKIPPED: ${missing}`);

const page = readFileSync(new URL("../../docs/mixed-tables.md", import.meta.url), "utf8");
const printedAddress = "http://127.0.0.1:4600";
const [, printed = ""] = /```python\n([^]*?)```/u.exec(page) ?? [];

const carts = defineTable<{ n: number }, { customer: string }>("carts", { key: "customer" });

describe("the recipe in Python", () => {
  let stack: EmbeddedStack;
  let db: Client;
  let plain: DynamoDBClient;
  /** Where Python's calls pass. */
  let proxy: FaultyProxy;

  beforeAll(async () => {
    const partitionKey = { name: "customer", type: "S" } as const;
    stack = await startEmbeddedStack({
      ...{ sampleTables: false, tablesOnly: true },
      tables: [{ name: "carts", partitionKey, history: false, access: "mixed" }],
    });
    db = createClient({ endpoint: stack.endpoint });
    proxy = await startFaultyProxy(stack.endpoints.dynamodb);
    plain = new DynamoDBClient({ ...localIdentity, endpoint: stack.endpoints.dynamodb });
  });
  afterAll(async () => {
    plain.destroy();
    await db.close();
    await proxy.stop();
    await stack.stop();
  });

  /** Adds to `n` by the recipe, on the user's condition; gives what it answers. */
  async function add(
    customer: string,
    condition?: string,
    update = "SET touched = :t ADD n :one",
  ): Promise<unknown> {
    const { region, credentials } = localIdentity;
    const program = `
${printed.replace(printedAddress, stack.endpoint)}
import boto3, sys
given = json.loads(sys.argv[1])
dynamodb = boto3.client(
    "dynamodb", endpoint_url=given["endpoint"], region_name=given["region"],
    aws_access_key_id=given["user"], aws_secret_access_key=given["user"],
)
more = {"ConditionExpression": given["condition"]} if given.get("condition") else {}
values = {":one": {"N": "1"}, ":t": {"BOOL": True}}
values = {k: v for k, v in values.items() if k in given["update"]}
if values:
    more["ExpressionAttributeValues"] = values
try:
    answer = update_item(
        dynamodb, TableName="carts", Key={"customer": {"S": given["customer"]}},
        UpdateExpression=given["update"], ReturnValues="ALL_NEW", **more,
    )
    attributes = answer["Attributes"]
    print(json.dumps({"n": attributes["n"]["N"], "nonce": len(attributes["_n"]["B"])}))
except dynamodb.exceptions.ConditionalCheckFailedException:
    print(json.dumps("refused"))
`;
    const endpoint = proxy.url;
    const user = credentials.accessKeyId;
    const given = JSON.stringify({ endpoint, region, user, customer, condition, update });
    const { stdout } = await promisify(execFile)("python3", ["-c", program, given]);
    return JSON.parse(stdout);
  }

  const keyOf = (customer: string) => ({ customer: { S: customer } });

  /** As a transaction leaves it that began after all that there is, and that nobody knows. */
  async function fence(
    customer: string,
    rest: Record<string, AttributeValue> = {},
  ): Promise<TransactionId> {
    const { receipt } = await db.transact(async (tx) => {
      tx.put(carts, { customer: "before", n: 0 });
      tx.put(carts, { customer: "before, too", n: 0 });
      return Promise.resolve();
    });
    const seen = (receipt.transactionId ?? "").slice(0, 14);
    const id = `${seen}${"5e".repeat(9)}` as TransactionId;
    const attributes: Record<string, AttributeValue> = { _f: { B: fenceBytesOf(id) }, ...rest };
    const names = Object.keys(attributes);
    await plain.send(
      new UpdateItemCommand({
        ...{ TableName: "carts", Key: keyOf(customer) },
        UpdateExpression: `SET ${names.map((_, i) => `#${i} = :${i}`).join(", ")}`,
        ExpressionAttributeNames: Object.fromEntries(names.map((name, i) => [`#${i}`, name])),
        ExpressionAttributeValues: Object.fromEntries(
          Object.values(attributes).map((value, i) => [`:${i}`, value]),
        ),
      }),
    );
    return id;
  }
  const stored = async (customer: string) =>
    (await plain.send(new GetItemCommand({ TableName: "carts", Key: keyOf(customer) }))).Item;

  test("updates, and leaves a nonce that transactions tell from others", async ({ skip }) => {
    skip(!hasBoto, missing);
    expect(await add("free")).toEqual({ n: "1", nonce: 16 });
    await db.transact(async (tx) => {
      const row = await tx.get(carts, "free");
      tx.put(carts, { customer: "free", n: (row?.n ?? 0) + 10 });
    });
    expect(await add("free")).toEqual({ n: "12", nonce: 16 });
  });

  test.for(["ADD n :one", "set n = :one", "REMOVE touched\nSET\tn = :one", "add n :one"])(
    "takes %j as it is, and sets the nonce, too",
    async (update, { skip }) => {
      skip(!hasBoto, missing);
      expect(await add(`by ${update}`, undefined, update)).toEqual({ n: "1", nonce: 16 });
    },
  );

  test("leaves the nonce as it is where something is only taken away", async ({ skip }) => {
    skip(!hasBoto, missing);
    await add("less");
    const before = await stored("less");
    expect(await add("less", undefined, "REMOVE touched")).toEqual({ n: "1", nonce: 16 });
    const { touched, ...less } = before ?? {};
    expect([touched, await stored("less")]).toEqual([{ BOOL: true }, less]);
  });

  test("is refused by its user's condition only", async ({ skip }) => {
    skip(!hasBoto, missing);
    expect(await add("free", "n > :one")).toEqual({ n: "13", nonce: 16 });
    expect(await add("free", "n < :one")).toBe("refused");
  });

  test("takes the fence of one that is aborted away, and its placeholder", async ({ skip }) => {
    skip(!hasBoto, missing);
    await plain.send(
      new UpdateItemCommand({
        ...{ TableName: "carts", Key: keyOf("fenced"), UpdateExpression: "SET n = :n" },
        ExpressionAttributeValues: { ":n": { N: "4" } },
      }),
    );
    const id = await fence("fenced");
    expect(await add("fenced")).toEqual({ n: "5", nonce: 16 });
    expect(await stored("fenced")).not.toHaveProperty("_f");
    expect(await db.outcome(id)).toBe("aborted");
    await fence("placeholder", { _x: { BOOL: true }, _n: { B: new Uint8Array(16) } });
    expect(await add("placeholder", "attribute_not_exists(customer)")).toEqual({
      ...{ n: "1", nonce: 16 },
    });
    expect(Object.keys((await stored("placeholder")) ?? {}).sort()).toEqual([
      ...["_n", "customer", "n", "touched"],
    ]);
  });

  test("waits for one that goes on", async ({ skip }) => {
    skip(!hasBoto, missing);
    await fence("going on");
    proxy.reset();
    const adding = add("going on");
    // It has been refused, and has looked why.
    await expect.poll(() => proxy.seen("GetItem"), { timeout: 10_000 }).toBeGreaterThan(0);
    // Its client installs it.
    await plain.send(
      new UpdateItemCommand({
        ...{ TableName: "carts", Key: keyOf("going on") },
        UpdateExpression: "SET n = :n, #v = :v REMOVE #f",
        ExpressionAttributeNames: { "#v": "_v", "#f": "_f" },
        ExpressionAttributeValues: { ":n": { N: "7" }, ":v": { N: "1700000000000000" } },
      }),
    );
    expect(await adding).toEqual({ n: "8", nonce: 16 });
    expect(proxy.seen("UpdateItem")).toBeGreaterThan(1);
  });
});
