/**
 * Entering tables that exist into a deployment's registry, by name: what keys they have their own
 * descriptions say. Used by provisioning, by `registerTables`, and by the embedded stack.
 */
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import type { Clock } from "../core/ports.ts";
import type { KeyAttribute, TableDescription, WantedTable } from "../core/types.ts";
import { createAwsClients, type AwsClientOptions, type DynamoDbHandle } from "./clients.ts";
import { createDynamoDb } from "./dynamodb.ts";
import { createDynamoDbControlReader } from "./dynamodb-control-store.ts";
import { assertUsersTable, deploymentNames } from "./names.ts";
import { describeTable, registerTables } from "./provision.ts";

export type AdoptedTable = {
  readonly name: string;
  /** Undefined: as it is registered; false for a new one. */
  readonly history?: boolean | undefined;
  /** Checked, where the caller knows them: partition key, then sort key. */
  readonly keyNames?: readonly string[] | undefined;
};

/**
 * Registers tables, or registers them anew; those that are not named stay as they are.
 * @returns what is registered now.
 * @throws InvalidRequestError when the deployment or a table is missing, a table is Tidemark's own,
 * or is registered with another key.
 * @throws StoreError when a call fails.
 */
export async function adoptTables(
  options: AwsClientOptions & { readonly deployment: string; readonly clock?: Clock | undefined },
  tables: readonly AdoptedTable[],
): Promise<readonly TableDescription[]> {
  const clients = createAwsClients(options);
  try {
    const dynamodb = await clients.dynamodb();
    // One client for all three: a ready-made one stays with its giver.
    const shared = { ...options, dynamodb: dynamodb.client };
    // Says so where there is no deployment, before any table is looked at.
    await registeredTables(shared);
    const adopted: WantedTable[] = [];
    for (const table of tables) adopted.push(await describeAdopted(dynamodb, table));
    return await registerTables(shared, adopted);
  } finally {
    await clients.close();
  }
}

/**
 * The registry, in no particular order.
 * @throws InvalidRequestError when there is no such deployment. StoreError.
 */
export async function registeredTables(
  options: AwsClientOptions & { readonly deployment: string },
): Promise<readonly TableDescription[]> {
  const clients = createAwsClients(options);
  const { controlTable: table } = deploymentNames(options.deployment);
  try {
    const dynamodb = createDynamoDb(clients.dynamodb);
    return await createDynamoDbControlReader({ dynamodb, table }).tables();
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "ResourceNotFoundException")) throw error;
    throw new InvalidRequestError(
      "deployment",
      `there is no deployment "${options.deployment}" here: its table ${table} does not exist; ` +
        "look at the deployment's name, the region and the account",
    );
  } finally {
    await clients.close();
  }
}

async function describeAdopted(
  dynamodb: DynamoDbHandle,
  table: AdoptedTable,
): Promise<WantedTable> {
  const { name } = table;
  assertUsersTable(name);
  const found = await describeTable(dynamodb, name);
  if (found === undefined) {
    throw new InvalidRequestError("table", `table "${name}" does not exist; create it first`);
  }
  const keyOf = (role: "HASH" | "RANGE"): KeyAttribute | undefined => {
    const key = (found.KeySchema ?? []).find(({ KeyType }) => KeyType === role)?.AttributeName;
    const type = (found.AttributeDefinitions ?? []).find((each) => each.AttributeName === key);
    if (key === undefined || type?.AttributeType === undefined) return undefined;
    return { name: key, type: type.AttributeType };
  };
  const partitionKey = keyOf("HASH");
  const sortKey = keyOf("RANGE");
  if (partitionKey === undefined) {
    throw new InvalidRequestError("table", `table "${name}" was described without its key`);
  }
  const keys = [partitionKey, ...(sortKey === undefined ? [] : [sortKey])].map((key) => key.name);
  if (table.keyNames !== undefined && table.keyNames.join() !== keys.join()) {
    throw new InvalidRequestError(
      "key",
      `table "${name}" has the key ${keys.join(", ")}, ` +
        `and is defined with ${table.keyNames.join(", ")}`,
    );
  }
  return {
    name,
    partitionKey,
    ...(sortKey === undefined ? {} : { sortKey }),
    history: table.history,
    access: "transactional",
  };
}
