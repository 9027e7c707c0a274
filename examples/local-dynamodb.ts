/** Plain DynamoDB of a stack on this machine, for tables that an example makes itself. */
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  ResourceInUseException,
} from "@aws-sdk/client-dynamodb";
import { describeStack } from "../sdk/tables.ts";

/** @param endpoint the stack's one address, as `createClient` takes it. */
export async function localDynamoDB(endpoint: string): Promise<DynamoDBClient> {
  const { region, endpoints } = await describeStack(endpoint);
  return new DynamoDBClient({
    ...{ region, endpoint: endpoints.dynamodb },
    // A stack on this machine takes any.
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
}

/** Key attributes are texts, the partition key first. Again and again: what is there stays. */
export async function makeTable(
  dynamodb: DynamoDBClient,
  { name, key }: { readonly name: string; readonly key: readonly string[] },
): Promise<void> {
  const table: CreateTableCommandInput = {
    TableName: name,
    KeySchema: key.map((AttributeName, at) => ({
      AttributeName,
      KeyType: at === 0 ? "HASH" : "RANGE",
    })),
    AttributeDefinitions: key.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    BillingMode: "PAY_PER_REQUEST",
  };
  try {
    await dynamodb.send(new CreateTableCommand(table));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
}
