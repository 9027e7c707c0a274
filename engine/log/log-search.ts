/**
 * Finding things in the log that lie below what the tail holds: dense positions and rising
 * timestamps make it a binary search.
 */
import { SnapshotTooOldError } from "../../core/errors.ts";
import type { CallOptions, CommitLog } from "../../core/ports.ts";
import type { LogBlock, LogPosition, ShardId, Timestamp } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeBlock } from "./stored-block.ts";

type SearchedLog = Pick<CommitLog, "readAfter" | "readAt">;

export type LogRange = {
  readonly above: Timestamp;
  readonly through: LogPosition;
  readonly hashes: KeyHashes;
  readonly call: CallOptions;
};

/**
 * Blocks with timestamps in `(above, …]` up to and including `through`, oldest first.
 * @throws SnapshotTooOldError when the log no longer reaches back that far.
 */
export async function* blocksAbove(
  log: SearchedLog,
  shard: ShardId,
  range: LogRange,
): AsyncGenerator<LogBlock> {
  let after = await positionAtOrBelow(log, shard, range);
  while (after < range.through) {
    for (const block of await blocksAfter(log, shard, { ...range, after })) {
      after = block.position;
      yield block;
    }
  }
}

/**
 * The page of blocks that follow the position, up to and including `through`, which lies behind it.
 * @throws SnapshotTooOldError when they have expired.
 */
export async function blocksAfter(
  log: SearchedLog,
  shard: ShardId,
  range: LogRange & { readonly after: LogPosition },
): Promise<readonly LogBlock[]> {
  const { through, hashes } = range;
  const page = await log.readAfter(shard, range.after, range.call);
  const blocks = page.blocks
    .filter(({ position }) => position <= through)
    .map((stored) => decodeBlock(stored, hashes));
  const isDense = blocks.every(({ position }, i) => position === range.after + 1 + i);
  if (blocks.length === 0 || !isDense) throw expired(range.above);
  return blocks;
}

/**
 * The newest position whose block ends at or below the timestamp. Position 0 stands before the
 * log's first block.
 * @throws SnapshotTooOldError when the log no longer reaches back that far.
 */
export async function positionAtOrBelow(
  log: SearchedLog,
  shard: ShardId,
  range: LogRange,
): Promise<LogPosition> {
  let low = 0;
  let high: number = range.through;
  // Invariant: the answer lies in [low, high]. A block that has expired ends below anything still
  // of interest.
  while (low < high) {
    const middle = Math.ceil((low + high) / 2) as LogPosition;
    const stored = await log.readAt(shard, middle, range.call);
    if (stored === undefined || decodeBlock(stored, range.hashes).throughTimestamp <= range.above)
      low = middle;
    else high = middle - 1;
  }
  // The search takes an expired block for one that lies below. Whether that is so, only a block
  // that is there can say.
  const first = (low + 1) as LogPosition;
  if (first <= range.through) {
    const stored = await log.readAt(shard, first, range.call);
    if (stored === undefined || decodeBlock(stored, range.hashes).previousTimestamp > range.above) {
      throw expired(range.above);
    }
  } else if (low > 0) {
    const stored = await log.readAt(shard, range.through, range.call);
    if (stored === undefined) throw expired(range.above);
  }
  return low as LogPosition;
}

function expired(above: Timestamp): SnapshotTooOldError {
  return new SnapshotTooOldError(
    `the log no longer reaches back to ${above}; its retention has passed`,
  );
}
