import type { ShardNumber, TransactionId } from "./types.ts";

/**
 * Under which the chunks of a spilled payload lie: a transaction may spill one in each shard. That
 * of the first shard is the id itself, as before there were several.
 */
export function spillName(id: TransactionId, shard: ShardNumber): string {
  return shard === 0 ? id : `${id}#${shard}`;
}
