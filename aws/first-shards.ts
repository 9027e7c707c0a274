/**
 * The shards of a deployment, as its control table gets them: each one's entry, the secret that
 * their hashes are made under, and its first watermark. That watermark stands at position 0 with
 * the time of creation as timestamp: versions that an earlier deployment left in user tables lie in
 * the past of everything that this one commits (docs/protocol.md §3).
 *
 * It is written once and never again, by a condition: set back under a running deployment it would
 * let replay and clients start over from a log whose beginning may be gone (I7, docs/protocol.md
 * §3).
 */
import { InvalidRequestError } from "../core/errors.ts";
import { hashSecretBytes } from "../core/key-hash.ts";
import * as limits from "../core/limits.ts";
import type { Clock, Random } from "../core/ports.ts";
import { equalRanges, shardIdOf } from "../core/shard-map.ts";
import type { LogPosition, ShardId, ShardNumber, Timestamp } from "../core/types.ts";
import type { KinesisHandle } from "./clients.ts";
import type { AwsControlStore, ShardEntry } from "./dynamodb-control-store.ts";
import { listKinesisShards } from "./kinesis-shards.ts";

type ShardParts = {
  readonly control: AwsControlStore;
  readonly clock: Clock;
  readonly random: Random;
};

/** Under which the control table has the secret of several shards' hashes. */
const hashSecretName = "hashes";
const hashKeys = 2n ** 128n;

/**
 * Adds those that the control table does not know yet. The first one is written last: who finds it
 * finds them all, and a run that was cut short is completed by the next.
 */
export async function addShards(
  { control, clock, random }: ShardParts,
  entries: readonly ShardEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  const timestamp = (clock.nowMs() * 1000) as Timestamp;
  const watermark = { position: 0 as LogPosition, timestamp, cursor: undefined };
  const make = (): Uint8Array => random.bytes(hashSecretBytes);
  const hashSecret = entries.length === 1 ? make() : await control.secret(hashSecretName, make);
  for (const entry of entries.toReversed()) {
    await control.addShard({ ...entry, hashSecret }, watermark);
  }
}

/**
 * The shards that the deployment begins with: equal ranges, spread over the stream. None once they
 * are all listed: from then on they are split.
 * @param first what the first one is called: as the Kinesis shard that carries it.
 * @param wanted undefined: as many as there are; of a new deployment one.
 * @throws InvalidRequestError for a count that cannot be, or a smaller one than the deployment was
 *   made with, or another one than a run before was given that was cut short.
 */
export function firstEntries(
  wanted: number | undefined,
  { listed, first }: { readonly listed: readonly ShardEntry[]; readonly first: ShardId },
): readonly ShardEntry[] {
  const count = wanted ?? 1;
  if (!Number.isInteger(count) || count < 1 || count > limits.shardsMax) {
    throw new InvalidRequestError(
      "shards",
      `a deployment has 1 to ${limits.shardsMax} shards (shardsMax); got ${count}`,
    );
  }
  const isMade = listed.some(({ from }) => from === 0);
  const live = listed.filter(({ ended }) => ended === undefined);
  // Of those that it was made with, and that were not joined since.
  const madeWith = live.filter(({ forked }) => forked === undefined).length;
  // More come by splits, from here (grow-shards.ts) or from an operator's hand.
  if (isMade && (wanted === undefined || wanted >= madeWith)) return [];
  if (isMade) {
    throw new InvalidRequestError(
      "shards",
      `the deployment was made with ${madeWith} shards; got ${count}: give ${madeWith} or more, ` +
        "or join some first, one by one (`npx tidemark shards join N`)",
    );
  }
  const entries = equalRanges(count).map((from, index) => ({
    shard: index === 0 ? first : shardIdOf(index as ShardNumber),
    number: index as ShardNumber,
    from,
    startingHashKey: ((hashKeys * BigInt(index)) / BigInt(count)).toString(),
  }));
  const isOther = listed.some(
    (each) => !entries.some(({ shard, from }) => shard === each.shard && from === each.from),
  );
  if (!isOther) return entries;
  throw new InvalidRequestError(
    "shards",
    "a run before this one has begun to make another number of shards, and was cut short: give " +
      "that number, or take the deployment's tables away",
  );
}

/** What the first shard is called: as the open Kinesis shard that carries it. */
export async function firstShardName(kinesis: KinesisHandle, stream: string): Promise<ShardId> {
  const shards = await listKinesisShards(kinesis, stream);
  const first = shards.find(
    ({ lastSequenceNumber, startingHashKey }) =>
      lastSequenceNumber === undefined && BigInt(startingHashKey) === 0n,
  );
  return (first?.id ?? shardNameOfTables) as ShardId;
}

/**
 * Of a deployment without a stream: what a stream's first one is called, so that a stream that is
 * made later carries it on.
 */
export const shardNameOfTables = "shardId-000000000000" as ShardId;
