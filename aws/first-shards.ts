/**
 * The shards of a deployment, as its control table gets them: each one's entry, a secret of its
 * own, and its first watermark. That watermark stands at position 0 with the time of creation as
 * timestamp: versions that an earlier deployment left in user tables lie in the past of everything
 * that this one commits (docs/protocol.md §3).
 *
 * It is written once and never again, by a condition: set back under a running deployment it would
 * let replay and clients start over from a log whose beginning may be gone (I7, docs/protocol.md
 * §3).
 */
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import { hashSecretBytes } from "../core/key-hash.ts";
import * as limits from "../core/limits.ts";
import type { Clock, Random } from "../core/ports.ts";
import type { LogPosition, ShardId, Timestamp } from "../core/types.ts";
import type { KinesisHandle } from "./clients.ts";
import type { AwsControlStore, ShardEntry } from "./dynamodb-control-store.ts";
import { covers, listKinesisShards } from "./kinesis-shards.ts";
import {
  closeStream,
  isStreamClosed,
  openStream,
  streamUse,
  type StreamSwitchParts,
} from "./stream-switch.ts";

export type ShardParts = StreamSwitchParts & {
  readonly control: AwsControlStore;
  readonly clock: Clock;
  readonly random: Random;
};

/**
 * The one shard of a deployment without a stream. It is called what a stream's first one is called,
 * and lies where that begins: a stream that is made later carries it on.
 */
const shardOfTables: ShardEntry = {
  shard: "shardId-000000000000" as ShardId,
  startingHashKey: "0",
};

/**
 * Makes a deployment of tables alone usable. A second run changes nothing.
 * @throws InvalidRequestError when it has a stream that is in use: that may hold requests that
 *   nobody has answered, and the only copy of what is committed and not installed.
 */
export async function addShardOfTables(parts: ShardParts): Promise<void> {
  const { control } = parts;
  const listed = await control.shards();
  const uses = await Promise.all(listed.map((shard) => streamUse(parts, shard)));
  const { streamless } = await control.registry();
  if (listed.length > 0 && (streamless !== true || uses.some((use) => use !== "unused"))) {
    throw new InvalidRequestError(
      "stream",
      "this deployment's stream is in use: keep it, close it first, and take it away when it is " +
        "drained (docs/operations.md, Taking the stream away)",
    );
  }
  // What is recorded already is not recorded again: the stream may have been opened since the look.
  if (listed.length > 0) return;
  // Before the shard: who finds one must know how it commits.
  await control.recordStream(false);
  await addShards(parts, [shardOfTables]);
}

/**
 * Has what stands in the stream decided from now on, where that was not so: the stream was made
 * beside tables alone, or was closed. Nothing else changes.
 */
export async function useStream(
  parts: ShardParts,
  of: { readonly kinesis: KinesisHandle; readonly stream: string },
): Promise<void> {
  const { control } = parts;
  const { streamless } = await control.registry();
  for (const entry of await control.shardEntries()) {
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
export async function leaveStream(parts: ShardParts, waitMs: number): Promise<void> {
  const { control, clock } = parts;
  const shards = await control.shards();
  for (const shard of shards) await closeStream(parts, shard);
  // Behind the blocks: who reads it finds them in the log.
  await control.recordStream(false);
  const untilMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const uses = await Promise.all(shards.map((shard) => streamUse(parts, shard)));
    if (uses.every((use) => use === "unused")) return;
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

/** Adds those that the control table does not know yet. */
export async function addShards(
  { control, clock, random }: Pick<ShardParts, "control" | "clock" | "random">,
  entries: readonly ShardEntry[],
): Promise<void> {
  const timestamp = (clock.nowMs() * 1000) as Timestamp;
  const watermark = { position: 0 as LogPosition, timestamp, cursor: undefined };
  for (const entry of entries) {
    await control.addShard({ ...entry, hashSecret: random.bytes(hashSecretBytes) }, watermark);
  }
}

/**
 * The shards that the deployment begins with: the stream's open ones. Once some are listed, only
 * those that the stream was made with: what a reshard makes carries on a shard that is listed
 * already.
 */
export async function firstShards(
  kinesis: KinesisHandle,
  { stream, listed }: { readonly stream: string; readonly listed: readonly ShardId[] },
): Promise<readonly ShardEntry[]> {
  const shards = await listKinesisShards(kinesis, stream);
  return shards
    .filter(({ lastSequenceNumber }) => lastSequenceNumber === undefined)
    .filter(({ hasParent }) => !hasParent || listed.length === 0)
    .map(({ id, startingHashKey }) => ({ shard: id as ShardId, startingHashKey }));
}
