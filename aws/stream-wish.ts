/**
 * What a deployment is to have of a stream, and how provisioning brings that about: tables alone, a
 * stream that is used from now on, or one that is closed and drained. What is asked of the log for
 * that is in stream-switch.ts.
 */
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Clock, Random } from "../core/ports.ts";
import type { ShardId } from "../core/types.ts";
import type { AwsClients, KinesisHandle } from "./clients.ts";
import { createDynamoDbCommitLog } from "./dynamodb-commit-log.ts";
import {
  createDynamoDbControlStore,
  isInMap,
  type AwsControlStore,
} from "./dynamodb-control-store.ts";
import { createDynamoDb } from "./dynamodb.ts";
import { addShards, firstEntries, firstShardName, shardNameOfTables } from "./first-shards.ts";
import { growShards } from "./grow-shards.ts";
import { covers, listKinesisShards } from "./kinesis-shards.ts";
import type { DeploymentNames } from "./names.ts";
import type { ProvisioningParts } from "./provisioning-block.ts";
import { closeStream, isStreamClosed, openStream, streamUse } from "./stream-switch.ts";

export type StreamParts = ProvisioningParts & {
  readonly control: AwsControlStore;
  readonly clock: Clock;
  readonly random: Random;
};

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
  /** How many shards the deployment begins with; undefined: what it has, or 1. */
  readonly shards: number | undefined;
};

/**
 * Repeatable: a second run changes nothing.
 * @returns what it has gone by.
 * @throws InvalidRequestError when there is to be none, and the one that is there is in use.
 */
export async function fulfilStreamWish(
  { clients, names, clock, random }: Provisioned,
  { wish, drainMs, shards }: StreamPlan,
): Promise<StreamParts> {
  const { stream, controlTable, logTable } = names;
  const dynamodb = createDynamoDb(clients.dynamodb);
  const log = createDynamoDbCommitLog({ dynamodb, clock, table: logTable });
  const control = createDynamoDbControlStore({ dynamodb, clock, log, table: controlTable });
  const parts = { control, log, clock, random };
  if (wish === false) {
    await addShardsOfTables(parts, shards);
    await growShards({ ...parts, carrier: undefined }, shards ?? 1);
    return parts;
  }
  const listed = (await control.shardEntries()).filter(isInMap);
  const kinesis = await clients.kinesis();
  const first = await firstShardName(kinesis, stream);
  await addShards(parts, firstEntries(shards, { listed, first }));
  if (wish === "closing") await leaveStream(parts, drainMs ?? 0);
  else {
    await useStream(parts, { kinesis, stream });
    await growShards({ ...parts, carrier: { kinesis, stream } }, shards ?? 1);
  }
  return parts;
}

/**
 * Makes a deployment of tables alone usable. A second run changes nothing.
 * @throws InvalidRequestError when it has a stream that is in use: that may hold requests that
 *   nobody has answered, and the only copy of what is committed and not installed.
 */
export async function addShardsOfTables(
  parts: StreamParts,
  count: number | undefined,
): Promise<void> {
  const { control } = parts;
  const listed = (await control.shardEntries()).filter(isInMap);
  const uses = await Promise.all(listed.map(({ shard }) => streamUse(parts, shard)));
  const { streamless } = await control.registry();
  if (listed.length > 0 && (streamless !== true || uses.some((use) => use !== "unused"))) {
    throw new InvalidRequestError(
      "stream",
      "this deployment's stream is in use: keep it, close it first, and take it away when it is " +
        "drained (docs/operations.md, Taking the stream away)",
    );
  }
  const entries = firstEntries(count, { listed, first: shardNameOfTables });
  // What is recorded already is not recorded again: the stream may have been opened since the look.
  if (entries.length === 0) return;
  // Before the shard: who finds one must know how it commits.
  await control.recordStream(false);
  await addShards(parts, entries);
}

/**
 * Has what stands in the stream decided from now on, where that was not so: the stream was made
 * beside tables alone, or was closed. Nothing else changes.
 */
export async function useStream(
  parts: StreamParts,
  of: { readonly kinesis: KinesisHandle; readonly stream: string },
): Promise<void> {
  const { control } = parts;
  const { streamless } = await control.registry();
  for (const entry of (await control.shardEntries()).filter(isInMap)) {
    if (streamless !== true && !(await isStreamClosed(parts, entry.shard))) continue;
    const carriers = await listKinesisShards(of.kinesis, of.stream);
    const carrier = carriers.find(
      (each) => each.lastSequenceNumber === undefined && covers(each, entry),
    );
    if (carrier === undefined) {
      throw new StoreError("unavailable", `stream ${of.stream} shows no shard; try again`);
    }
    await openStream(parts, entry.shard, carrier.firstSequenceNumber);
  }
  if (streamless === true) await control.recordStream(true);
}

/**
 * Ends the use of the stream, and waits until nobody needs it: what was committed by it and is not
 * installed, replay installs meanwhile.
 * @throws InvalidRequestError when that takes longer than `waitMs`: the stream is closed, and this
 *   is to be called again.
 */
export async function leaveStream(parts: StreamParts, waitMs: number): Promise<void> {
  const { control, clock } = parts;
  const shards = new Set<ShardId>();
  /** Whether there was one: a shard may be split off meanwhile. */
  const closesNew = async (): Promise<boolean> => {
    const unclosed = (await control.shards()).filter((shard) => !shards.has(shard));
    for (const shard of unclosed) {
      await closeStream(parts, shard);
      shards.add(shard);
    }
    return unclosed.length > 0;
  };
  await closesNew();
  // Behind the blocks: who reads it finds them in the log.
  await control.recordStream(false);
  const untilMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const uses = await Promise.all([...shards].map((shard) => streamUse(parts, shard)));
    // Where replay has come behind a closing, the map has all that was split off before it.
    if (uses.every((use) => use === "unused")) {
      if (await closesNew()) continue;
      return;
    }
    if (uses.includes("open")) {
      // Another operator has opened it meanwhile, and may have recorded that before.
      await control.recordStream(true);
      throw new InvalidRequestError(
        "stream",
        "the stream was opened again by somebody else while it was being closed; agree on one",
      );
    }
    if (clock.monotonicMs() >= untilMs) break;
    await clock.sleep(limits.streamDrainLookMs);
  }
  throw new InvalidRequestError(
    "stream",
    "the stream is closed, and is not drained yet: replay has still to install what was " +
      "committed by it. Keep it, and try again (docs/operations.md, Taking the stream away)",
  );
}
