/**
 * Whose records a Kinesis shard carries: the question of the functions, which are handed batches by
 * Kinesis shard. What a shard of the deployment is, aws/kinesis-shards.ts says.
 */
import { CorruptDataError, StoreError } from "../core/errors.ts";
import type { CallOptions } from "../core/ports.ts";
import type { ShardId } from "../core/types.ts";
import type { ShardEntry } from "./dynamodb-control-store.ts";
import {
  covers,
  listKinesisShards,
  type KinesisShard,
  type KinesisShardId,
  type KinesisShardsParts,
} from "./kinesis-shards.ts";

export type ShardOwners = {
  /**
   * The deployment's shard whose records the Kinesis shard carries; undefined if it carries none's.
   * Asks once per Kinesis shard.
   * @throws StoreError; CorruptDataError if it carries two, which this version cannot tell apart.
   */
  ownerOf(kinesisShard: KinesisShardId, options?: CallOptions): Promise<ShardId | undefined>;
};

export function createShardOwners(parts: KinesisShardsParts): ShardOwners {
  /** A Kinesis shard's range never changes, nor does a shard's hash key. */
  const owners = new Map<KinesisShardId, ShardId>();
  const described = async (
    kinesisShard: KinesisShardId,
    options: CallOptions | undefined,
  ): Promise<KinesisShard> =>
    find(await listKinesisShards(await parts.kinesis(), parts.stream, options), kinesisShard);
  return {
    async ownerOf(kinesisShard, options) {
      const known = owners.get(kinesisShard);
      if (known !== undefined) return known;
      const entries = await parts.shardEntries(options);
      const owner = entries.some(({ shard }) => shard === kinesisShard)
        ? (kinesisShard as ShardId)
        : soleOwner(await described(kinesisShard, options), entries);
      if (owner !== undefined) owners.set(kinesisShard, owner);
      return owner;
    },
  };
}

function find(shards: readonly KinesisShard[], id: KinesisShardId): KinesisShard {
  const found = shards.find((each) => each.id === id);
  if (found !== undefined) return found;
  throw new StoreError("unavailable", `ListShards does not name ${id}, though records came of it`);
}

function soleOwner(carrier: KinesisShard, entries: readonly ShardEntry[]): ShardId | undefined {
  if (entries.length === 0) {
    // Not "nobody's": the records wait until the deployment is provisioned.
    throw new StoreError("unavailable", "the control table lists no shard; is it provisioned?");
  }
  const owners = entries.filter((entry) => covers(carrier, entry));
  if (owners.length <= 1) return owners[0]?.shard;
  const names = owners.map(({ shard }) => shard).join(" and ");
  throw new CorruptDataError(`the Kinesis shard ${carrier.id} carries ${names}: split it again`);
}
