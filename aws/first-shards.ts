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
import { hashSecretBytes } from "../core/key-hash.ts";
import type { Clock, Random } from "../core/ports.ts";
import type { LogPosition, ShardId, Timestamp } from "../core/types.ts";
import type { KinesisHandle } from "./clients.ts";
import type { AwsControlStore, ShardEntry } from "./dynamodb-control-store.ts";
import { listKinesisShards } from "./kinesis-shards.ts";

type ShardParts = {
  readonly control: AwsControlStore;
  readonly clock: Clock;
  readonly random: Random;
};

/** Adds those that the control table does not know yet. */
export async function addShards(
  { control, clock, random }: ShardParts,
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
