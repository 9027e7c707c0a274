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

/** What is done once for a change is done once more in each round. */
export type FeedRound = { readonly round: number };

export type FeedMove = {
  readonly to: ChangePosition;
  /** Undefined: nobody had begun. */
  readonly before: ChangePosition | undefined;
  /** Who was at it, and hears of it at his next put. Undefined: nobody was. */
  readonly holder: string | undefined;
};

export type RemovedFeed =
  | { readonly kind: "removed" }
  | { readonly kind: "held"; readonly holder: string; readonly heldUntilMs: number };

/** What an operator does to positions of named consumers. */
export type MovesFeeds = {
  /**
   * Has the consumer go on there, whoever is at it.
   * @param wish.again whether what was done once for a change is done once more.
   * @throws ChangesExpiredError where what follows is no longer there: its `oldest` is what can be
   * had. InvalidRequestError where there is no such feed, or for a place in the future.
   */
  move(
    name: string,
    wish: { readonly to: ChangesOptions["from"]; readonly again: boolean },
  ): Promise<FeedMove>;
  /**
   * Has the next consumer of that name begin anew. Refused while somebody is at it.
   * @throws InvalidRequestError where there is no such feed.
   */
  remove(name: string): Promise<RemovedFeed>;
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
