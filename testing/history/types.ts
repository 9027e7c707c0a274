/**
 * The history of a run: what every transaction read and wrote, as its client saw it, in versions
 * instead of values. Recorders write it, the checker reads it, and so can anyone else's
 * (docs/formats/history.md). Three files: transactions, and optionally the order of versions per
 * key and the state at the end.
 */

/**
 * One step of a transaction, in the order in which its body took them.
 *
 * - `r`: read a key and found this version; null: found nothing.
 * - `w`: wrote the whole item, which makes this version.
 * - `d`: deleted the item. The version names the deletion; later reads of the key find null.
 * - `a`: appended an element to a list. The element is the name of the version that it makes; who
 *   reads the list records the element that comes last in it.
 * - `x`: found anything but this version; null: found something. Of native operations alone: what a
 *   condition tells whose answer does not show the item.
 */
export type HistoryOp =
  | readonly ["r", key: string, version: string | null]
  | readonly ["w", key: string, version: string]
  | readonly ["d", key: string, version: string]
  | readonly ["a", key: string, element: string]
  | readonly ["x", key: string, version: string | null];

/** A step that makes a version. */
export type HistoryWrite = Extract<HistoryOp, readonly ["w" | "d" | "a", string, string]>;

export function isWrite(op: HistoryOp): op is HistoryWrite {
  return op[0] !== "r" && op[0] !== "x";
}

export type HistoryStatus = "commit" | "abort" | "unknown";

/**
 * `init` states what was there before. `native` is one plain operation on one item, beside
 * transactions: at most one step that reads and then one that writes (`native-record.ts` says how
 * an actor records it). `base` is a BASE transaction as a whole, whose steps name it as their
 * parent: `commit` with `end` when somebody was told that all see it, `unknown` where nobody was.
 */
export type HistoryKind = "init" | "txn" | "native" | "base";

export type HistoryTransaction = {
  /** Unique within the history. */
  readonly id: string;
  /** Who ran it. Transactions of one process may overlap; no order among them is implied. */
  readonly process: string;
  /** Nanoseconds since an origin of the run's own, of one clock for all processes. */
  readonly start: number;
  /**
   * Not below `start`. When its caller had the answer; of an unknown one, when its caller gave up.
   */
  readonly end: number;
  readonly status: HistoryStatus;
  readonly kind: HistoryKind;
  /** Of a step of a BASE transaction: the id of that. */
  readonly parent?: string;
  /** Which of its steps it is, from 1; left out by all others. */
  readonly step?: number;
  readonly isolation: "serializable" | "snapshot";
  /**
   * False for one that asked to read an older state (`maxStalenessMs`, `asOf`); left out by all
   * others.
   */
  readonly strict?: false;
  /**
   * False for one that was acknowledged before its writes stood in their tables: native operations
   * may miss them for a while; left out by all others.
   */
  readonly installed?: false;
  readonly ops: readonly HistoryOp[];
  /** Where all its reads are consistent, as the database says: microseconds. */
  readonly snapshotTs?: number;
  /**
   * Its place in the order of commits, as the database says: microseconds. Only of one that may
   * have written.
   */
  readonly commitTs?: number;
  /**
   * Among those of equal `commitTs`, which the database has committed as one: from 0 on; left out:
   * 0.
   */
  readonly place?: number;
};

/**
 * The versions of one key, oldest first, as the stores have them. Deletions may be left out, since
 * a store does not know their names.
 */
export type VersionOrder = { readonly key: string; readonly versions: readonly string[] };

/** What stood under a key when the run was over; null: nothing. */
export type FinalState = { readonly key: string; readonly version: string | null };

export type History = {
  readonly transactions: readonly HistoryTransaction[];
  readonly versionOrder?: readonly VersionOrder[];
  readonly finalState?: readonly FinalState[];
};

/** Names of the three files in a history's folder. */
export const historyFiles = {
  transactions: "transactions.jsonl",
  versionOrder: "version-order.jsonl",
  finalState: "final-state.jsonl",
} as const;

/** A line that is not of the format. */
export class HistoryFormatError extends Error {
  override readonly name = "HistoryFormatError";
  /** Counted from 1. */
  readonly line: number;
  /** Path of the field at fault, such as `ops[3][2]`; empty for the line as a whole. */
  readonly field: string;
  constructor(at: { readonly line: number; readonly field: string }, problem: string) {
    super(`line ${at.line}${at.field === "" ? "" : `, ${at.field}`}: ${problem}`);
    this.line = at.line;
    this.field = at.field;
  }
}
