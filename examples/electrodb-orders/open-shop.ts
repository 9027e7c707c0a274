/** The shop on a stack on this machine: its table, its clients, the plugin. */
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { tidemarkPlugin } from "../../client/index.ts";
import { createClient } from "../../sdk/index.ts";
import { registerTables } from "../../sdk/tables.ts";
import { localDynamoDB, makeTable } from "../local-dynamodb.ts";
import { shopOf, shopTable } from "./entities.ts";
import type { OpenShop } from "./orders.ts";

/** Again and again: what is there stays. */
export async function openShop(endpoint: string): Promise<OpenShop & AsyncDisposable> {
  const dynamodb = await localDynamoDB(endpoint);
  // The one line that brings ElectroDB's commands into transactions.
  dynamodb.middlewareStack.use(tidemarkPlugin());
  await makeTable(dynamodb, { name: shopTable, key: ["pk", "sk"] });
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
