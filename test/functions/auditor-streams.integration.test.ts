/**
 * The auditor on records of a real table's stream. Only DynamoDB Local has streams
 * (`npm run test:dynamodb-local`); dynalite, which other runs have, knows none.
 */
import { createHash } from "node:crypto";
import {
  CreateTableCommand,
  DescribeTableCommand,
  PutItemCommand,
  UpdateItemCommand,
  type DynamoDBClient,
} from "@aws-sdk/client-dynamodb";
import type { DynamoDBRecord } from "aws-lambda";
import { afterAll, beforeAll, expect, test } from "vitest";
import { identityOf, type Identity } from "../../core/item-identity.ts";
import type { Stamp, TransactionId, Version } from "../../core/types.ts";
import { auditWrites } from "../../functions/auditor/service.ts";
import { parseTableStreamEvent } from "../../functions/auditor/table-stream-event.ts";
import { audit } from "../../core/audit.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";
import { openDynamoDb } from "../integration/support.ts";

let stores: LocalStores;
let foreign: DynamoDBClient;

beforeAll(async () => {
  stores = await startLocalStores({ stream: false });
  foreign = openDynamoDb(stores);
});
afterAll(async () => {
  foreign.destroy();
  await stores.stop();
});

type Answer = {
  readonly StreamDescription: { readonly Shards: readonly { readonly ShardId: string }[] };
  readonly ShardIterator: string;
  readonly Records: readonly DynamoDBRecord[];
};

/** A call of the streams' own protocol, for which the SDK has a package that is not here. */
async function ask<Name extends keyof Answer>(
  operation: string,
  input: object,
  name: Name,
): Promise<Answer[Name]> {
  const body = JSON.stringify(input);
  const scope = "test/20260101/us-east-1/dynamodb/aws4_request";
  const signature = createHash("sha256").update(body).digest("hex");
  const signed = `Credential=${scope}, SignedHeaders=host, Signature=${signature}`;
  const response = await fetch(stores.servers.endpoint.dynamodb, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `DynamoDBStreams_20120810.${operation}`,
      "x-amz-date": "20260101T000000Z",
      authorization: `AWS4-HMAC-SHA256 ${signed}`,
    },
    body,
  });
  const answer = (await response.json()) as Answer;
  expect(response.status, JSON.stringify(answer)).toBe(200);
  return answer[name];
}

async function recordsOf(table: string): Promise<readonly DynamoDBRecord[]> {
  const { Table } = await foreign.send(new DescribeTableCommand({ TableName: table }));
  const StreamArn = Table?.LatestStreamArn ?? "";
  const { Shards } = await ask("DescribeStream", { StreamArn }, "StreamDescription");
  const records: DynamoDBRecord[] = [];
  for (const { ShardId } of Shards) {
    const where = { StreamArn, ShardId, ShardIteratorType: "TRIM_HORIZON" };
    const ShardIterator = await ask("GetShardIterator", where, "ShardIterator");
    records.push(...(await ask("GetRecords", { ShardIterator }, "Records")));
  }
  return records.map((record) => ({ ...record, eventSourceARN: StreamArn }));
}

test("tells writers apart by what a table's stream says of them", async ({ skip }) => {
  skip(!stores.servers.dynamoDbLocal, "dynalite has no streams: npm run test:dynamodb-local");
  const name = `audited-${stores.deployment}`;
  await foreign.send(
    new CreateTableCommand({
      TableName: name,
      KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
      BillingMode: "PAY_PER_REQUEST",
      StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
    }),
  );
  const { mixed } = stores.ports;
  const at = { table: { name, partitionKey: "pk" }, key: { pk: { S: "x" } } };
  const id = "1".repeat(32) as TransactionId;
  const nonce = (byte: number) => new Uint8Array(16).fill(byte);
  const expected: string[] = [];
  const stored = async (): Promise<Identity> => identityOf(await mixed.read(at));
  const set = async (value: string, more?: Uint8Array): Promise<void> => {
    await foreign.send(
      new UpdateItemCommand({
        TableName: name,
        Key: { pk: { S: "x" } },
        UpdateExpression: more === undefined ? "SET a = :a" : "SET a = :a, #n = :n",
        ...(more === undefined ? {} : { ExpressionAttributeNames: { "#n": "_n" } }),
        ExpressionAttributeValues: {
          ":a": { S: value },
          ...(more === undefined ? {} : { ":n": { B: more } }),
        },
      }),
    );
  };

  await mixed.fence({ ...at, id, expects: { kind: "absent" }, nonce: nonce(1) });
  expected.push("aware");
  const stamp = { kind: "nonce", nonce: nonce(1) } as const;
  const item = { ...at.key, a: { S: "committed" }, list: { L: [{ B: nonce(3) }] } };
  await mixed.install({ ...at, id, item, version: 5 as Version, stamp });
  expected.push("aware");
  await set("aware", nonce(2));
  expected.push("aware");
  await set("unaware");
  expected.push("unaware update");
  const identity = (await stored()) as Stamp;
  await mixed.fence({ ...at, id, expects: identity, nonce: nonce(4) });
  expected.push("aware");
  await set("in the gap");
  expected.push("unaware update under a fence");
  await mixed.cleanUp({ ...at, id, removes: "fence" });
  expected.push("aware");
  await foreign.send(
    new PutItemCommand({ TableName: name, Item: { pk: { S: "x" }, a: { S: "plain" } } }),
  );
  expected.push("unaware put");
  const change = { kind: "delete" } as const;
  await mixed.writeLocally({ ...at, change, condition: undefined, nonce: nonce(5) });
  expected.push("delete");

  const writes = parseTableStreamEvent({ Records: [...(await recordsOf(name))] });
  const found = writes.map(({ change: seen }) => {
    const told = audit(seen ?? { before: undefined, after: undefined }, at.table);
    if (told.kind !== "unaware") return told.kind;
    return `unaware ${told.write}${told.isUnderFence ? " under a fence" : ""}`;
  });
  expect(found).toEqual(expected);
  expect(writes.map(({ table }) => table)).toEqual(expected.map(() => name));
  auditWrites(writes, silentObservability);
});
