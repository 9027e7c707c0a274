/**
 * Blocks that provisioning puts into a log, so that whoever folds it learns of a change at the same
 * place: the stream is closed or opened (stream-switch.ts), the shard is split (split-shard.ts) or
 * joined (join-shard.ts, take-over.ts).
 * They may be put at any time, by several at once, while clients and oracles append beside them.
 *
 * Invariants: I1 (a conditional put at the next position), I3 (no copy that was checked before is
 * decided behind one that changes who decides).
 */
import { provisioningNumber } from "../core/block-order.ts";
import { StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Appended, Clock, CommitLog, Random, StoredBlock } from "../core/ports.ts";
import type { LogBlock, LogPosition, ShardId, Timestamp, Watermark } from "../core/types.ts";
import { KeyHashes } from "../schemas/key-hashes.ts";
import { encodeLogBlock } from "../schemas/log-block-encoding.ts";
import { decodeLogBlock, decodeLogBlockHeader } from "../schemas/log-block.ts";
import { makeTransactionId, transactionIdRandomBytes } from "../schemas/transaction-id.ts";
import type { AwsControlStore } from "./dynamodb-control-store.ts";

export type ProvisioningParts = {
  readonly log: Pick<CommitLog, "append" | "readAfter" | "readBackward">;
  readonly control: Pick<AwsControlStore, "readWatermark" | "keyHasher">;
  readonly clock: Pick<Clock, "nowMs" | "sleep">;
  readonly random: Pick<Random, "bytes">;
};

export type LogEnd = Pick<Watermark, "position" | "timestamp" | "cursor"> & {
  /** Undefined where all blocks have expired: below the watermark nothing is open. */
  readonly newest?: StoredBlock;
};

export type ProvisioningStep = {
  readonly isDone: (end: LogEnd) => boolean;
  readonly follow: (end: LogEnd) => LogBlock;
};

/** @throws StoreError when others append at every try. */
export async function appendUnless(
  parts: ProvisioningParts,
  shard: ShardId,
  { isDone, follow }: ProvisioningStep,
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
    const result = await putBehind(parts, { shard, hashes, end, lookedMs }, follow(end));
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

/**
 * Puts a block, unless it stands above the watermark already. Every block up to where it is put is
 * looked at, so that none is put twice. Gives its position.
 * @param step.isIt may throw, where the log says that it must not be put.
 * @param step.mayPut asked before each put; throws, where it must not be put any more.
 * @throws StoreError when others append at every try.
 */
export async function placeOnce(
  parts: Omit<ProvisioningParts, "log"> & {
    readonly log: Pick<CommitLog, "append" | "readAfter">;
  },
  { shard, watermark }: { readonly shard: ShardId; readonly watermark: Watermark },
  step: {
    readonly isIt: (stored: StoredBlock, hashes: KeyHashes) => boolean;
    readonly mayPut?: () => Promise<void>;
    readonly follow: (end: LogEnd) => LogBlock;
  },
): Promise<LogPosition> {
  const hashes = new KeyHashes(await parts.control.keyHasher(shard));
  let end: LogEnd = watermark;
  for (let tries = 0; tries < limits.streamSwitchTriesMax;) {
    const lookedMs = parts.clock.nowMs();
    const { blocks, complete } = await parts.log.readAfter(shard, end.position);
    for (const stored of blocks) {
      end = endBehind(stored, watermark);
      if (step.isIt(stored, hashes)) return stored.position;
    }
    // However long the log is: a page that brings it on is no try.
    if (complete || blocks.length === 0) tries += 1;
    if (!complete) continue;
    await step.mayPut?.();
    const block = step.follow(end);
    const result = await putBehind(parts, { shard, hashes, end, lookedMs }, block);
    if (result === "appended") return block.position;
  }
  throw new StoreError("unavailable", `shard ${shard}: others append at every try; try again`);
}

/** Puts a block behind the end, as that was seen by the wall-clock time `lookedMs`. */
export function putBehind(
  { log }: { readonly log: Pick<CommitLog, "append"> },
  at: {
    readonly shard: ShardId;
    readonly hashes: KeyHashes;
    readonly end: LogEnd;
    readonly lookedMs: number;
  },
  made: LogBlock,
): Promise<Appended> {
  const { shard, hashes, end, lookedMs } = at;
  const oldestOpen = oldestOpenBehind(end, hashes);
  const block = { ...made, ...(oldestOpen === undefined ? {} : { oldestOpen }) };
  // Whoever slept since it looked might find the position free that an expired block has left.
  const signBeforeMs = lookedMs + limits.expressTailAgeMsMax;
  const stored = { position: block.position, bytes: encodeLogBlock(block, hashes) };
  // Neither a clock that is slow nor a log that has long been idle lets it expire early.
  const dateMs = Math.max(block.throughTimestamp / 1_000, lookedMs);
  return log.append(shard, stored, { signBeforeMs, dateMs });
}

/** Where the log ends: at its newest block, or at the watermark where all have expired. */
export async function endOf(
  { log }: ProvisioningParts,
  shard: ShardId,
  watermark: Watermark,
): Promise<LogEnd> {
  const [newest] = await log.readBackward(shard, { blocksMax: 1 });
  if (newest === undefined || newest.position < watermark.position) return watermark;
  return endBehind(newest, watermark);
}

export function endBehind({ position, bytes }: StoredBlock, watermark: Watermark): LogEnd {
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

export async function watermarkOf(
  { control }: Pick<ProvisioningParts, "control">,
  shard: ShardId,
): Promise<Watermark> {
  const watermark = await control.readWatermark(shard);
  if (watermark !== undefined) return watermark;
  throw new StoreError("unavailable", `shard ${shard} has no watermark: it is not bootstrapped`);
}

export function blockBehind(end: LogEnd): LogBlock {
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

/**
 * As `blockBehind`, of one that decides something, so that it lies above every check that was made
 * before. No clock is asked: whoever puts it may have any time set, and all that follows would be
 * dated ahead.
 */
export function decidingBlockBehind(
  end: LogEnd,
  random: Pick<Random, "bytes">,
  { above = end.timestamp }: { readonly above?: Timestamp } = {},
): LogBlock {
  // mutant: takes-below-the-end
  const timestamp = (Math.max(end.timestamp, above) + 1) as Timestamp;
  const id = makeTransactionId(end.timestamp, random.bytes(transactionIdRandomBytes));
  return {
    ...blockBehind(end),
    throughTimestamp: timestamp,
    arrivalMs: Math.floor(timestamp / 1_000),
    verdicts: [{ kind: "aborted", id, timestamp, reason: { kind: "probed" } }],
  };
}
