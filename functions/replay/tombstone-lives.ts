/** How long the tombstones that replay queues will stand, which decides in which queue. */
import { tombstoneLifeMs } from "../../core/history.ts";
import * as limits from "../../core/limits.ts";
import type { Tombstone, TombstoneLife } from "../../core/ports.ts";
import type { TableRegistry } from "../../engine/table-registry.ts";

/**
 * As it seems now. A change of the registry may make any of them stand longer: the reaper looks at
 * each again.
 */
export function byLife(
  tombstones: readonly Tombstone[],
  registry: Pick<TableRegistry, "find" | "retention">,
  nowMs: number,
): ReadonlyMap<TombstoneLife, readonly Tombstone[]> {
  const lives = new Map<TombstoneLife, Tombstone[]>();
  for (const tombstone of tombstones) {
    const lifeMs = tombstoneLifeMs(registry.find(tombstone.table), registry.retention, nowMs);
    const life = lifeMs > limits.tombstoneGraceMs ? "history" : "grace";
    const those = lives.get(life);
    if (those === undefined) lives.set(life, [tombstone]);
    else those.push(tombstone);
  }
  return lives;
}
