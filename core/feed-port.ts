/**
 * How far consumers of changes have come, each under its name: a part of core/ports.ts. Errors as
 * there.
 */
import type { CallOptions } from "./store-calls.ts";

/** How far a consumer of changes has come, and who is at it (engine/changes/feed-hold.ts). */
export type FeedState = {
  /** As the feed gives it. Undefined: nobody has begun. */
  readonly position: string | undefined;
  /**
   * From 1 on, one more with each put: so of two that are at it one finds out. It goes on where the
   * feed was removed, or one who was frozen meanwhile would take the next feed for his own.
   */
  readonly turn: number;
  /** A name that whoever is at it has drawn. Undefined: nobody is. */
  readonly holder: string | undefined;
  /** Wall clock, until when others leave it alone. It bounds what is done twice; nothing else. */
  readonly heldUntilMs: number;
  /** What is told to people. Undefined: nobody has been at it who tells. */
  readonly notes?: FeedNotes | undefined;
  /** How often what is done once for a change is to be done once more. Undefined: not yet. */
  readonly round?: number | undefined;
  /** There is none of this name any more, but for its turn. */
  readonly isRemoved?: boolean | undefined;
  /** Whether `list` gives it. A release that knows of no list drops this, and it is listed anew. */
  readonly isListed?: boolean | undefined;
};

/** Nothing that a consumer does depends on it. */
export type FeedNotes = {
  /** What the last one at it asks for: some of the tables' names. Undefined: all there are. */
  readonly tables: readonly string[] | undefined;
  /** So many more tables it asks for. */
  readonly tablesMore: number;
  /** Wall clock, when the position was last put that lies behind the one before. */
  readonly movedMs: number | undefined;
  /** So often it has failed since a change was handled, or nothing was left. */
  readonly failures: number;
  /** Wall clock, when the first of these was; undefined of none, and of older releases. */
  readonly failingSinceMs?: number | undefined;
  /** Wall clock, when an operator moved it last. */
  readonly resetMs?: number | undefined;
  /** The last one, which may be long over. */
  readonly failure: { readonly text: string; readonly atMs: number } | undefined;
};

export type FeedStore = {
  /** Strongly consistent; undefined: there is none of that name yet. */
  read(name: string, options?: CallOptions): Promise<FeedState | undefined>;
  /**
   * Puts the state where that of the turn before, or none, still stands. Returns whether it did;
   * `false` also after a lost answer of its own success.
   */
  put(name: string, state: FeedState, options?: CallOptions): Promise<boolean>;
  /** Has `list` give the name from now on. */
  enlist(name: string, options?: CallOptions): Promise<void>;
  /** Names by their order, at most so many. Those that were removed are among them. */
  list(namesMax: number, options?: CallOptions): Promise<readonly string[]>;
};
