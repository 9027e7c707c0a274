/**
 * What a table's own description says of its keys: the source for whoever creates a table that may
 * be there already, and for whoever registers one.
 */
import type {
  LocalSecondaryIndexDescription,
  TableDescription as StoredTable,
} from "@aws-sdk/client-dynamodb";
import { InvalidRequestError } from "../core/errors.ts";
import type { IndexKeyAttribute, KeyAttribute, TableDescription } from "../core/types.ts";
import type { DescribedIndex } from "../schemas/described-indexes.ts";
import type { DynamoDbHandle } from "./clients.ts";
import { outputUnless } from "./resource-calls.ts";

/** A table's key, or an index's. */
export type KeyPair = Pick<TableDescription, "partitionKey" | "sortKey">;

export type DescribedTable = KeyPair & {
  /** Empty without indexes. */
  readonly indexKeys: readonly IndexKeyAttribute[];
  readonly indexNames: readonly string[];
  readonly indexes: readonly DescribedIndex[];
  /** It and its indexes take calls. */
  readonly isReady: boolean;
};

/**
 * Undefined when there is no such table.
 * @throws StoreError when the call fails.
 */
export async function describeTable(
  { sdk, client }: DynamoDbHandle,
  TableName: string,
): Promise<DescribedTable | undefined> {
  const output = await outputUnless({
    operation: `DescribeTable ${TableName}`,
    unless: "ResourceNotFoundException",
    send: () => client.send(new sdk.DescribeTableCommand({ TableName })),
  });
  if (output?.Table === undefined) return undefined;
  const table = output.Table;
  const [partitionKey, sortKey] = keysOf(table);
  if (partitionKey === undefined) {
    throw new InvalidRequestError("table", `table "${TableName}" was described without its key`);
  }
  const indexes = table.GlobalSecondaryIndexes ?? [];
  return {
    partitionKey,
    ...(sortKey === undefined ? {} : { sortKey }),
    indexKeys: indexKeysOf(table),
    indexNames: indexesOf(table).flatMap(({ IndexName }) => IndexName ?? []),
    indexes: describedIndexes(table),
    isReady:
      table.TableStatus === "ACTIVE" && indexes.every((each) => each.IndexStatus === "ACTIVE"),
  };
}

/** The partition key, then the sort key if there is one. */
export function keyAttributes({ partitionKey, sortKey }: KeyPair): readonly KeyAttribute[] {
  return sortKey === undefined ? [partitionKey] : [partitionKey, sortKey];
}

function keysOf(
  table: StoredTable,
  schema = table.KeySchema,
): readonly (KeyAttribute | undefined)[] {
  return ["HASH", "RANGE"].map((role) => {
    const name = schema?.find(({ KeyType }) => KeyType === role)?.AttributeName;
    const type = typesOf(table).get(name);
    return name === undefined || type === undefined ? undefined : { name, type };
  });
}

function indexesOf({
  GlobalSecondaryIndexes: global = [],
  LocalSecondaryIndexes: local = [],
}: StoredTable): readonly LocalSecondaryIndexDescription[] {
  return [...global, ...local];
}

function describedIndexes(table: StoredTable): readonly DescribedIndex[] {
  const { GlobalSecondaryIndexes: global = [] } = table;
  return indexesOf(table).flatMap((index) => {
    const { IndexName: name, Projection } = index;
    const [partitionKey, sortKey] = keysOf(table, index.KeySchema);
    if (name === undefined || partitionKey === undefined) return [];
    return {
      ...{ name, partitionKey, sortKey },
      kind: global.some(({ IndexName }) => IndexName === name) ? "global" : "local",
      projection: Projection?.ProjectionType ?? "ALL",
      nonKeyAttributes: Projection?.NonKeyAttributes ?? [],
    };
  });
}

function indexKeysOf(table: StoredTable): readonly IndexKeyAttribute[] {
  const types = typesOf(table);
  const keys = new Map<string, IndexKeyAttribute>();
  const schemas = indexesOf(table).flatMap(({ KeySchema }) => KeySchema ?? []);
  for (const { AttributeName: name, KeyType } of schemas) {
    const type = types.get(name);
    if (name === undefined || type === undefined) continue;
    // In two roles the narrower one counts: a sort key takes fewer bytes.
    const role = KeyType === "RANGE" || keys.get(name)?.role === "sort" ? "sort" : "partition";
    keys.set(name, { name, type, role });
  }
  return [...keys.values()];
}

function typesOf({
  AttributeDefinitions = [],
}: StoredTable): ReadonlyMap<string | undefined, KeyAttribute["type"] | undefined> {
  return new Map(AttributeDefinitions.map((each) => [each.AttributeName, each.AttributeType]));
}
