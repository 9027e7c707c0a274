/** Making, describing and removing tables. A table is usable as soon as it is made. */
import type {
  AttributeDefinition,
  CreateTableCommandInput,
  KeySchemaElement,
  Projection,
  TableDescription,
} from "@aws-sdk/client-dynamodb";
import type { KeyAttribute, KeyType } from "../../../core/types.ts";
import {
  type IndexSchema,
  keyAttributes,
  type KeySchema,
  requireTableName,
} from "../../../expressions/key-schema.ts";
import {
  invalid,
  invalidParameter,
  requireOneOf,
  tableMissing,
} from "../../../expressions/refusals.ts";
import { ServiceError } from "../../../expressions/service-error.ts";
import type { Database } from "./database.ts";
import type { Operations } from "./operation-types.ts";
import { Table, type TableDefinition } from "./table.ts";
import * as limits from "./service-limits.ts";

export function createTable(
  database: Database,
  input: Operations["CreateTable"]["input"],
): Operations["CreateTable"]["output"] {
  const definition = definitionOf(input, database.nowMs);
  if (database.tables.has(definition.name)) {
    throw new ServiceError("ResourceInUseException", {
      message: `Table already exists: ${definition.name}`,
    });
  }
  const table = new Table(definition, database.staleMsMax);
  database.tables.set(definition.name, table);
  return { TableDescription: { ...description(table), TableStatus: "CREATING" } };
}

export function describeTable(
  database: Database,
  input: Operations["DescribeTable"]["input"],
): Operations["DescribeTable"]["output"] {
  return { Table: description(requireTable(database, input.TableName)) };
}

export function deleteTable(
  database: Database,
  input: Operations["DeleteTable"]["input"],
): Operations["DeleteTable"]["output"] {
  const table = requireTable(database, input.TableName);
  database.tables.delete(table.name);
  return { TableDescription: { ...description(table), TableStatus: "DELETING" } };
}

export function listTables(
  database: Database,
  input: Operations["ListTables"]["input"],
): Operations["ListTables"]["output"] {
  const { ExclusiveStartTableName: start, Limit = limits.listedTablesMax } = input;
  if (Limit < 1 || Limit > limits.listedTablesMax) {
    throw invalid(`Value '${Limit.toString()}' at 'limit' failed to satisfy constraint`);
  }
  const names = [...database.tables.keys()].sort();
  const rest = start === undefined ? names : names.filter((name) => name > start);
  const TableNames = rest.slice(0, Limit);
  const last = TableNames.at(-1);
  const more = rest.length > TableNames.length && last !== undefined;
  return more ? { TableNames, LastEvaluatedTableName: last } : { TableNames };
}

export function updateTimeToLive(
  database: Database,
  input: Operations["UpdateTimeToLive"]["input"],
): Operations["UpdateTimeToLive"]["output"] {
  const { AttributeName, Enabled } = input.TimeToLiveSpecification ?? {};
  if (AttributeName === undefined || AttributeName === "" || Enabled === undefined) {
    throw invalid("TimeToLiveSpecification must name an attribute and say whether it is enabled");
  }
  const table = requireTable(database, input.TableName);
  const enabled = table.ttlAttribute !== undefined;
  if (enabled && Enabled) throw invalid("TimeToLive is already enabled");
  if (!enabled && !Enabled) throw invalid("TimeToLive is already disabled");
  if (enabled && table.ttlAttribute !== AttributeName) {
    throw invalid(
      "TimeToLive is active on a different AttributeName: current AttributeName is " +
        String(table.ttlAttribute),
    );
  }
  table.ttlAttribute = Enabled ? AttributeName : undefined;
  return { TimeToLiveSpecification: { AttributeName, Enabled } };
}

export function describeTimeToLive(
  database: Database,
  input: Operations["DescribeTimeToLive"]["input"],
): Operations["DescribeTimeToLive"]["output"] {
  const { ttlAttribute } = requireTable(database, input.TableName);
  return {
    TimeToLiveDescription:
      ttlAttribute === undefined
        ? { TimeToLiveStatus: "DISABLED" }
        : { TimeToLiveStatus: "ENABLED", AttributeName: ttlAttribute },
  };
}

/** These operations name the table in their refusal. */
function requireTable(database: Database, input: string | undefined): Table {
  const name = requireTableName(input);
  const table = database.tables.get(name);
  if (table === undefined) throw tableMissing(name);
  return table;
}

function definitionOf(input: CreateTableCommandInput, createdMs: number): TableDefinition {
  const name = requireTableName(input.TableName);
  const billing = input.BillingMode ?? "PROVISIONED";
  requireOneOf("billingMode", billing, ["PROVISIONED", "PAY_PER_REQUEST"]);
  if (billing === "PROVISIONED" && input.ProvisionedThroughput === undefined) {
    throw invalidParameter(
      "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is " +
        "PROVISIONED",
    );
  }
  if (billing === "PAY_PER_REQUEST" && input.ProvisionedThroughput !== undefined) {
    throw invalidParameter(
      "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is " +
        "PAY_PER_REQUEST",
    );
  }
  const types = attributeTypes(input.AttributeDefinitions);
  const schema = keySchema(input.KeySchema, types);
  const indexes = [
    ...(input.LocalSecondaryIndexes ?? []).map((index) => indexSchema("local", index, types)),
    ...(input.GlobalSecondaryIndexes ?? []).map((index) => indexSchema("global", index, types)),
  ];
  requireFittingIndexes(schema, indexes);
  const used = new Set([schema, ...indexes].flatMap(keyAttributes).map((key) => key.name));
  const unused = [...types.keys()].filter((attribute) => !used.has(attribute));
  if (unused.length > 0) {
    throw invalidParameter(
      "Number of attributes in KeySchema does not exactly match number of attributes defined in " +
        "AttributeDefinitions",
    );
  }
  return {
    name,
    schema,
    indexes,
    billing: billing === "PROVISIONED" ? "PROVISIONED" : "PAY_PER_REQUEST",
    createdMs,
  };
}

function attributeTypes(
  definitions: readonly AttributeDefinition[] | undefined,
): ReadonlyMap<string, KeyType> {
  const types = new Map<string, KeyType>();
  for (const { AttributeName, AttributeType } of definitions ?? []) {
    requireOneOf("attributeDefinitions", AttributeType, ["B", "N", "S"]);
    if (AttributeName === undefined || !isKeyType(AttributeType)) {
      throw invalid("An attribute definition needs a name and a type");
    }
    if (types.has(AttributeName)) {
      throw invalidParameter(`Duplicate AttributeName in AttributeDefinitions: ${AttributeName}`);
    }
    types.set(AttributeName, AttributeType);
  }
  return types;
}

function isKeyType(type: string | undefined): type is KeyType {
  return type === "S" || type === "N" || type === "B";
}

function keySchema(
  elements: readonly KeySchemaElement[] | undefined,
  types: ReadonlyMap<string, KeyType>,
): KeySchema {
  const [first, second] = elements ?? [];
  if (first === undefined || (elements?.length ?? 0) > 2) {
    throw invalid("A key schema has one or two elements");
  }
  if (first.KeyType !== "HASH") {
    throw invalidParameter("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  }
  if (second !== undefined && second.KeyType !== "RANGE") {
    throw invalidParameter(
      "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
    );
  }
  if (first.AttributeName === second?.AttributeName) {
    throw invalidParameter(
      "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    );
  }
  const sort = second === undefined ? undefined : keyAttribute(second, types);
  return { partition: keyAttribute(first, types), sort };
}

function keyAttribute(
  { AttributeName: name }: KeySchemaElement,
  types: ReadonlyMap<string, KeyType>,
): KeyAttribute {
  const type = name === undefined ? undefined : types.get(name);
  if (name === undefined || type === undefined) {
    throw invalidParameter(
      "Some index key attributes are not defined in AttributeDefinitions. " +
        `Keys: [${name ?? ""}], AttributeDefinitions: [${[...types.keys()].join(", ")}]`,
    );
  }
  return { name, type };
}

function indexSchema(
  kind: "global" | "local",
  index: {
    readonly IndexName?: string | undefined;
    readonly KeySchema?: KeySchemaElement[] | undefined;
    readonly Projection?: Projection | undefined;
  },
  types: ReadonlyMap<string, KeyType>,
): IndexSchema {
  const { IndexName: name, Projection: projection } = index;
  if (name === undefined || !/^[a-zA-Z0-9_.-]{3,255}$/.test(name)) {
    throw invalid("IndexName must have 3 to 255 characters of a-z, A-Z, 0-9, _, - and .");
  }
  const type = projection?.ProjectionType;
  if (type !== "ALL" && type !== "KEYS_ONLY" && type !== "INCLUDE") {
    throw invalidParameter(`Unknown ProjectionType: ${String(type)}`);
  }
  const nonKeyAttributes = projection?.NonKeyAttributes ?? [];
  if ((type === "INCLUDE") !== nonKeyAttributes.length > 0) {
    throw invalidParameter(
      type === "INCLUDE"
        ? "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
        : `ProjectionType is ${type}, but NonKeyAttributes is specified`,
    );
  }
  return {
    name,
    kind,
    projection: { type, nonKeyAttributes },
    ...keySchema(index.KeySchema, types),
  };
}

function requireFittingIndexes(schema: KeySchema, indexes: readonly IndexSchema[]): void {
  const names = new Set<string>();
  const counts = { global: 0, local: 0 };
  for (const index of indexes) {
    if (names.has(index.name)) throw invalidParameter(`Duplicate index name: ${index.name}`);
    names.add(index.name);
    counts[index.kind] += 1;
    if (index.kind === "global") continue;
    if (schema.sort === undefined) {
      throw invalidParameter(
        "Table KeySchema does not have a range key, which is required when specifying a " +
          "LocalSecondaryIndex",
      );
    }
    if (index.partition.name !== schema.partition.name) {
      throw invalidParameter(
        "Table KeySchema and local secondary index KeySchema do not have the same hash key: " +
          index.name,
      );
    }
    if (index.sort === undefined) {
      throw invalidParameter(`Index KeySchema does not have a range key for index: ${index.name}`);
    }
  }
  if (counts.local > limits.localIndexesMax) {
    throw invalidParameter("Number of LocalSecondaryIndexes exceeds per-table limit of 5");
  }
  if (counts.global > limits.globalIndexesMax) {
    throw invalidParameter("Number of GlobalSecondaryIndexes exceeds per-table limit of 20");
  }
}

function description(table: Table): TableDescription {
  const { definition, schema, name } = table;
  const indexes = definition.indexes;
  const types = new Map(
    [schema, ...indexes].flatMap(keyAttributes).map((key) => [key.name, key.type]),
  );
  const TableArn = `arn:aws:dynamodb:us-east-1:000000000000:table/${name}`;
  const common = (index: IndexSchema) => ({
    IndexName: index.name,
    IndexArn: `${TableArn}/index/${index.name}`,
    KeySchema: keySchemaElements(index),
    Projection: {
      ProjectionType: index.projection.type,
      ...(index.projection.type === "INCLUDE"
        ? { NonKeyAttributes: [...index.projection.nonKeyAttributes] }
        : {}),
    },
  });
  const local = indexes.filter(({ kind }) => kind === "local").map(common);
  const global = indexes
    .filter(({ kind }) => kind === "global")
    .map((index) => ({ ...common(index), IndexStatus: "ACTIVE" as const }));
  return {
    TableName: name,
    TableArn,
    TableStatus: "ACTIVE",
    CreationDateTime: new Date(definition.createdMs),
    KeySchema: keySchemaElements(schema),
    AttributeDefinitions: [...types].map(([AttributeName, AttributeType]) => ({
      AttributeName,
      AttributeType,
    })),
    ItemCount: table.itemCount,
    TableSizeBytes: table.sizeBytes,
    BillingModeSummary: { BillingMode: definition.billing },
    ...(local.length === 0 ? {} : { LocalSecondaryIndexes: local }),
    ...(global.length === 0 ? {} : { GlobalSecondaryIndexes: global }),
  };
}

function keySchemaElements(schema: KeySchema): KeySchemaElement[] {
  return keyAttributes(schema).map(({ name }, index) => ({
    AttributeName: name,
    KeyType: index === 0 ? "HASH" : "RANGE",
  }));
}
