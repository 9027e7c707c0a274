/**
 * Closes a deployment's stream, and opens one: by a block of the log each, so that whoever folds
 * the log learns of it at the same place (docs/protocol.md §3, Closing the stream). Both may be
 * repeated, at any time, by several at once, while clients and oracles append beside them.
 *
 * Invariants: I1 (a conditional put at the next position), I3 (no copy that was checked before an
 * opening is decided behind it).
 */
import { isStreamEnd, streamEnd } from "../core/cursor.ts";
import { toSequenceNumber } from "../core/sequence-number.ts";
import type { ShardId, StreamCursor, Watermark } from "../core/types.ts";
import {
  appendUnless,
  blockBehind,
  decidingBlockBehind,
  endBehind,
  endOf,
  watermarkOf,
  type ProvisioningParts,
} from "./provisioning-block.ts";

/** What stands between the stream and its removal. */
export type StreamUse =
  /** Oracles decide what it holds. */
  | "open"
  /** Nobody decides anything of it any more; replay still needs what it holds. */
  | "draining"
  /** Nobody needs it; or there has been none. */
  | "unused";

/** From then on nobody decides anything that the shard's stream holds, or ever will. */
export async function closeStream(parts: ProvisioningParts, shard: ShardId): Promise<void> {
  await appendUnless(parts, shard, {
    isDone: ({ cursor }) => isStreamEnd(cursor),
    follow: (end) => ({ ...blockBehind(end), cursor: streamEnd }),
  });
}

/**
 * From then on oracles decide what the shard's stream holds, from a place on.
 * @param from where its carrier begins.
 */
export async function openStream(
  parts: ProvisioningParts,
  shard: ShardId,
  from: string,
): Promise<void> {
  const cursor = cursorBefore(from);
  await appendUnless(parts, shard, {
    isDone: (end) => end.cursor !== undefined && !isStreamEnd(end.cursor),
    follow: (end) => ({ ...decidingBlockBehind(end, parts.random), cursor }),
  });
}

/** Whether the shard's stream is closed, and needed or not. */
export async function isStreamClosed(parts: ProvisioningParts, shard: ShardId): Promise<boolean> {
  return isStreamEnd((await endOf(parts, shard, await watermarkOf(parts, shard))).cursor);
}

/** How far the shard is from doing without its stream. */
export async function streamUse(parts: ProvisioningParts, shard: ShardId): Promise<StreamUse> {
  const watermark = await watermarkOf(parts, shard);
  const { cursor } = await endOf(parts, shard, watermark);
  if (cursor === undefined) return "unused";
  if (!isStreamEnd(cursor)) return "open";
  // mutant: taken-away-undrained
  return (await isBehindClosing(parts, shard, watermark)) ? "unused" : "draining";
}

/**
 * Whether the watermark stands behind the closing at which the log is: one closing has the same
 * cursor as another, and the stream may have been opened in between.
 *
 *   log        42: closed   50: watermark   60: opened   61: payload in the stream   70: closed
 */
async function isBehindClosing(
  { log }: ProvisioningParts,
  shard: ShardId,
  watermark: Watermark,
): Promise<boolean> {
  let { cursor, position } = watermark;
  for (;;) {
    if (!isStreamEnd(cursor)) return false;
    const page = await log.readAfter(shard, position);
    for (const block of page.blocks) {
      ({ position, cursor } = endBehind(block, watermark));
      // mutant: drained-at-an-earlier-closing
      if (!isStreamEnd(cursor)) {
        // probe: watermark-behind-an-earlier-closing
        return false;
      }
    }
    if (page.complete) return true;
  }
}

/** Right before a sequence number. Real ones are large. */
function cursorBefore(sequenceNumber: string): StreamCursor {
  const value = BigInt(sequenceNumber);
  const below = value > 0n ? value - 1n : value;
  return { sequenceNumber: toSequenceNumber(below.toString()), requestsDone: "all" };
}
