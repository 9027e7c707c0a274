import type { MetricName } from "./metric-names.ts";

/**
 * The metrics that are written for each shard as well as for all of them: what tells a busy shard,
 * or one that stands, from the others. CloudWatch charges for each of them and each shard.
 */
export const shardMetrics: ReadonlySet<MetricName> = new Set([
  "Blocks",
  "BlockBytes",
  "Committed",
  "AbortedConflict",
  "Prepared",
  "PartsCommitted",
  "Busy",
  "PartsSettled",
  "LogBlocks",
  "WatermarkLag",
  "OldestOpen",
  "EntriesPerSecond",
  "WriteUnitsPerSecond",
]);
