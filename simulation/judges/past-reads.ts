/**
 * What readers were told of one moment, against every version that the log ever committed: a
 * snapshot shows of each key the newest version at or below its timestamp. The checker of histories
 * looks for circles of transactions and takes the moment itself on trust; a row that is said to
 * have been absent makes no circle where nobody else reads.
 */
import { initialVersion } from "../../testing/history/key-text.ts";
import type { LoggedVersions } from "../../testing/history/chained-versions.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";

/** Timestamps `[from, until)` at which what was written from `from` on is not shown. */
export type HiddenSpan = { readonly from: number; readonly until: number };

type Apart = {
  /** Of keys whose versions are not all in the log. */
  readonly isElsewhere: (key: string) => boolean;
  /** By key, for each BASE transaction that has written it: from its first write to its release. */
  readonly hidden: ReadonlyMap<string, readonly HiddenSpan[]>;
};

/** @param log of every key that was ever written. */
export function wrongPasts(
  transactions: readonly HistoryTransaction[],
  log: readonly LoggedVersions[],
  { isElsewhere, hidden }: Apart,
): readonly string[] {
  const model = new Map(log.map((logged) => [logged.key, statesOf(logged)]));
  return transactions.filter(isSnapshot).flatMap(({ id, snapshotTs, ops }) =>
    ops.flatMap(([, key, seen]) => {
      const at = shownAt(snapshotTs, hidden.get(key) ?? []);
      const stood = standing(model.get(key) ?? [], at);
      if (isElsewhere(key)) return [];
      // What nobody recorded, such as a hostile producer's row, has no version in the log.
      if (seen === stood || seen === initialVersion(key)) return [];
      return [
        `I8: ${id} at ${snapshotTs.toString()} saw ${seen ?? "nothing"} under ${key}, ` +
          `where ${stood ?? "nothing"} stood`,
      ];
    }),
  );
}

/** What a key came to be at a timestamp; null: absent. */
type State = { readonly timestamp: number; readonly version: string | null };

function statesOf({ versions, deletedAt }: LoggedVersions): readonly State[] {
  const deletions = deletedAt.map((timestamp) => ({ timestamp, version: null }));
  return [...versions, ...deletions].sort((a, b) => a.timestamp - b.timestamp);
}

/** The latest moment of which a reader is shown the key. */
function shownAt(readTimestamp: number, hidden: readonly HiddenSpan[]): number {
  const open = hidden.filter(({ from, until }) => from <= readTimestamp && readTimestamp < until);
  return Math.min(readTimestamp, ...open.map(({ from }) => from - 1));
}

function standing(states: readonly State[], at: number): string | null {
  return states.findLast(({ timestamp }) => timestamp <= at)?.version ?? null;
}

type SnapshotTransaction = HistoryTransaction & { readonly snapshotTs: number };

/** One that reads only: all that it was told is of its timestamp, and of the log. */
function isSnapshot(transaction: HistoryTransaction): transaction is SnapshotTransaction {
  const { kind, status, isolation, snapshotTs, commitTs, ops } = transaction;
  return (
    kind === "txn" &&
    status === "commit" &&
    isolation === "snapshot" &&
    snapshotTs !== undefined &&
    commitTs === undefined &&
    ops.every(([op]) => op === "r")
  );
}
