/** The shop on a stack on this machine: its table, its clients, the plugin. */
import {
  CreateTableCommand,
  DynamoDBClient,
  ResourceInUseException,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { tidemarkPlugin } from "../../client/index.ts";
import { createClient } from "../../sdk/index.ts";
import { discover } from "../../sdk/discovery.ts";
import { registerTables } from "../../sdk/tables.ts";
import { shopOf, shopTable } from "./entities.ts";
import type { OpenShop } from "./orders.ts";

/** Again and again: what is there stays. */
export async function openShop(endpoint: string): Promise<OpenShop & AsyncDisposable> {
  const { region, endpoints } = await discover(endpoint);
  const dynamodb = new DynamoDBClient({
    ...{ region, endpoint: endpoints.dynamodb },
    // A stack on this machine takes any.
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
  // The one line that brings ElectroDB's commands into transactions.
  dynamodb.middlewareStack.use(tidemarkPlugin());
  await makeTable(dynamodb);
  await registerTables({ endpoint }, [shopTable]);
  const db = createClient({ endpoint });
  return {
    ...{ db, shop: shopOf(DynamoDBDocumentClient.from(dynamodb)) },
    async [Symbol.asyncDispose]() {
      await db.close();
      dynamodb.destroy();
    },
  };
}

async function makeTable(dynamodb: DynamoDBClient): Promise<void> {
  const command = new CreateTableCommand({
    TableName: shopTable,
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "S" },
    ],
    BillingMode: "PAY_PER_REQUEST",
  });
  try {
    await dynamodb.send(command);
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
}
