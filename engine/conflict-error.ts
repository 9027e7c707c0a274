/** Why an attempt is over, in the words of the public errors. */
import { ConflictError, SnapshotTooOldError } from "../core/errors.ts";
import type { Tail } from "../core/tail.ts";
import type { ReadConflict, TransactionReads } from "../core/transaction-reads.ts";
import type { Timestamp } from "../core/types.ts";

/** @throws SnapshotTooOldError when the tail has forgotten commits above the read timestamp. */
export function refuseBelowTail(
  { readTimestamp }: Pick<TransactionReads, "readTimestamp">,
  tail: Tail,
): void {
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
