/**
 * Closes a deployment's stream, and opens one: by a block of the log each, so that whoever folds
 * the log learns of it at the same place (docs/protocol.md §3, Closing the stream). Both may be
 * repeated, at any time, by several at once, while clients and oracles append beside them.
 *
 * Invariants: I1 (a conditional put at the next position), I3 (no copy that was checked before an
 * opening is decided behind it).
 */
import { provisioningNumber } from "../core/block-order.ts";
import { isStreamEnd, streamEnd } from "../core/cursor.ts";
import { StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Clock, CommitLog, Random, StoredBlock } from "../core/ports.ts";
import { toSequenceNumber } from "../core/sequence-number.ts";
import type { LogBlock, LogPosition, ShardId, StreamCursor, Watermark } from "../core/types.ts";
import { KeyHashes } from "../schemas/key-hashes.ts";
import { encodeLogBlock } from "../schemas/log-block-encoding.ts";
import { decodeLogBlock, decodeLogBlockHeader } from "../schemas/log-block.ts";
import { makeTransactionId, transactionIdRandomBytes } from "../schemas/transaction-id.ts";
import type { AwsControlStore } from "./dynamodb-control-store.ts";

export type StreamSwitchParts = {
  readonly log: Pick<CommitLog, "append" | "readAfter" | "readBackward">;
  readonly control: Pick<AwsControlStore, "readWatermark" | "keyHasher">;
  readonly clock: Pick<Clock, "nowMs" | "sleep">;
  readonly random: Pick<Random, "bytes">;
};

/** What stands between the stream and its removal. */
export type StreamUse =
  /** Oracles decide what it holds. */
  | "open"
  /** Nobody decides anything of it any more; replay still needs what it holds. */
  | "draining"
  /** Nobody needs it; or there has been none. */
  | "unused";

type LogEnd = Pick<Watermark, "position" | "timestamp" | "cursor"> & {
  /** Undefined where all blocks have expired: below the watermark nothing is open. */
  readonly newest?: StoredBlock;
};

/** From then on nobody decides anything that the shard's stream holds, or ever will. */
export async function closeStream(parts: StreamSwitchParts, shard: ShardId): Promise<void> {
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
  parts: StreamSwitchParts,
  shard: ShardId,
  from: string,
): Promise<void> {
  const cursor = cursorBefore(from);
  await appendUnless(parts, shard, {
    isDone: (end) => end.cursor !== undefined && !isStreamEnd(end.cursor),
    follow: (end) => {
      // It decides something, so that it lies above every check that was made before. No clock is
      // asked: whoever opens it may have any time set, and all that follows would be dated ahead.
      const through = (end.timestamp + 1) as LogBlock["throughTimestamp"];
      const id = makeTransactionId(end.timestamp, parts.random.bytes(transactionIdRandomBytes));
      return {
        ...{ ...blockBehind(end), cursor, throughTimestamp: through },
        arrivalMs: Math.floor(through / 1_000),
        verdicts: [{ kind: "aborted", id, timestamp: through, reason: { kind: "probed" } }],
      };
    },
  });
}

/** Whether the shard's stream is closed, and needed or not. */
export async function isStreamClosed(parts: StreamSwitchParts, shard: ShardId): Promise<boolean> {
  return isStreamEnd((await endOf(parts, shard, await watermarkOf(parts, shard))).cursor);
}

/** How far the shard is from doing without its stream. */
export async function streamUse(parts: StreamSwitchParts, shard: ShardId): Promise<StreamUse> {
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
  { log }: StreamSwitchParts,
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

type Step = {
  readonly isDone: (end: LogEnd) => boolean;
  readonly follow: (end: LogEnd) => LogBlock;
};

/** @throws StoreError when others append at every try. */
async function appendUnless(
  parts: StreamSwitchParts,
  shard: ShardId,
  { isDone, follow }: Step,
): Promise<void> {
  const hashes = new KeyHashes(await parts.control.keyHasher(shard));
  const watermark = await watermarkOf(parts, shard);
  let lookedMs = parts.clock.nowMs();
  let end = await endOf(parts, shard, watermark);
  for (let tries = 0; tries < limits.streamSwitchTriesMax; tries += 1) {
    if (isDone(end)) {
      // probe: stream-switched-already
      return;
    }
    const oldestOpen = oldestOpenBehind(end, hashes);
    const block = { ...follow(end), ...(oldestOpen === undefined ? {} : { oldestOpen }) };
    const bytes = encodeLogBlock(block, hashes);
    // Whoever slept since it looked might find the position free that an expired block has left.
    const signBeforeMs = lookedMs + limits.expressTailAgeMsMax;
    const stored = { position: block.position, bytes };
    // Neither a clock that is slow nor a log that has long been idle lets it expire early.
    const dateMs = Math.max(block.throughTimestamp / 1_000, lookedMs);
    const result = await parts.log.append(shard, stored, { signBeforeMs, dateMs });
    if (result === "appended") return;
    // probe: switch-position-taken
    lookedMs = parts.clock.nowMs();
    // Its own, too, if an answer was lost.
    end =
      result.taken === undefined
        ? await endOf(parts, shard, watermark)
        : endBehind(result.taken, watermark);
  }
  throw new StoreError("unavailable", `shard ${shard}: others append at every try; try again`);
}

/** Where the log ends: at its newest block, or at the watermark where all have expired. */
async function endOf(
  { log }: StreamSwitchParts,
  shard: ShardId,
  watermark: Watermark,
): Promise<LogEnd> {
  const [newest] = await log.readBackward(shard, { blocksMax: 1 });
  if (newest === undefined || newest.position < watermark.position) return watermark;
  return endBehind(newest, watermark);
}

function endBehind({ position, bytes }: StoredBlock, watermark: Watermark): LogEnd {
  const { throughTimestamp, cursor } = decodeLogBlockHeader(bytes, position);
  const newest = { position, bytes };
  return { position, timestamp: throughTimestamp, cursor: cursor ?? watermark.cursor, newest };
}

/**
 * A block at or before the oldest one with a transaction that is open behind the end (I4). What the
 * newest block names may be decided by now: an older name is no fault, and none would stop whoever
 * reads the log.
 */
function oldestOpenBehind({ newest }: LogEnd, hashes: KeyHashes): LogPosition | undefined {
  if (newest === undefined) return undefined;
  const { oldestOpen, verdicts } = decodeLogBlock(newest.bytes, newest.position, hashes);
  const opens = verdicts.some(({ kind }) => kind === "prepared");
  return oldestOpen ?? (opens ? newest.position : undefined);
}

async function watermarkOf({ control }: StreamSwitchParts, shard: ShardId): Promise<Watermark> {
  const watermark = await control.readWatermark(shard);
  if (watermark !== undefined) return watermark;
  throw new StoreError("unavailable", `shard ${shard} has no watermark: it is not bootstrapped`);
}

function blockBehind(end: LogEnd): LogBlock {
  return {
    position: (end.position + 1) as LogPosition,
    previousTimestamp: end.timestamp,
    throughTimestamp: end.timestamp,
    cursor: end.cursor,
    arrivalMs: Math.floor(end.timestamp / 1_000),
    rejectedRecords: 0,
    maker: { number: provisioningNumber, installed: [] },
    verdicts: [],
  };
}

/** Right before a sequence number. Real ones are large. */
function cursorBefore(sequenceNumber: string): StreamCursor {
  const value = BigInt(sequenceNumber);
  const below = value > 0n ? value - 1n : value;
  return { sequenceNumber: toSequenceNumber(below.toString()), requestsDone: "all" };
}
