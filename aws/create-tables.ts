/**
 * Creating tables, idempotently: the deployment's own and, for local stacks and tests, the users'.
 * On AWS Terraform makes the former, and the latter are the user's.
 */
import { isDeepStrictEqual } from "node:util";
import type { KeySchemaElement } from "@aws-sdk/client-dynamodb";
import { InvalidRequestError } from "../core/errors.ts";
import type { Clock } from "../core/ports.ts";
import type { TableDescription } from "../core/types.ts";
import { withAwsClients, type AwsClientOptions, type DynamoDbHandle } from "./clients.ts";
import { describeTable, keyAttributes, type KeyPair } from "./described-table.ts";
import { outputUnless, untilReady } from "./resource-calls.ts";
import { systemClock } from "./system.ts";

/** A global secondary index with all attributes projected, as local tables need it. */
export type IndexDefinition = KeyPair & { readonly name: string };

/** The key of a table to create, and its indexes. */
export type TableDefinition = KeyPair & {
  readonly name: TableDescription["name"];
  readonly indexes?: readonly IndexDefinition[];
};

/** Creates user tables (on-demand capacity) unless they exist, and waits until they are usable. */
export async function createTables(
  options: AwsClientOptions & { readonly clock?: Clock | undefined },
  tables: readonly TableDefinition[],
): Promise<void> {
  const { clock = systemClock } = options;
  await withAwsClients(options, async (clients) => {
    const dynamodb = await clients.dynamodb();
    for (const table of tables) await createTable({ dynamodb, clock }, table);
  });
}

type TableParts = { readonly dynamodb: DynamoDbHandle; readonly clock: Clock };

/**
 * Creates one table unless it exists, and waits until it is usable.
 * @throws InvalidRequestError when it exists with another key.
 */
export async function createTable(
  { dynamodb, clock }: TableParts,
  table: TableDefinition,
): Promise<void> {
  const { sdk, client } = dynamodb;
  await outputUnless({
    operation: `CreateTable ${table.name}`,
    unless: "ResourceInUseException",
    send: () => client.send(new sdk.CreateTableCommand(creation(table))),
  });
  const isReady = async (): Promise<boolean> => {
    const found = await describeTable(dynamodb, table.name);
    if (found !== undefined && !isDeepStrictEqual(keyAttributes(found), keyAttributes(table))) {
      throw new InvalidRequestError("table", `table "${table.name}" exists with another key`);
    }
    return found?.isReady === true;
  };
  await untilReady({ clock, what: `table ${table.name}`, isReady });
}

type Creation = ConstructorParameters<DynamoDbHandle["sdk"]["CreateTableCommand"]>[0];

function creation(table: TableDefinition): Creation {
  const { name: TableName, indexes = [] } = table;
  const attributes = new Map(
    [table, ...indexes].flatMap(keyAttributes).map(({ name, type }) => [name, type]),
  );
  return {
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: keySchema(table),
    AttributeDefinitions: [...attributes].map(([AttributeName, AttributeType]) => ({
      AttributeName,
      AttributeType,
    })),
    // DynamoDB refuses an empty list.
    ...(indexes.length === 0
      ? {}
      : {
          GlobalSecondaryIndexes: indexes.map((index) => ({
            IndexName: index.name,
            KeySchema: keySchema(index),
            Projection: { ProjectionType: "ALL" },
          })),
        }),
  };
}

function keySchema(owner: KeyPair): KeySchemaElement[] {
  return keyAttributes(owner).map(({ name }, index) => ({
    AttributeName: name,
    KeyType: index === 0 ? "HASH" : "RANGE",
  }));
}

type Expiry = { readonly name: string; readonly attribute: string };

/** Has the store drop what has expired. Servers without TTL keep it, which only costs room. */
export async function enableExpiry(
  dynamodb: DynamoDbHandle,
  { name: TableName, attribute: AttributeName }: Expiry,
): Promise<void> {
  const { sdk, client } = dynamodb;
  if ((await expiryState(dynamodb, TableName)) !== "off") return;
  const TimeToLiveSpecification = { AttributeName, Enabled: true };
  const command = new sdk.UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification });
  try {
    await outputUnless({
      operation: "UpdateTimeToLive",
      unless: "UnknownOperationException",
      send: () => client.send(command),
    });
  } catch (error) {
    // It is refused when another run has enabled it in between.
    if ((await expiryState(dynamodb, TableName)) !== "on") throw error;
  }
}

/** Whether the store drops what has expired. @throws StoreError also where that is not allowed. */
export async function expiryState(
  { sdk, client }: DynamoDbHandle,
  TableName: string,
): Promise<"on" | "off" | "unsupported"> {
  const found = await outputUnless({
    operation: "DescribeTimeToLive",
    unless: "UnknownOperationException",
    send: () => client.send(new sdk.DescribeTimeToLiveCommand({ TableName })),
  });
  if (found === undefined) return "unsupported";
  const status = found.TimeToLiveDescription?.TimeToLiveStatus;
  return status === "ENABLED" || status === "ENABLING" ? "on" : "off";
}
