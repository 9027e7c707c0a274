/**
 * What a cursor covers of the stream (I9): every record before its own, and of its own the first
 * `requestsDone`; and the order of cursors.
 */
import { assert } from "./assert.ts";
import type { BatchRecord } from "./block-draft.ts";
import * as limits from "./limits.ts";
import { compareSequenceNumbers } from "./sequence-number.ts";
import type { SequenceNumber, StreamCursor } from "./types.ts";

/**
 * Behind every record that any stream may hold: the cursor of a log whose stream is closed. So an
 * oracle passes whatever is still delivered (docs/protocol.md §3, Closing the stream).
 */
export const streamEnd: StreamCursor = {
  sequenceNumber: "9".repeat(limits.sequenceDigitsMax) as SequenceNumber,
  requestsDone: "all",
};

export function isStreamEnd(cursor: StreamCursor | undefined): boolean {
  return cursor?.sequenceNumber === streamEnd.sequenceNumber;
}

/** Whether the cursor covers the record as a whole. */
export function isCovered(
  sequenceNumber: SequenceNumber,
  cursor: StreamCursor | undefined,
): boolean {
  if (cursor === undefined) return false;
  const order = compareSequenceNumbers(sequenceNumber, cursor.sequenceNumber);
  return order < 0 || (order === 0 && cursor.requestsDone === "all");
}

/** Index of the first record that the cursor does not cover as a whole; their number if none. */
export function firstUncovered(
  records: readonly { readonly sequenceNumber: SequenceNumber }[],
  cursor: StreamCursor | undefined,
): number {
  const first = records.findIndex(({ sequenceNumber }) => !isCovered(sequenceNumber, cursor));
  return first < 0 ? records.length : first;
}

/** How many of the record's requests the cursor covers, if it stands within this very record. */
export function requestsDone(record: BatchRecord, cursor: StreamCursor | undefined): number {
  if (cursor === undefined || cursor.requestsDone === "all") return 0;
  if (compareSequenceNumbers(record.sequenceNumber, cursor.sequenceNumber) !== 0) return 0;
  const requests = record.requestEnd - record.requestStart;
  // A record that this version refuses may have been begun by another one: then it ends here.
  if (record.rejected) return 0;
  assert(cursor.requestsDone < requests, "I9: a record holds what its cursor has covered");
  return cursor.requestsDone;
}

/** That covers so much of the record, and all before it. */
export function cursorIn(
  { sequenceNumber }: Pick<BatchRecord, "sequenceNumber">,
  done: StreamCursor["requestsDone"],
): StreamCursor {
  return { sequenceNumber, requestsDone: done };
}

/** Order of cursors: undefined (nothing covered yet) comes first. */
export function compareCursors(
  left: StreamCursor | undefined,
  right: StreamCursor | undefined,
): number {
  if (left === undefined || right === undefined) {
    return (left === undefined ? 0 : 1) - (right === undefined ? 0 : 1);
  }
  const bySequence = compareSequenceNumbers(left.sequenceNumber, right.sequenceNumber);
  if (bySequence !== 0) return bySequence;
  const leftDone = left.requestsDone === "all" ? Number.MAX_SAFE_INTEGER : left.requestsDone;
  const rightDone = right.requestsDone === "all" ? Number.MAX_SAFE_INTEGER : right.requestsDone;
  assert(leftDone > 0 && rightDone > 0, "cursor: a record that was begun has requests done");
  return leftDone - rightDone;
}
