/**
 * What may follow a block of the log. Oracle and replay ask all of it, a tail only whether a block
 * continues the log (I2): so a block that nobody certified there stops the shard, and is named,
 * instead of being built upon (docs/operations.md).
 */
import { compareCursors, isStreamEnd } from "./cursor.ts";
import { CorruptDataError } from "./errors.ts";
import * as limits from "./limits.ts";
import type { OpenTransactions } from "./open-transactions.ts";
import type { LogBlock, MakerNumber, StreamCursor, Timestamp } from "./types.ts";

/**
 * Invariant: I2.
 * @param before `throughTimestamp` of the block before.
 * @throws CorruptDataError for a block that does not continue it, or that leaves the log no
 * timestamps: from `timestampMax` on each of them may be the next one only.
 */
export function assertContinues(
  {
    position,
    previousTimestamp,
    throughTimestamp,
    verdicts,
  }: Pick<LogBlock, "position" | "previousTimestamp" | "throughTimestamp" | "verdicts">,
  before: Timestamp,
): void {
  const isNext = throughTimestamp - before <= verdicts.length;
  const why =
    previousTimestamp !== before
      ? "does not continue the log"
      : throughTimestamp > limits.timestampMax && !isNext && "is dated after the year 2199";
  if (why !== false) throw new CorruptDataError(`I2: block ${position} ${why}`);
}

/**
 * Of a block by which provisioning closes or opens the stream: the number of no client and of no
 * oracle (docs/protocol.md §3, Closing the stream).
 */
export const provisioningNumber = 0 as MakerNumber;

/** Whether the block opens the stream: no copy of a request is decided that was checked before. */
function opensStream({ cursor, maker }: Pick<LogBlock, "cursor" | "maker">): boolean {
  return maker?.number === provisioningNumber && !isStreamEnd(cursor);
}

/**
 * Whether what was checked before the block may not be decided behind it: copies of requests of an
 * earlier stream, and those of whoever has not seen yet that the range is another one.
 */
export function outdatesChecks(
  block: Pick<LogBlock, "cursor" | "maker" | "fork" | "handover">,
): boolean {
  // mutant: fork-keeps-old-checks
  // mutant: join-keeps-old-checks
  return opensStream(block) || block.fork !== undefined || block.handover !== undefined;
}

/**
 * The cursor only moves forward, and a client decides nothing of the stream, so its block has that
 * of the block before. One that moves it on would have every oracle pass requests that nobody has
 * answered (docs/adr/0013). Who closes the stream puts it behind everything; who opens one, back.
 * Invariant: I9.
 * @param before the cursor of the block before.
 * @throws CorruptDataError for a block with another cursor: nothing may be folded over it.
 */
export function assertCursorMayFollow(
  { cursor, maker, position }: Pick<LogBlock, "cursor" | "maker" | "position">,
  before: StreamCursor | undefined,
): void {
  if (maker?.number === provisioningNumber) return;
  const order = compareCursors(cursor, before);
  if (maker === undefined ? order >= 0 : order === 0) return;
  const by = maker === undefined ? "" : `, made by client ${nameOf(maker.number)},`;
  throw new CorruptDataError(
    `I9: block ${position} of the log${by} moves the stream's cursor ` +
      (order < 0 ? "back" : "on: requests would stay unanswered") +
      " (docs/operations.md, A block that stops the shard)",
  );
}

/**
 * A header names a block at or before the oldest one with a transaction that is open where its own
 * begins, so that an oracle that begins between the two finds it. Invariant: I4.
 *
 * An older name costs a cold oracle reading, and nobody a commit; so it is no fault. Whoever begins
 * at a watermark meets one: it does not know what was prepared below, and is decided above.
 * @param open as of the block before.
 * @throws CorruptDataError for a block that names none, or a newer one: some oracle would miss what
 *   is open.
 */
export function assertNamesOldestOpen(
  { oldestOpen, position }: Pick<LogBlock, "oldestOpen" | "position">,
  open: Pick<OpenTransactions, "oldest">,
): void {
  const oldest = open.oldest?.position;
  if (oldest === undefined || (oldestOpen !== undefined && oldestOpen <= oldest)) return;
  throw new CorruptDataError(
    `I4: block ${position} of the log names block ${oldestOpen ?? "none"} as the oldest with an ` +
      `open transaction, where it is ${oldest}`,
  );
}

function nameOf(maker: number): string {
  return maker.toString(16).padStart(8, "0");
}
