/**
 * Whose records a Kinesis shard carries: the question of the functions, which are handed batches by
 * Kinesis shard. The other way round: aws/kinesis-shards.ts.
 */
import { StoreError } from "../core/errors.ts";
import type { CallOptions } from "../core/ports.ts";
import type { ShardId } from "../core/types.ts";
import { isInMap, type ShardEntry } from "./dynamodb-control-store.ts";
import {
  covers,
  listKinesisShards,
  type KinesisShard,
  type KinesisShardId,
  type KinesisShardsParts,
} from "./kinesis-shards.ts";

export type ShardOwners = {
  /**
   * The deployment's shards whose records the Kinesis shard carries, by rising number; none if it
   * carries nobody's. Asks once per Kinesis shard.
   * @param options.again to ask once more: one may have been split off since.
   * @throws StoreError.
   */
  ownersOf(
    kinesisShard: KinesisShardId,
    options?: CallOptions & { readonly again?: boolean },
  ): Promise<readonly ShardId[]>;
};

export function createShardOwners(parts: KinesisShardsParts): ShardOwners {
  /** A Kinesis shard's range never changes, nor does a shard's hash key; shards are split off. */
  const owners = new Map<KinesisShardId, readonly ShardId[]>();
  const described = async (
    kinesisShard: KinesisShardId,
    options: CallOptions | undefined,
  ): Promise<KinesisShard> =>
    find(await listKinesisShards(await parts.kinesis(), parts.stream, options), kinesisShard);
  return {
    async ownersOf(kinesisShard, options) {
      const known = owners.get(kinesisShard);
      if (known !== undefined && options?.again !== true) return known;
      // One that is about to be split off has no records yet.
      const entries = (await parts.shardEntries(options)).filter(isInMap);
      const [lone, ...others] = entries;
      const isLone = others.length === 0 && lone?.shard === kinesisShard;
      const found = isLone
        ? [lone.shard]
        : ownersAmong(await described(kinesisShard, options), entries);
      if (found.length > 0) owners.set(kinesisShard, found);
      return found;
    },
  };
}

function find(shards: readonly KinesisShard[], id: KinesisShardId): KinesisShard {
  const found = shards.find((each) => each.id === id);
  if (found !== undefined) return found;
  throw new StoreError("unavailable", `ListShards does not name ${id}, though records came of it`);
}

function ownersAmong(carrier: KinesisShard, entries: readonly ShardEntry[]): readonly ShardId[] {
  if (entries.length === 0) {
    // Not "nobody's": the records wait until the deployment is provisioned.
    throw new StoreError("unavailable", "the control table lists no shard; is it provisioned?");
  }
  const owners = entries.filter((entry) => covers(carrier, entry));
  return owners.toSorted((a, b) => a.number - b.number).map(({ shard }) => shard);
}
