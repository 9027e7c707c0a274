/**
 * Finding things in the log that lie below what the tail holds: dense positions and rising
 * timestamps make it a binary search.
 */
import { CorruptDataError, FrameError, SnapshotTooOldError } from "../core/errors.ts";
import type { CallOptions, ClientPorts, StoredBlock } from "../core/ports.ts";
import type { LogBlock, LogPosition, ShardId, Timestamp } from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import { decodeLogBlock } from "../schemas/log-block.ts";

type LogRange = {
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
  log: ClientPorts["log"],
  shard: ShardId,
  range: LogRange,
): AsyncGenerator<LogBlock> {
  let after = await positionAtOrBelow(log, shard, range);
  while (after < range.through) {
    const page = await log.readAfter(shard, after, range.call);
    for (const stored of page.blocks) {
      const block = decodeBlock(stored, range.hashes);
      if (block.position !== after + 1) throw expired(range.above);
      after = block.position;
      yield block;
      if (after >= range.through) return;
    }
    if (page.blocks.length === 0) throw expired(range.above);
  }
}

/**
 * The newest position whose block ends at or below the timestamp. Position 0 stands before the
 * log's first block.
 */
async function positionAtOrBelow(
  log: ClientPorts["log"],
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

export function decodeBlock(stored: StoredBlock, hashes: KeyHashes): LogBlock {
  try {
    return decodeLogBlock(stored.bytes, stored.position, hashes);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new CorruptDataError(
      `block ${stored.position} of the log does not decode: ${error.message}`,
      { cause: error },
    );
  }
}
