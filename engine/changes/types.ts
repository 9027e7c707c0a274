/** The change feed as the SDK has it. */
import type { Item, Timestamp, TransactionId } from "../../core/types.ts";

/** A place among all commits: of those at one timestamp, behind that of the id, or behind all. */
export type ChangePosition = {
  readonly timestamp: Timestamp;
  readonly id?: TransactionId | undefined;
};

export type ChangesOptions = {
  readonly from: "now" | "oldest" | ChangePosition;
  /** Only what is written to these. Undefined: all. */
  readonly tables: readonly string[] | undefined;
  /** Whether to say what stood there before, on tables with history. */
  readonly before: boolean;
  /** Whether tables of which not all is in the log may be among those that are named. */
  readonly mixed: "refuse" | "only-logged";
  readonly pollMs: number;
  readonly signal: AbortSignal | undefined;
};

/** Of a named consumer, whose position the deployment keeps. */
export type ConsumeOptions = Omit<ChangesOptions, "from"> & {
  readonly name: string;
  /** Where it begins for the first time. */
  readonly first: ChangesOptions["from"];
  /** `caught-up`: it ends when all is handled that there is, or when another one is at it. */
  readonly until: "stopped" | "caught-up";
};

export type ChangedItem = {
  readonly table: string;
  readonly key: Item;
  /** Undefined: it was deleted. */
  readonly after: Item | undefined;
  /** What stood there before; undefined: nothing did, or nobody asked, or there is no history. */
  readonly before: Item | undefined;
};

export type CommittedChanges = {
  readonly position: ChangePosition;
  readonly id: TransactionId;
  readonly timestamp: Timestamp;
  /** BASE transactions that it releases, by `name/id`: the items are theirs, and only theirs. */
  readonly bases: readonly string[];
  readonly items: readonly ChangedItem[];
};

export type Changes = AsyncIterable<CommittedChanges> & {
  /** Up to here all was given. Undefined before anything was asked. */
  readonly position: ChangePosition | undefined;
};
