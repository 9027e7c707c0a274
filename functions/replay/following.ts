/** The block that follows a place of the log, if one may stand there. */
import { assertContinues, assertCursorMayFollow } from "../../core/block-order.ts";
import { CorruptDataError } from "../../core/errors.ts";
import type { StoredBlock } from "../../core/ports.ts";
import type { LogBlock, Watermark } from "../../core/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";

/**
 * Invariants: I1, I2, I9.
 * @param before the place behind the block before.
 * @throws CorruptDataError for what does not decode, leaves a gap, or does not continue the log.
 */
export function decodeFollowing(
  before: Watermark,
  stored: StoredBlock,
  hashes: KeyHashes,
): LogBlock {
  const block = decodeBlock(stored, hashes);
  if (block.position !== before.position + 1) throw gap(before, block);
  assertContinues(block, before.timestamp);
  assertCursorMayFollow(block, before.cursor);
  return block;
}

/** Where the watermark stands when all up to the block is installed. */
export function placeBehind(block: LogBlock, before: Watermark): Watermark {
  const changes = block.fork !== undefined || changesMap(block);
  const forkedAt = changes ? block.position : before.forkedAt;
  return {
    position: block.position,
    timestamp: block.throughTimestamp,
    cursor: block.cursor ?? before.cursor,
    ...(forkedAt === undefined ? {} : { forkedAt }),
  };
}

/** Whether the map has to know of it, for whoever begins above. */
function changesMap({ handover }: LogBlock): boolean {
  return handover !== undefined && handover.kind !== "closing";
}

function gap(before: Watermark, block: LogBlock): CorruptDataError {
  return new CorruptDataError(
    `I1: the log goes from position ${before.position} to ${block.position}; blocks above the ` +
      "watermark are missing",
  );
}
