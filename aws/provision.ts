/**
 * Creates what a deployment needs, idempotently: the stream, the three system tables, each shard's
 * entry and first watermark. On AWS Terraform makes the stream and the tables; local stacks and
 * tests use this for all of it.
 *
 * The first watermark stands at position 0 with the time of creation as timestamp: versions that an
 * earlier deployment left in user tables lie in the past of everything that this one commits
 * (docs/protocol.md §3).
 */
import type {
  GlobalSecondaryIndex,
  KeySchemaElement,
  TableDescription as StoredTable,
} from "@aws-sdk/client-dynamodb";
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { hashSecretBytes } from "../core/key-hash.ts";
import type { Clock, Random } from "../core/ports.ts";
import type {
  IndexKeyAttribute,
  KeyAttribute,
  LogPosition,
  ShardId,
  TableDescription,
  Timestamp,
  WantedTable,
} from "../core/types.ts";
import { callRead } from "./call.ts";
import {
  createAwsClients,
  type AwsClientOptions,
  type DynamoDbHandle,
  type KinesisHandle,
} from "./clients.ts";
import { createDynamoDb } from "./dynamodb.ts";
import { createDynamoDbControlStore, type ShardEntry } from "./dynamodb-control-store.ts";
import { listKinesisShards } from "./kinesis-shards.ts";
import { assertUsersTable, deploymentNames, type DeploymentNames } from "./names.ts";
import { systemClock } from "./system.ts";
import { systemRandom } from "./system.ts";

export type ProvisionOptions = AwsClientOptions & {
  readonly deployment: string;
  /** Default 1. Only used when the stream is created; an existing stream keeps its shards. */
  readonly shardCount?: number | undefined;
  /** How long history is kept; what holds already unless said. */
  readonly historyRetentionMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** For the secret of each new shard. */
  readonly random?: Random | undefined;
};

/** A global secondary index with all attributes projected, as local tables need it. */
export type IndexDefinition = {
  readonly name: string;
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
};

/** The key of a table to create, and its indexes. */
export type TableDefinition = Pick<TableDescription, "name" | "partitionKey" | "sortKey"> & {
  readonly indexes?: readonly IndexDefinition[];
};

/**
 * Makes the deployment usable and returns its shards. A second run changes nothing.
 * @throws InvalidRequestError when a table of that name has another key.
 * @throws StoreError when something does not become active in time, or a call fails.
 */
export async function provisionDeployment(options: ProvisionOptions): Promise<readonly ShardId[]> {
  const names = deploymentNames(options.deployment);
  const { clock = systemClock, random = systemRandom } = options;
  const clients = createAwsClients(options);
  try {
    const [dynamodb, kinesis] = await Promise.all([clients.dynamodb(), clients.kinesis()]);
    const stream = ensureStream({ kinesis, clock, name: names.stream }, options.shardCount ?? 1);
    const tables = Promise.all(
      systemTables(names).map((table) => ensureTable({ dynamodb, clock }, table, "expiresAt")),
    );
    await Promise.all([stream, tables]);
    const store = createDynamoDb(clients.dynamodb);
    const control = createDynamoDbControlStore({
      ...{ dynamodb: store, clock, table: names.controlTable },
    });
    for (const entry of await firstShards(kinesis, names.stream, await control.shards())) {
      const hashSecret = random.bytes(hashSecretBytes);
      await control.addShard(
        { ...entry, hashSecret },
        {
          position: 0 as LogPosition,
          timestamp: (clock.nowMs() * 1000) as Timestamp,
          cursor: undefined,
        },
      );
    }
    const { historyRetentionMs } = options;
    if (historyRetentionMs !== undefined) {
      await control.retainHistory(historyRetentionMs);
    }
    return await control.shards();
  } finally {
    await clients.close();
  }
}

/** Creates user tables (on-demand capacity) unless they exist, and waits until they are usable. */
export async function createTables(
  options: AwsClientOptions & { readonly clock?: Clock | undefined },
  tables: readonly TableDefinition[],
): Promise<void> {
  const clock = options.clock ?? systemClock;
  const clients = createAwsClients(options);
  try {
    const dynamodb = await clients.dynamodb();
    for (const table of tables) await ensureTable({ dynamodb, clock }, table, undefined);
  } finally {
    await clients.close();
  }
}

/**
 * Enters tables into the deployment's registry, from where SDKs and functions learn their keys. The
 * tables exist: their own description says what keys they and their indexes have.
 * @returns them as they are registered now.
 * @throws InvalidRequestError when a table is missing, is some deployment's own, or has another key
 * than it is registered with.
 */
export async function registerTables(
  options: AwsClientOptions & { readonly deployment: string; readonly clock?: Clock | undefined },
  tables: readonly WantedTable[],
): Promise<readonly TableDescription[]> {
  const clock = options.clock ?? systemClock;
  const names = deploymentNames(options.deployment);
  const clients = createAwsClients(options);
  try {
    const dynamodb = createDynamoDb(clients.dynamodb);
    const control = createDynamoDbControlStore({ dynamodb, clock, table: names.controlTable });
    const handle = await clients.dynamodb();
    for (const { name } of tables) assertUsersTable(name);
    const registered: TableDescription[] = [];
    for (const table of tables) {
      const indexKeys = await indexKeysOf(handle, table);
      const whole = indexKeys.length === 0 ? table : { ...table, indexKeys };
      registered.push(await control.registerTable(whole));
    }
    return registered;
  } finally {
    await clients.close();
  }
}

async function indexKeysOf(
  dynamodb: DynamoDbHandle,
  table: WantedTable,
): Promise<readonly IndexKeyAttribute[]> {
  const found = await describeTable(dynamodb, table.name);
  if (found === undefined) {
    throw new InvalidRequestError("table", `table "${table.name}" does not exist; create it first`);
  }
  if (!sameKeySchema(found.KeySchema ?? [], keySchema(table))) {
    throw new InvalidRequestError(
      "table",
      `table "${table.name}" has another key than it is registered with`,
    );
  }
  const types = new Map(
    (found.AttributeDefinitions ?? []).map((each) => [each.AttributeName, each.AttributeType]),
  );
  const indexes = [...(found.GlobalSecondaryIndexes ?? []), ...(found.LocalSecondaryIndexes ?? [])];
  const keys = new Map<string, IndexKeyAttribute>();
  for (const { AttributeName: name, KeyType } of indexes.flatMap((each) => each.KeySchema ?? [])) {
    const type = types.get(name);
    if (name === undefined || type === undefined) continue;
    // In two roles the narrower one counts: a sort key takes fewer bytes.
    const role = KeyType === "RANGE" || keys.get(name)?.role === "sort" ? "sort" : "partition";
    keys.set(name, { name, type, role });
  }
  return [...keys.values()];
}

/** The deployment's own tables and their keys (docs/protocol.md §1). */
export function systemTables(names: DeploymentNames): readonly TableDefinition[] {
  return [
    {
      name: names.logTable,
      partitionKey: { name: "shard", type: "S" },
      sortKey: { name: "position", type: "N" },
    },
    {
      name: names.controlTable,
      partitionKey: { name: "pk", type: "S" },
      sortKey: { name: "sk", type: "S" },
    },
    {
      name: names.versionsTable,
      partitionKey: { name: "key", type: "B" },
      sortKey: { name: "version", type: "N" },
    },
  ];
}

type TableParts = { readonly dynamodb: DynamoDbHandle; readonly clock: Clock };

async function ensureTable(
  parts: TableParts,
  table: TableDefinition,
  ttlAttribute: string | undefined,
): Promise<void> {
  const { sdk, client } = parts.dynamodb;
  const wanted = keySchema(table);
  const indexes = table.indexes ?? [];
  const attributes = new Map<string, KeyAttribute>();
  for (const owner of [table, ...indexes]) {
    for (const key of keyAttributes(owner)) attributes.set(key.name, key);
  }
  await ignoring("ResourceInUseException", `CreateTable ${table.name}`, () =>
    client.send(
      new sdk.CreateTableCommand({
        TableName: table.name,
        BillingMode: "PAY_PER_REQUEST",
        KeySchema: wanted,
        AttributeDefinitions: [...attributes.values()].map(({ name, type }) => ({
          AttributeName: name,
          AttributeType: type,
        })),
        ...(indexes.length === 0 ? {} : { GlobalSecondaryIndexes: indexes.map(toIndex) }),
      }),
    ),
  );
  await waitFor(parts.clock, `table ${table.name}`, async () => {
    const found = await describeTable(parts.dynamodb, table.name);
    if (found?.TableStatus !== "ACTIVE") return undefined;
    if (!sameKeySchema(found.KeySchema ?? [], wanted)) {
      throw new InvalidRequestError("table", `table "${table.name}" exists with another key`);
    }
    const ready = (found.GlobalSecondaryIndexes ?? []).every((i) => i.IndexStatus === "ACTIVE");
    return ready ? true : undefined;
  });
  if (ttlAttribute !== undefined) await enableTtl(parts.dynamodb, table.name, ttlAttribute);
}

function keyAttributes(owner: Pick<TableDefinition, "partitionKey" | "sortKey">): KeyAttribute[] {
  return owner.sortKey === undefined ? [owner.partitionKey] : [owner.partitionKey, owner.sortKey];
}

function keySchema(owner: Pick<TableDefinition, "partitionKey" | "sortKey">): KeySchemaElement[] {
  return keyAttributes(owner).map(({ name }, index) => ({
    AttributeName: name,
    KeyType: index === 0 ? "HASH" : "RANGE",
  }));
}

function sameKeySchema(a: readonly KeySchemaElement[], b: readonly KeySchemaElement[]): boolean {
  const text = (keys: readonly KeySchemaElement[]): string =>
    JSON.stringify(keys.map((key) => [key.KeyType, key.AttributeName]).sort());
  return text(a) === text(b);
}

function toIndex(index: IndexDefinition): GlobalSecondaryIndex {
  return {
    IndexName: index.name,
    KeySchema: keySchema(index),
    Projection: { ProjectionType: "ALL" },
  };
}

/** Undefined when there is no such table. */
export async function describeTable(
  { sdk, client }: DynamoDbHandle,
  name: string,
): Promise<StoredTable | undefined> {
  const output = await ignoring("ResourceNotFoundException", `DescribeTable ${name}`, () =>
    client.send(new sdk.DescribeTableCommand({ TableName: name })),
  );
  return output?.Table;
}

/** Servers without TTL keep expired items, which only costs room. */
async function enableTtl(
  handle: DynamoDbHandle,
  TableName: string,
  AttributeName: string,
): Promise<void> {
  const { sdk, client } = handle;
  if ((await ttlState(handle, TableName)) !== "off") return;
  const TimeToLiveSpecification = { AttributeName, Enabled: true };
  const command = new sdk.UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification });
  try {
    await ignoring("UnknownOperationException", "UpdateTimeToLive", () => client.send(command));
  } catch (error) {
    // It is refused when another run has enabled it in between.
    if ((await ttlState(handle, TableName)) !== "on") throw error;
  }
}

async function ttlState(
  { sdk, client }: DynamoDbHandle,
  TableName: string,
): Promise<"on" | "off" | "unsupported"> {
  const found = await ignoring("UnknownOperationException", "DescribeTimeToLive", () =>
    client.send(new sdk.DescribeTimeToLiveCommand({ TableName })),
  );
  if (found === undefined) return "unsupported";
  const status = found.TimeToLiveDescription?.TimeToLiveStatus;
  return status === "ENABLED" || status === "ENABLING" ? "on" : "off";
}

type StreamParts = {
  readonly kinesis: KinesisHandle;
  readonly clock: Clock;
  readonly name: string;
};

async function ensureStream(parts: StreamParts, ShardCount: number): Promise<void> {
  const { sdk, client } = parts.kinesis;
  await ignoring("ResourceInUseException", `CreateStream ${parts.name}`, () =>
    client.send(new sdk.CreateStreamCommand({ StreamName: parts.name, ShardCount })),
  );
  await waitFor(parts.clock, `stream ${parts.name}`, async () => {
    const output = await ignoring("ResourceNotFoundException", "DescribeStreamSummary", () =>
      client.send(new sdk.DescribeStreamSummaryCommand({ StreamName: parts.name })),
    );
    return output?.StreamDescriptionSummary?.StreamStatus === "ACTIVE" ? true : undefined;
  });
}

/**
 * The shards that the deployment begins with: the stream's open ones. Once some are listed, only
 * those that the stream was made with: what a reshard makes carries on a shard that is listed
 * already.
 */
export async function firstShards(
  kinesis: KinesisHandle,
  stream: string,
  listed: readonly ShardId[],
): Promise<readonly ShardEntry[]> {
  const shards = await listKinesisShards(kinesis, stream);
  return shards
    .filter(({ lastSequenceNumber }) => lastSequenceNumber === undefined)
    .filter(({ hasParent }) => !hasParent || listed.length === 0)
    .map(({ id, startingHashKey }) => ({ shard: id as ShardId, startingHashKey }));
}

/** Undefined when the call is refused with exactly this error. */
async function ignoring<Output>(
  name: string,
  operation: string,
  send: () => Promise<Output>,
): Promise<Output | undefined> {
  try {
    return await callRead({ operation, send, options: undefined });
  } catch (error) {
    if (error instanceof StoreError && error.code === name) return undefined;
    throw error;
  }
}

async function waitFor(
  clock: Clock,
  what: string,
  check: () => Promise<true | undefined>,
): Promise<void> {
  const startedMs = clock.monotonicMs();
  let pauseMs = 5;
  while ((await check()) === undefined) {
    if (clock.monotonicMs() - startedMs > limits.provisionWaitMsMax) {
      throw new StoreError("unavailable", `${what} did not become active in time`);
    }
    await clock.sleep(pauseMs);
    pauseMs = Math.min(pauseMs * 2, 2_000);
  }
}
