/** The demo's own tables by plain DynamoDB calls, beside the SDK. */
import {
  CreateTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import type { StackDescription } from "../sdk/discovery.ts";

const tableWaitSeconds = 60;

export function plainClient(
  { region, endpoints }: StackDescription,
  options: { readonly maxAttempts?: number } = {},
): DynamoDBClient {
  const credentials = { accessKeyId: "demo", secretAccessKey: "demo" };
  return new DynamoDBClient({ region, endpoint: endpoints.dynamodb, credentials, ...options });
}

/** Keys are texts. What is there from an earlier run stays. */
export async function makeTable(
  stack: StackDescription,
  { name, keyNames }: { readonly name: string; readonly keyNames: readonly string[] },
): Promise<void> {
  const client = plainClient(stack);
  try {
    await client.send(
      new CreateTableCommand({
        TableName: name,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: keyNames.map((AttributeName) => ({
          AttributeName,
          AttributeType: "S",
        })),
        KeySchema: keyNames.map((AttributeName, nth) => ({
          AttributeName,
          KeyType: nth === 0 ? "HASH" : "RANGE",
        })),
      }),
    );
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  const waiting = { client, maxWaitTime: tableWaitSeconds, minDelay: 1 };
  await waitUntilTableExists(waiting, { TableName: name });
  client.destroy();
}
