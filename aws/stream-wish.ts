/** What a deployment is to have of a stream, and how provisioning brings that about. */
import type { Clock, Random } from "../core/ports.ts";
import type { ShardId } from "../core/types.ts";
import type { AwsClients } from "./clients.ts";
import { createDynamoDbCommitLog } from "./dynamodb-commit-log.ts";
import { createDynamoDbControlStore, type ShardEntry } from "./dynamodb-control-store.ts";
import { createDynamoDb } from "./dynamodb.ts";
import {
  addShardOfTables,
  addShards,
  firstShards,
  leaveStream,
  type ShardParts,
  useStream,
} from "./first-shards.ts";
import type { DeploymentNames } from "./names.ts";

/** A deployment whose tables, and stream if it has one, exist. */
type Provisioned = {
  readonly clients: AwsClients;
  readonly names: DeploymentNames;
  readonly clock: Clock;
  readonly random: Random;
};

/** A stream; none (tables alone); or one that is to be taken away, which nobody uses any more. */
export type StreamWish = boolean | "closing";

type StreamPlan = {
  /** Default true. */
  readonly wish: StreamWish | undefined;
  /** For how long `"closing"` waits until the stream is drained. Default 0. */
  readonly drainMs: number | undefined;
  /** Which of the stream's open shards get an entry. */
  readonly entriesOf: (
    open: readonly ShardEntry[],
    listed: readonly ShardId[],
  ) => readonly ShardEntry[];
};

/**
 * Repeatable: a second run changes nothing.
 * @returns what it has gone by.
 * @throws InvalidRequestError when there is to be none, and the one that is there is in use.
 */
export async function fulfilStreamWish(
  { clients, names, clock, random }: Provisioned,
  { wish, drainMs, entriesOf }: StreamPlan,
): Promise<ShardParts> {
  const { stream, controlTable, logTable } = names;
  const dynamodb = createDynamoDb(clients.dynamodb);
  const control = createDynamoDbControlStore({ dynamodb, clock, table: controlTable });
  const log = createDynamoDbCommitLog({ dynamodb, clock, table: logTable });
  const parts = { control, log, clock, random };
  if (wish === false) {
    await addShardOfTables(parts);
    return parts;
  }
  const listed = await control.shards();
  const kinesis = await clients.kinesis();
  const open = await firstShards(kinesis, { stream, listed });
  await addShards(parts, entriesOf(open, listed));
  if (wish === "closing") await leaveStream(parts, drainMs ?? 0);
  else await useStream(parts, { kinesis, stream });
  return parts;
}
