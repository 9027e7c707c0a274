/** Why an attempt is over, in the words of the public errors. */
import { ConflictError, SnapshotTooOldError } from "../core/errors.ts";
import type { Tail } from "../core/tail.ts";
import type { ReadConflict, TransactionReads } from "../core/transaction-reads.ts";
import type { Timestamp } from "../core/types.ts";

/**
 * The shard was split or joined since the transaction began, and what it reads or writes may lie
 * in another one by now. It is run again by the new map, and its caller need not hear of it.
 */
export class RangeMovedError extends SnapshotTooOldError {
  constructor() {
    super(
      "the shard was split or joined meanwhile: the transaction is to be run again, by the new map",
    );
  }
}

/** As a caller hears of it who holds what was read, so that nothing can be run again for him. */
export function movedConflict(): ConflictError {
  return new ConflictError(
    "a shard that this transaction has read in was split or joined meanwhile; begin again",
    { table: undefined, key: undefined, version: undefined, on: "partition" },
  );
}

/**
 * @throws SnapshotTooOldError when the tail has forgotten commits above the read timestamp;
 *   RangeMovedError.
 */
export function refuseBelowTail(reads: TransactionReads, tail: Tail): void {
  const { readTimestamp } = reads;
  if (reads.isMoved(tail)) {
    // probe: transaction-meets-a-fork
    throw new RangeMovedError();
  }
  if (readTimestamp >= tail.floor) return;
  throw new SnapshotTooOldError(
    `the read timestamp ${readTimestamp} lies below what this process remembers of the log ` +
      `(${tail.floor})`,
  );
}

export function conflictError(
  conflict: Pick<ReadConflict, "read">,
  found: { readonly timestamp: Timestamp | undefined; readonly by?: "oracle" | "tail" | "process" },
): ConflictError {
  const { timestamp } = found;
  const { read } = conflict;
  const on = "on" in read ? read.on : "key";
  const written = timestamp === undefined ? "is being written" : `was written at ${timestamp}`;
  const ofTable = read.table === undefined ? "" : ` of table "${read.table}"`;
  return new ConflictError(
    on === "key"
      ? `an item${ofTable || " that this transaction has read"} ${written} by another transaction`
      : `a row ${written} under a ${on}${ofTable} that this transaction has queried`,
    { table: read.table, key: read.key, version: timestamp, on, foundBy: found.by ?? "tail" },
  );
}
