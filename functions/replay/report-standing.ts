/** How a shard stands when a run of replay ends, as metrics of it. */
import type { Clock } from "../../core/ports.ts";
import type { ShardId, Timestamp } from "../../core/types.ts";
import type { Metrics } from "../shared/observability.ts";
import type { LogProgress } from "./progress.ts";

export function reportStanding(
  { clock, metrics }: { readonly clock: Pick<Clock, "nowMs">; readonly metrics: Metrics },
  standing: {
    readonly shard: ShardId;
    readonly progress: LogProgress;
    /** Whether the stream has brought something; an idle one's watermark is old and fine. */
    readonly wasWoken: boolean;
  },
): void {
  const { shard, progress, wasWoken } = standing;
  const ageMs = (timestamp: Timestamp): number => Math.max(0, clock.nowMs() - timestamp / 1_000);
  if (wasWoken) {
    metrics.milliseconds("WatermarkLag", ageMs(progress.watermark.timestamp), shard);
  }
  const { oldest } = progress.open;
  if (oldest === undefined) return;
  metrics.milliseconds("OldestOpen", ageMs(oldest.prepared.timestamp), shard);
}
