/**
 * One history from what several processes have written, some of which were killed: of each
 * transaction the last that was written of it, of a BASE transaction, which several processes may
 * have run, the first that was told of its end; and what was there before the run, which a killed
 * process could not state any more.
 */
import { initialVersion } from "./key-text.ts";
import type { HistoryOp, HistoryTransaction } from "./types.ts";

/**
 * @param entries of each process in the order it wrote them (`emitIntent` before `emit`).
 * @returns every transaction once, in the order of their starts.
 */
export function mergeTransactions(entries: Iterable<HistoryTransaction>): HistoryTransaction[] {
  const byId = new Map<string, HistoryTransaction>();
  const initial = new Set<string>();
  for (const entry of entries) {
    if (entry.kind !== "init") byId.set(entry.id, later(byId.get(entry.id), entry));
    for (const [, key, version] of entry.ops) if (version === initialVersion(key)) initial.add(key);
  }
  const merged = Array.from(byId.values()).sort((a, b) => a.start - b.start);
  if (initial.size === 0) return merged;
  const ops = Array.from(initial, (key): HistoryOp => ["w", key, initialVersion(key)]);
  const before: HistoryTransaction = {
    ...{ id: "init", process: "init", start: 0, end: 0, status: "commit", kind: "init" },
    ...{ isolation: "serializable", ops },
  };
  return [before, ...merged];
}

/** Of two entries of one id the one that stands. */
function later(
  known: HistoryTransaction | undefined,
  entry: HistoryTransaction,
): HistoryTransaction {
  if (known?.kind !== "base" || known.status !== "commit") return entry;
  return entry.status === "commit" && entry.end < known.end ? entry : known;
}

/** The whole lines of a file; a process that was killed may have left a part of one at its end. */
export function wholeLines(text: string): string {
  return text.slice(0, text.lastIndexOf("\n") + 1);
}
