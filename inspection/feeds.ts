/**
 * Consumers of changes as the control table tells of them, and how far they are behind the logs.
 * Those are listed that somebody of this release has been at; by its name each is found.
 */
import { assert } from "../core/assert.ts";
import { CorruptDataError, InvalidRequestError } from "../core/errors.ts";
import type { FeedNotes, FeedState } from "../core/feed-port.ts";
import * as productLimits from "../core/limits.ts";
import { isHeld } from "../engine/changes/feed-hold.ts";
import { parsePosition } from "../engine/changes/position.ts";
import type { ChangePosition } from "../engine/changes/types.ts";
import type { Deployment } from "./deployment.ts";
import { feedLag, logEnds, type FeedLag, type NewestBlock } from "./feed-lag.ts";
import * as limits from "./limits.ts";

export type SeenFeed = {
  readonly name: string;
  /** Undefined: it has taken its first turn, and not begun yet; or it is damaged. */
  readonly position: ChangePosition | undefined;
  /** As it is stored. */
  readonly positionText: string | undefined;
  /** What whoever is at it has drawn for a name; undefined: nobody is. */
  readonly holder: string | undefined;
  readonly heldUntilMs: number;
  /** When it was last put; undefined: by no consumer. */
  readonly heardMs: number | undefined;
  readonly turn: number;
  /** Undefined: only releases that tell nothing have been at it. */
  readonly notes: FeedNotes | undefined;
  /** Undefined: without a position, or where a log is damaged, nobody knows. */
  readonly lag: FeedLag | undefined;
  /** What is wrong with its item, which no release up to this one has written so. */
  readonly damage: string | undefined;
};

export type SeenFeeds = {
  /** By their names. */
  readonly feeds: readonly SeenFeed[];
  /** There are more than `limits.feedsMax`; these were not looked at. */
  readonly isCut: boolean;
  /** Names of those that were removed, and that nobody has begun since. */
  readonly removed: readonly string[];
};

type Where = Pick<Deployment, "ports" | "map" | "logs">;

/** @throws StoreError. */
export async function allFeeds(deployment: Where, nowMs: number): Promise<SeenFeeds> {
  const store = storeOf(deployment);
  // Those that were removed are among them.
  const names = await store.list(limits.feedNamesMax);
  const ends = names.length === 0 ? [] : await logEnds(deployment);
  const feeds: SeenFeed[] = [];
  const removed: string[] = [];
  let looked = 0;
  while (looked < names.length && feeds.length < limits.feedsMax) {
    const some = names.slice(looked, looked + limits.feedsMax);
    looked += some.length;
    const seen = await Promise.all(some.map((name) => look(deployment, { name, ends, nowMs })));
    for (const [at, feed] of seen.entries()) {
      if (feed === "removed") removed.push(some[at] ?? "");
      else if (feed !== undefined) feeds.push(feed);
    }
  }
  const isAll = looked === names.length && names.length < limits.feedNamesMax;
  const isCut = feeds.length > limits.feedsMax || !isAll;
  return {
    ...{ feeds: feeds.slice(0, limits.feedsMax), isCut },
    removed: removed.slice(0, limits.feedsMax),
  };
}

/** @throws InvalidRequestError where there is none of that name; StoreError. */
export async function oneFeed(deployment: Where, name: string, nowMs: number): Promise<SeenFeed> {
  const feed = await look(deployment, { name, ends: await logEnds(deployment), nowMs });
  if (feed === undefined || feed === "removed") throw noSuchFeed(name);
  return feed;
}

function storeOf({ ports }: Where) {
  assert(ports.feeds !== undefined, "whoever looks at a deployment has a store of positions");
  return ports.feeds;
}

function noSuchFeed(name: string): InvalidRequestError {
  const text = `there is no feed "${name}": no consumer of that name has ever begun`;
  return new InvalidRequestError("name", text);
}

type Looked = {
  readonly name: string;
  readonly ends: readonly NewestBlock[];
  readonly nowMs: number;
};

/** Undefined: nothing stands there. A name is listed before its first turn is put. */
async function look(deployment: Where, at: Looked): Promise<SeenFeed | "removed" | undefined> {
  const { name } = at;
  try {
    const state = await storeOf(deployment).read(name);
    if (state?.isRemoved === true) return "removed";
    return state && (await seen(deployment, state, at));
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return { ...unread, name, damage: error.message };
  }
}

const unread: Omit<SeenFeed, "name" | "damage"> = {
  ...{ position: undefined, positionText: undefined, turn: 0, notes: undefined, lag: undefined },
  ...{ holder: undefined, heldUntilMs: 0, heardMs: undefined },
};

async function seen(
  deployment: Where,
  state: FeedState,
  { name, ends, nowMs }: Looked,
): Promise<SeenFeed> {
  const { turn, heldUntilMs, notes } = state;
  const position = state.position === undefined ? undefined : parsePosition(state.position);
  const heardMs = heldUntilMs - productLimits.feedHoldMs;
  const isNone = position === undefined && state.position !== undefined;
  return {
    ...{ name, position, turn, heldUntilMs, notes },
    positionText: state.position,
    holder: isHeld(state, nowMs) ? state.holder : undefined,
    heardMs: heardMs > 0 ? heardMs : undefined,
    lag: position === undefined ? undefined : await feedLag(deployment, ends, position),
    damage: isNone ? `its position is none: ${state.position}` : undefined,
  };
}
