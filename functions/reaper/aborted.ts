/**
 * Fences that aborted transactions have left after replay had cleaned up behind them: of calls that
 * came late, or of a process that slept. No such call comes when the watermark has passed the abort
 * for as long as tombstones stand: a fence is signed within `installSignMsMax` (10 s) of when
 * fencing began and at most `ownInstallMsMax` after its request was first sent, and its signature
 * dies within minutes. Safe to repeat, and to be cut anywhere.
 */
import type { AbortedFences } from "../../core/aborted-fences-port.ts";
import { StoreError, type CorruptDataError } from "../../core/errors.ts";
import type { CallOptions, Ports } from "../../core/ports.ts";
import type { ShardId, Timestamp } from "../../core/types.ts";
import { isRefusedForGood } from "../../engine/installing/refused-for-good.ts";
import { removeFencesOf } from "../../engine/installing/remove-fences.ts";

export type AbortedWork = {
  readonly ports: Pick<Ports, "mixed" | "control">;
  readonly shard: ShardId;
  readonly call: CallOptions;
  /** The watermark has passed it long ago. */
  readonly passed: Timestamp;
  readonly isOver: () => boolean;
  readonly onFailed: (table: string, error: StoreError) => void;
  readonly onDamaged: (error: CorruptDataError) => void;
};

export type AbortedProgress = { fencesRemoved: number; fencesWaiting: number };

export async function cleanUpAborted(work: AbortedWork, progress: AbortedProgress): Promise<void> {
  const { ports, shard, call, passed, onDamaged } = work;
  let after: AbortedFences | undefined;
  for (;;) {
    const page = await ports.control.queuedFences(shard, { ...call, after, onDamaged });
    for (const fences of page) {
      if (fences.through > passed) progress.fencesWaiting += 1;
      else if (work.isOver()) return;
      else await cleanUpOne(work, fences, progress);
    }
    after = page.at(-1);
    // All that follows waits, too.
    if (after === undefined || after.through > passed) return;
  }
}

/** What fails stays queued, and keeps nothing behind it from its turn. */
async function cleanUpOne(
  { ports, call, onFailed }: AbortedWork,
  fences: AbortedFences,
  progress: AbortedProgress,
): Promise<void> {
  try {
    progress.fencesRemoved += await removeFencesOf(ports.mixed, fences, call);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // Of a table that is gone, so are its fences.
    if (!isRefusedForGood(error)) {
      onFailed(fences.table, error);
      return;
    }
  }
  await ports.control.dropFences(fences, call);
}
