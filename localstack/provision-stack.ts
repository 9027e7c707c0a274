/**
 * Fills a fresh embedded stack: the deployment's stream and system tables, then the sample tables. All of it may
 * be repeated; rows are put only once per data folder, since afterwards they are the user's.
 */
import { createAwsClients } from "../aws/clients.ts";
import { createTables, provisionDeployment, registerTables } from "../aws/provision.ts";
import type { Item } from "../core/types.ts";
import type { DataFolder } from "./data-folder.ts";
import type { StackEndpoints } from "./process-messages.ts";
import { sampleRows, sampleTables } from "./sample-tables.ts";

/** Makes the deployment's stream and tables; may be repeated on one that is there. Returns the tables. */
export type Provision = (target: {
  readonly deployment: string;
  readonly region: string;
  readonly endpoints: StackEndpoints;
  readonly sampleTables: boolean;
  readonly dataFolder: DataFolder | undefined;
}) => Promise<readonly string[]>;

/** DynamoDB's limit per BatchWriteItem. */
const batchWriteItemsMax = 25;
const batchWriteTriesMax = 10;

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
  for (const { name } of sampleTables) {
    const rows = sampleRows(name);
    if (rows.length === 0 || dataFolder?.filledTables.includes(name) === true) continue;
    await putRows(aws, name, rows);
    dataFolder?.tableFilled(name);
  }
  return sampleTables.map(({ name }) => name);
};

async function putRows(
  options: Parameters<typeof createAwsClients>[0],
  table: string,
  rows: readonly Item[],
): Promise<void> {
  const clients = createAwsClients(options);
  try {
    const { client, sdk } = await clients.dynamodb();
    for (let start = 0; start < rows.length; start += batchWriteItemsMax) {
      let remaining = rows.slice(start, start + batchWriteItemsMax);
      for (let tries = 0; remaining.length > 0; tries += 1) {
        if (tries === batchWriteTriesMax) throw new Error(`rows of ${table} could not be written`);
        const requests = remaining.map((row) => ({ PutRequest: { Item: { ...row } as never } }));
        const { UnprocessedItems } = await client.send(
          new sdk.BatchWriteItemCommand({ RequestItems: { [table]: requests } }),
        );
        const left = new Set((UnprocessedItems?.[table] ?? []).map((request) => keyText(request)));
        remaining = remaining.filter((row) => left.has(keyText({ PutRequest: { Item: row } })));
      }
    }
  } finally {
    await clients.close();
  }
}

function keyText(request: {
  readonly PutRequest?: { readonly Item?: unknown } | undefined;
}): string {
  return JSON.stringify(request.PutRequest?.Item);
}
