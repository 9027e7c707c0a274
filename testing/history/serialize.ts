/** Writes the lines of a history: fields in one order, so that equal histories are equal bytes. */
import type { FinalState, HistoryTransaction, VersionOrder } from "./types.ts";

export function serializeTransaction(transaction: HistoryTransaction): string {
  const { id, process, start, end, status, kind, parent, step, isolation } = transaction;
  const { strict, installed, ops, snapshotTs, commitTs, place } = transaction;
  // Fields that are undefined are left out.
  return JSON.stringify({
    ...{ id, process, start, end, status, kind, parent, step, isolation },
    ...{ strict, installed, ops, snapshotTs, commitTs, place },
  });
}

export function serializeVersionOrder({ key, versions }: VersionOrder): string {
  return JSON.stringify({ key, versions });
}

export function serializeFinalState({ key, version }: FinalState): string {
  return JSON.stringify({ key, version });
}

/** A whole file at once. */
export function serializeLines<Entry>(
  entries: Iterable<Entry>,
  serialize: (entry: Entry) => string,
): string {
  let text = "";
  for (const entry of entries) text += `${serialize(entry)}\n`;
  return text;
}

/**
 * A file as it grows: one call of `write` per entry, each a whole line, so a crash cuts at most the
 * last.
 */
export function lineWriter<Entry>(
  write: (line: string) => void,
  serialize: (entry: Entry) => string,
): (entry: Entry) => void {
  return (entry) => {
    write(`${serialize(entry)}\n`);
  };
}
