/**
 * Creates what a deployment needs, idempotently: the stream, the three system tables, each shard's
 * entry and first watermark. On AWS Terraform makes the stream and the tables, and
 * aws/fill-control-table.ts does the rest; local stacks and tests use this for all of it.
 */
import type { Clock, Random } from "../core/ports.ts";
import type { ShardId } from "../core/types.ts";
import { withAwsClients, type AwsClientOptions } from "./clients.ts";
import { createStream } from "./create-stream.ts";
import { createTable, enableExpiry, type TableDefinition } from "./create-tables.ts";
import { deploymentNames, type DeploymentNames } from "./names.ts";
import { fulfilStreamWish, type StreamWish } from "./stream-wish.ts";
import { systemClock, systemRandom } from "./system.ts";

export type ProvisionOptions = AwsClientOptions & {
  readonly deployment: string;
  /** Default true. */
  readonly stream?: StreamWish | undefined;
  /** For how long `"closing"` waits until the stream is drained. */
  readonly drainMs?: number | undefined;
  /** Default 1. Only used when the stream is created; an existing stream keeps its shards. */
  readonly shardCount?: number | undefined;
  /**
   * How many shards the deployment itself has, 1 to 64, whatever its stream has: each a log with an
   * oracle of its own (docs/adr/0015-many-shards.md). Set when it is made; default: as many as it
   * has, and 1 of a new one.
   */
  readonly shards?: number | undefined;
  /** How long history is kept; what holds already unless said. */
  readonly historyRetentionMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** For the secret of each new shard. */
  readonly random?: Random | undefined;
};

/**
 * Makes the deployment usable and returns its shards. A second run changes nothing.
 * @throws InvalidRequestError when a table of that name has another key, or when the deployment is
 *   to be one of tables alone, and its stream is in use.
 * @throws StoreError when something does not become active in time, or a call fails.
 */
export async function provisionDeployment(options: ProvisionOptions): Promise<readonly ShardId[]> {
  const names = deploymentNames(options.deployment);
  const { clock = systemClock, random = systemRandom, shardCount = 1 } = options;
  return withAwsClients(options, async (clients) => {
    const dynamodb = await clients.dynamodb();
    const kinesis = options.stream === false ? undefined : await clients.kinesis();
    const makeTable = async (table: TableDefinition): Promise<void> => {
      await createTable({ dynamodb, clock }, table);
      await enableExpiry(dynamodb, { name: table.name, attribute: "expiresAt" });
    };
    await Promise.all([
      kinesis && createStream({ kinesis, clock, name: names.stream, shardCount }),
      ...systemTables(names).map(makeTable),
    ]);
    const { control } = await fulfilStreamWish(
      { clients, names, clock, random },
      {
        wish: options.stream,
        drainMs: options.drainMs,
        shards: options.shards,
      },
    );
    const { historyRetentionMs } = options;
    if (historyRetentionMs !== undefined) await control.retainHistory(historyRetentionMs);
    return await control.shards();
  });
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
