/**
 * Consumers of changes, as `tidemark feeds` has them. Each takes some reads of every log, so that a
 * page that asks again and again, and several pages, share one look for a while.
 */
import { denied, ifAllowed, type Allowed } from "../../inspection/allowed.ts";
import { behindMs, feedHealth, feedRemedy } from "../../inspection/feed-checks.ts";
import { allFeeds, type SeenFeed, type SeenFeeds } from "../../inspection/feeds.ts";
import * as limits from "../limits.ts";
import type { FeedLine, FeedsPage, ShardLagLine } from "../wire.ts";
import type { Sight } from "./sight.ts";

type Look = { readonly seen: Allowed<SeenFeeds>; readonly nowMs: number };

export class FeedLooks {
  readonly #sight: Sight;
  #last: Promise<Look> | undefined;
  #atMs = -Infinity;

  constructor(sight: Sight) {
    this.#sight = sight;
  }

  async page(): Promise<FeedsPage> {
    const { seen, nowMs } = await this.#look();
    if (seen === denied) return { nowMs, isDenied: true, isCut: false, feeds: [], removed: [] };
    const { feeds, isCut, removed } = seen;
    const lines = feeds.map((feed) => feedLine(feed, nowMs));
    return { nowMs, isDenied: false, isCut, feeds: lines.sort(inOrderOfCare), removed };
  }

  #look(): Promise<Look> {
    const { clock, isLocal } = this.#sight;
    const sharedMs = isLocal ? limits.feedsSharedMs : limits.feedsSharedOnAwsMs;
    const atMs = clock.monotonicMs();
    if (this.#last !== undefined && atMs - this.#atMs < sharedMs) return this.#last;
    const look = this.#lookNow();
    [this.#last, this.#atMs] = [look, atMs];
    look.catch(() => {
      // What has failed is asked anew.
      if (this.#last === look) this.#last = undefined;
    });
    return look;
  }

  async #lookNow(): Promise<Look> {
    const { deployment } = await this.#sight.seen();
    const nowMs = this.#sight.clock.nowMs();
    return { seen: await ifAllowed(() => allFeeds(deployment, nowMs)), nowMs };
  }
}

const care = { bad: 0, warning: 1, fine: 2, unknown: 3 } as const;

function inOrderOfCare(a: FeedLine, b: FeedLine): number {
  return care[a.level] - care[b.level];
}

function feedLine(feed: SeenFeed, nowMs: number): FeedLine {
  const { name, position, positionText, holder, heldUntilMs, heardMs, notes, lag } = feed;
  const { level, text } = feedHealth(feed, nowMs);
  return {
    ...{ name, level, text },
    ...(level === "fine" ? {} : { remedy: feedRemedy(feed, nowMs) }),
    ...(position === undefined ? {} : { at: position.timestamp, position: positionText ?? "" }),
    ...(lag === undefined
      ? {}
      : {
          ...{ behindMs: behindMs(feed, nowMs), behindBlocks: lag.blocks },
          isExpired: lag.isExpired,
          shards: lag.shards.map((each): ShardLagLine => ({
            ...{ shard: each.number, behindMs: behindMs({ lag: each }, nowMs) },
            ...{ behindBlocks: each.blocks, isExpired: each.isExpired },
          })),
        }),
    ...(holder === undefined ? {} : { holder, heldForMs: heldUntilMs - nowMs }),
    ...(heardMs === undefined ? {} : { heardMs }),
    ...notesLine(notes),
  };
}

function notesLine(notes: SeenFeed["notes"]): Partial<FeedLine> {
  if (notes === undefined) return {};
  const { tables, tablesMore, movedMs, resetMs, failures, failingSinceMs, failure } = notes;
  return {
    ...(tables === undefined ? {} : { tables }),
    ...{ tablesMore, failures },
    ...(movedMs === undefined ? {} : { movedMs }),
    ...(resetMs === undefined ? {} : { resetMs }),
    ...(failingSinceMs === undefined ? {} : { failingSinceMs }),
    ...(failure === undefined ? {} : { failure: failure.text, failedMs: failure.atMs }),
  };
}
