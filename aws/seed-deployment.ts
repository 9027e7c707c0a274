/**
 * Fills the control table of a deployment whose stream and tables exist already, as Terraform
 * leaves them: each shard's entry and first watermark, and the registry of user tables. Repeatable;
 * a second run moves no watermark.
 *
 * The first watermark is written once and never again, by a condition: set back under a running
 * deployment it would let replay and clients start over from a log whose beginning may be gone (I7,
 * docs/protocol.md §3).
 */
import { InvalidRequestError } from "../core/errors.ts";
import { hashSecretBytes } from "../core/key-hash.ts";
import type { Clock, Random } from "../core/ports.ts";
import type {
  KeyAttribute,
  LogPosition,
  ShardId,
  TableDescription,
  Timestamp,
} from "../core/types.ts";
import { createAwsClients, type AwsClientOptions, type DynamoDbHandle } from "./clients.ts";
import { createDynamoDb } from "./dynamodb.ts";
import { createDynamoDbControlStore, type ShardEntry } from "./dynamodb-control-store.ts";
import { deploymentNames } from "./names.ts";
import { describeTable, firstShards, registerTables } from "./provision.ts";
import { systemClock } from "./system-clock.ts";
import { systemRandom } from "./system-random.ts";

/** A table of the user's, by name: what keys it has its own description says. */
export type AdoptedTable = { readonly name: string; readonly history: boolean };

export type SeedOptions = AwsClientOptions & {
  readonly deployment: string;
  readonly tables: readonly AdoptedTable[];
  /** How long history is kept on tables that have one. */
  readonly historyRetentionMs: number;
  readonly clock?: Clock | undefined;
  /** For the secret of each new shard. */
  readonly random?: Random | undefined;
};

export type SeedReport = {
  readonly shards: readonly ShardId[];
  readonly tables: readonly string[];
};

/**
 * Tables that are registered and not named here stay registered: commits that touch them may still
 * be on their way.
 * @throws InvalidRequestError when a table is missing, or is registered with another key.
 * @throws StoreError when a call fails.
 */
export async function seedDeployment(options: SeedOptions): Promise<SeedReport> {
  const names = deploymentNames(options.deployment);
  const { clock = systemClock, random = systemRandom } = options;
  const clients = createAwsClients(options);
  try {
    const store = createDynamoDb(clients.dynamodb);
    const control = createDynamoDbControlStore({ dynamodb: store, table: names.controlTable });
    const listed = await control.shards();
    const open = await firstShards(await clients.kinesis(), names.stream, listed);
    const timestamp = (clock.nowMs() * 1000) as Timestamp;
    for (const entry of listed.length === 0 ? lowest(open) : []) {
      const watermark = { position: 0 as LogPosition, timestamp, cursor: undefined };
      await control.addShard({ ...entry, hashSecret: random.bytes(hashSecretBytes) }, watermark);
    }
    await control.retainHistory(options.historyRetentionMs, clock.nowMs());
    const dynamodb = await clients.dynamodb();
    const tables: TableDescription[] = [];
    for (const table of options.tables) tables.push(await describeAdopted(dynamodb, table));
    await registerTables(options, tables);
    return { shards: await control.shards(), tables: tables.map(({ name }) => name) };
  } finally {
    await clients.close();
  }
}

/**
 * The one that covers hash key 0, where an on-demand stream has several: this version certifies on
 * one.
 */
function lowest(entries: readonly ShardEntry[]): readonly ShardEntry[] {
  const ordered = entries.toSorted((left, right) =>
    BigInt(left.startingHashKey) < BigInt(right.startingHashKey) ? -1 : 1,
  );
  return ordered.slice(0, 1);
}

async function describeAdopted(
  dynamodb: DynamoDbHandle,
  { name, history }: AdoptedTable,
): Promise<TableDescription> {
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
  return {
    name,
    partitionKey,
    ...(sortKey === undefined ? {} : { sortKey }),
    history,
    access: "transactional",
  };
}
