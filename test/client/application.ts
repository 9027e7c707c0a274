/**
 * An application with clients of the AWS SDK and transactions in an in-memory cloud. What its
 * clients send to DynamoDB itself is noted, and answered with nothing.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { tidemarkPlugin, warmUp } from "../../client/index.ts";
import { defineTable, type Client } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";

type Row = { readonly pk: string; readonly sk: string };

export const rows = defineTable<Row, Row>("rows", { key: ["pk", "sk"] });
export const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});

export type Application = {
  readonly cloud: TestCloud;
  readonly db: Client;
  readonly wire: DynamoDBClient;
  readonly document: DynamoDBDocumentClient;
  /** Operations that were sent to DynamoDB. */
  readonly sent: string[];
};

export async function startApplication(): Promise<Application> {
  const indexed = {
    partitionKey: { name: "kind", type: "S" },
    sortKey: { name: "n", type: "N" },
  } as const;
  const withIndex = { ...testTable(rows), indexes: [{ name: "by-kind", ...indexed }] };
  const cloud = await createTestCloud({ seed: "1", tables: [withIndex, counters] });
  const sent: string[] = [];
  const wire = new DynamoDBClient({
    region: "eu-west-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    requestHandler: {
      handle: async ({ headers }: { readonly headers: Readonly<Record<string, string>> }) => {
        sent.push((headers["x-amz-target"] ?? "").replace(/^.*\./u, ""));
        const body = new TextEncoder().encode("{}");
        return { response: { statusCode: 200, headers: {}, body } };
      },
    } as never,
  });
  wire.middlewareStack.use(tidemarkPlugin());
  const document = DynamoDBDocumentClient.from(wire);
  await warmUp(wire);
  return { cloud, db: cloud.createClient(), wire, document, sent };
}

/** What it fails with; undefined where it does not. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
