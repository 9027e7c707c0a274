/**
 * Splits shards until there are so many: the widest one first, each in its middle. So 1 becomes 2
 * and 4 of equal size. Repeatable; what was cut short is gone on with.
 */
import { splitShard, type SplitParts } from "./split-shard.ts";

/** @throws as `splitShard`. */
export async function growShards(parts: SplitParts, wanted: number): Promise<void> {
  for (;;) {
    const map = await parts.control.shardMap();
    if (map === undefined || map.entries.length >= wanted) return;
    const widths = map.entries.map(({ number }) => {
      const { from, to } = map.rangeOf(number);
      return { number, width: to - from };
    });
    const widest = widths.reduce((most, each) => (each.width > most.width ? each : most));
    await splitShard(parts, { shard: widest.number });
  }
}
