/** Makes the example's tables on a stack on this machine, and registers them for BASE. */
import {
  CreateTableCommand,
  DynamoDBClient,
  ResourceInUseException,
} from "@aws-sdk/client-dynamodb";
import { discover } from "../../sdk/discovery.ts";
import { registerTables } from "../../sdk/tables.ts";
import { fulfilments, stock } from "./fulfilment.ts";

const keys = [
  { name: stock.name, key: "article" },
  { name: fulfilments.name, key: "orderId" },
];

/** Again and again: what is there stays. */
export async function makeTables(endpoint: string): Promise<void> {
  const { region, endpoints } = await discover(endpoint);
  const dynamodb = new DynamoDBClient({
    ...{ region, endpoint: endpoints.dynamodb },
    // A stack on this machine takes any.
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
  try {
    for (const { name, key } of keys) await makeTable(dynamodb, name, key);
  } finally {
    dynamodb.destroy();
  }
  // With history: then who only reads waits for no order that is under way.
  const tables = keys.map(({ name }) => ({ name, base: true, history: true }));
  await registerTables({ endpoint }, tables);
}

async function makeTable(dynamodb: DynamoDBClient, name: string, key: string): Promise<void> {
  const command = new CreateTableCommand({
    TableName: name,
    KeySchema: [{ AttributeName: key, KeyType: "HASH" }],
    AttributeDefinitions: [{ AttributeName: key, AttributeType: "S" }],
    BillingMode: "PAY_PER_REQUEST",
  });
  try {
    await dynamodb.send(command);
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
}
