/**
 * Fills a fresh embedded stack: the deployment's stream and system tables, then the sample tables.
 * All of it may be repeated; rows are put only once per data folder, and never over others, since
 * afterwards they are the user's.
 */
import { createAwsClients } from "../aws/clients.ts";
import { createTables, provisionDeployment, registerTables } from "../aws/provision.ts";
import type { TableDescription } from "../core/types.ts";
import type { DataFolder } from "./data-folder.ts";
import type { StackEndpoints } from "./process-messages.ts";
import { sampleRows, sampleTables } from "./sample-tables.ts";

/**
 * Makes the deployment's stream and tables; may be repeated on one that is there. Returns the
 * tables.
 */
export type Provision = (target: {
  readonly deployment: string;
  readonly region: string;
  readonly endpoints: StackEndpoints;
  readonly sampleTables: boolean;
  readonly dataFolder: DataFolder | undefined;
}) => Promise<readonly string[]>;

export const provisionStack: Provision = async (target) => {
  const { deployment, region, endpoints, dataFolder } = target;
  const aws = {
    region,
    endpoint: endpoints,
    // Explicit, so that a developer's own credentials are never even read.
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  };
  await provisionDeployment({ ...aws, deployment });
  if (!target.sampleTables) return [];
  await createTables(aws, sampleTables);
  await registerTables({ ...aws, deployment }, sampleTables);
  for (const table of sampleTables) {
    if (dataFolder?.filledTables.includes(table.name) === true) continue;
    await putRows(aws, table);
    dataFolder?.tableFilled(table.name);
  }
  return sampleTables.map(({ name }) => name);
};

/**
 * A row whose key is taken stays as it is: it is the user's, or an interrupted start has put it.
 */
async function putRows(
  options: Parameters<typeof createAwsClients>[0],
  table: TableDescription,
): Promise<void> {
  const clients = createAwsClients(options);
  try {
    const { client, sdk } = await clients.dynamodb();
    const puts = sampleRows(table.name).map(
      (row) =>
        new sdk.PutItemCommand({
          TableName: table.name,
          Item: { ...row } as never,
          ConditionExpression: "attribute_not_exists(#key)",
          ExpressionAttributeNames: { "#key": table.partitionKey.name },
        }),
    );
    await Promise.all(
      puts.map(async (put) => {
        await client.send(put).catch((error: unknown) => {
          if (!(error instanceof sdk.ConditionalCheckFailedException)) throw error;
        });
      }),
    );
  } finally {
    await clients.close();
  }
}
