/** The demo's own tables by plain DynamoDB calls, beside the SDK. */
import {
  CreateTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { createAwsPorts } from "../aws/ports.ts";
import { InvalidRequestError } from "../sdk/index.ts";
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

/** Options whose tables are of deployments of one shard, and why. */
const ofOneShard = {
  native: "its transactions touch a mixed table over several partitions",
  base: "BASE transactions are of one log",
} as const;

/**
 * Before anything is made there: such tables stay, and with them no shard can be split.
 * @throws InvalidRequestError for a deployment of several shards.
 */
export async function refuseShards(
  stack: StackDescription,
  option: keyof typeof ofOneShard,
): Promise<void> {
  const ports = createAwsPorts({ ...stack, endpoint: stack.endpoints });
  try {
    const { length } = await ports.control.shards();
    if (length <= 1) return;
    throw new InvalidRequestError(
      option,
      `--${option} needs a deployment of one shard, and this one has ${length}: ` +
        ofOneShard[option],
    );
  } finally {
    await ports.close();
  }
}
