/**
 * Replay as a benchmark drives it, to its end and only when told to: woken by its records for what
 * has come by the stream, and by turns of its schedule for what no record tells of.
 */
import { systemClock } from "../aws/system.ts";
import type { ShardId } from "../core/types.ts";
import type { ReplayResult, ReplayService } from "../functions/replay/service.ts";
import type { ShardBatch } from "../functions/shared/kinesis-event.ts";
import { timeLimitMs } from "../functions/shared/settings.ts";

export type DrivenReplay = {
  /**
   * Resolves when the watermark has passed `timestamp`. Records bring it up to `ofStream`, the
   * newest commit that has come by the stream, or as far as they tell: what a vote in a block has
   * decided is for a turn of the schedule.
   */
  run(until: { readonly ofStream: number; readonly timestamp: number }): Promise<void>;
};

type Invoke = (batch: ShardBatch) => Promise<ReplayResult>;

const giveUpAfterMs = 30_000;
/** No record comes any more when none has come for so long. */
const quietAfterMs = 1_000;

export function drivenReplay(
  service: ReplayService,
  options: {
    readonly shard: ShardId;
    /** Delivers records from now on, from where the mapping before it has stopped. */
    readonly startMapping: (invoke: Invoke) => Promise<{ stop(): Promise<void> }>;
    /** A batch, or a turn of the schedule. */
    readonly onInvoked: () => void;
  },
): DrivenReplay {
  const { shard, startMapping, onInvoked } = options;
  let replayedThrough = 0;
  let busy = false;
  let endedMs = 0;
  const invoke: Invoke = async (batch) => {
    onInvoked();
    busy = true;
    try {
      const result = await service.handle(batch, { remainingMs: () => timeLimitMs("replay") });
      replayedThrough = result.watermark.timestamp;
      return result;
    } finally {
      busy = false;
      endedMs = performance.now();
    }
  };
  return {
    async run({ ofStream, timestamp }) {
      if (replayedThrough < ofStream) {
        const mapping = await startMapping(invoke);
        endedMs = performance.now();
        const giveUpMs = endedMs + giveUpAfterMs;
        const quiet = (): boolean => !busy && performance.now() > endedMs + quietAfterMs;
        while (replayedThrough < ofStream && !quiet()) {
          if (performance.now() > giveUpMs) throw new Error("replay does not come to an end");
          await systemClock.sleep(2);
        }
        await mapping.stop();
      }
      if (replayedThrough < timestamp) await invoke({ shard, records: [] });
      if (replayedThrough < timestamp) throw new Error("a turn of replay leaves commits behind");
    },
  };
}
