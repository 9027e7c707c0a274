/**
 * Tables that suites make on a deployment and take away again. Functions learn of them as they do
 * of any: a name that they do not know makes them read the registry again. Only for local clouds:
 * on AWS, roles reach none but named tables.
 */
import {
  DeleteItemCommand,
  DeleteTableCommand,
  DynamoDBClient,
  ResourceNotFoundException,
} from "@aws-sdk/client-dynamodb";
import type { AwsPorts } from "../../../aws/ports.ts";
import { createTables, type TableDefinition } from "../../../aws/create-tables.ts";
import { registerTables } from "../../../aws/register-tables.ts";
import type { ShardId, TableDescription } from "../../../core/types.ts";
import { decodeBlock } from "../../../engine/log/stored-block.ts";
import { localIdentity } from "../../harness/local-servers.ts";
import { until } from "../../integration/fragile.ts";
import { deployedTarget, type DeployedTarget } from "../target.ts";
import { KeyHashes } from "../../../schemas/key-hashes.ts";

/** @throws Error on AWS: a table that replay may not write would stop its shard for everybody. */
export function localTarget(): DeployedTarget & { readonly endpoint: string } {
  const target = deployedTarget();
  if (target.endpoint !== undefined) return { ...target, endpoint: target.endpoint };
  throw new Error("suites that make tables of their own run in local clouds only: give --endpoint");
}

export function clientOptionsOf(target: DeployedTarget & { readonly endpoint: string }) {
  const { region, endpoint } = target;
  return { ...localIdentity, region, endpoint: { dynamodb: endpoint, kinesis: endpoint } } as const;
}

export async function makeTable(
  definition: TableDefinition,
  { history }: { readonly history: boolean },
): Promise<TableDescription> {
  const target = localTarget();
  const options = clientOptionsOf(target);
  const { name, partitionKey, sortKey } = definition;
  const description: TableDescription = {
    name,
    partitionKey,
    ...(sortKey === undefined ? {} : { sortKey }),
    history,
    access: "transactional",
  };
  await createTables(options, [definition]);
  await registerTables({ ...options, deployment: target.deployment }, [description]);
  return description;
}

/**
 * Removes tables and their entries, once replay has nothing more to install in them: it would make
 * dead letters of it. Tables that are not there, since a test has deleted or never made them, are
 * passed over.
 */
export async function removeTables(ports: AwsPorts, names: readonly string[]): Promise<void> {
  for (const shard of await ports.control.shards()) {
    await installed(ports, shard);
    // The reaper would look for these tables for ever, and report them each time.
    for (const batch of await ports.control.queuedTombstones(shard)) {
      const gone = batch.tombstones.every(({ table }) => names.includes(table));
      if (gone) await ports.control.dropTombstones(batch);
    }
  }
  const target = localTarget();
  const client = new DynamoDBClient({ ...clientOptionsOf(target), endpoint: target.endpoint });
  try {
    for (const name of names) {
      const Key = { pk: { S: "registry" }, sk: { S: name } };
      await client.send(new DeleteItemCommand({ TableName: ports.names.controlTable, Key }));
      await client.send(new DeleteTableCommand({ TableName: name })).catch((error: unknown) => {
        if (!(error instanceof ResourceNotFoundException)) throw error;
      });
    }
  } finally {
    client.destroy();
  }
}

/** Replay's schedule runs every minute; a cold function takes a while. */
const scheduledReplayMs = 90_000;

/**
 * Waits until the watermark has reached what is the log's end now. No record wakes replay for a
 * block that a client itself has appended: its schedule does.
 */
async function installed(ports: AwsPorts, shard: ShardId): Promise<void> {
  const [newest] = await ports.log.readBackward(shard, { blocksMax: 1 });
  if (newest === undefined) return;
  const { position } = decodeBlock(newest, new KeyHashes(await ports.control.keyHasher(shard)));
  const isReached = async (): Promise<boolean> => {
    const watermark = await ports.control.readWatermark(shard);
    return watermark !== undefined && watermark.position >= position;
  };
  await until(isReached, { patienceMs: scheduledReplayMs });
}
