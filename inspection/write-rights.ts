/**
 * Whether the rights at hand allow to write, tried by puts on a condition that never holds: who has
 * no right is refused as such, and for all others the condition fails. Nothing changes.
 */
import { createAwsClients } from "../aws/clients.ts";
import { toSdkItem } from "../aws/attribute-values.ts";
import { createDynamoDb } from "../aws/dynamodb.ts";
import type { Item } from "../core/types.ts";
import { target } from "../sdk/connect.ts";
import type { ClientOptions } from "../sdk/tables.ts";
import { someKey } from "./checks.ts";
import { denied, ifAllowed } from "./allowed.ts";
import type { Deployment } from "./deployment.ts";
import type { Finding } from "./findings.ts";

type Attempt = {
  readonly what: string;
  readonly table: string;
  readonly item: Item;
  /** Who has the right. */
  readonly policy: string;
};

export async function writeRightFindings(
  where: ClientOptions,
  deployment: Deployment,
): Promise<readonly Finding[]> {
  const clients = createAwsClients(await target(where));
  try {
    const dynamodb = createDynamoDb(clients.dynamodb);
    const found: Finding[] = [];
    for (const { what, table, item, policy } of attemptsOn(deployment)) {
      const [key = ""] = Object.keys(item);
      const tried = await ifAllowed(() =>
        dynamodb.put({
          TableName: table,
          Item: toSdkItem(item),
          ConditionExpression: "attribute_exists(#key) AND attribute_not_exists(#key)",
          ExpressionAttributeNames: { "#key": key },
        }),
      );
      found.push(
        tried === denied
          ? { level: "warning", about: "rights", text: `may not ${what}`, remedy: policy }
          : { level: "fine", about: "rights", text: `may ${what}` },
      );
    }
    return found;
  } finally {
    await clients.close();
  }
}

function attemptsOn({ ports, logs, registry }: Deployment): readonly Attempt[] {
  const { logTable, controlTable, versionsTable } = ports.names;
  const readWrite = "policy read-write has the right";
  const [log] = logs;
  return [
    {
      what: "append blocks to the log (express commits)",
      table: logTable,
      item: { shard: { S: log?.shard ?? "" }, position: { N: "1" } },
      policy: "policy express has the right; without it commits go by the stream",
    },
    {
      what: "save superseded versions",
      table: versionsTable,
      item: { key: { B: new TextEncoder().encode("tidemark doctor") }, version: { N: "1" } },
      policy: readWrite,
    },
    {
      what: "save results of idempotency keys",
      table: controlTable,
      item: { pk: { S: "idempotency#tidemark doctor" }, sk: { S: "-" } },
      policy: readWrite,
    },
    ...registry.tables.map((table) => ({
      what: `install items of ${table.name}`,
      table: table.name,
      item: someKey(table),
      policy: `${readWrite}, if the module's \`tables\` name ${table.name}`,
    })),
  ];
}
