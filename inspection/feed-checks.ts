/** What is well with consumers of changes, and what is not. Pure, but for the look itself. */
import type { SeenFeed } from "./feeds.ts";
import type { Level } from "./findings.ts";
import * as limits from "./limits.ts";
import { counted, spanText } from "./words/moments.ts";
import { plainText } from "./words/plain-text.ts";

export type FeedHealth = {
  readonly level: Exclude<Level, "unknown">;
  /** In a few words. */
  readonly text: string;
};

/** Age of the oldest commit that it has not come to. */
export function behindMs({ lag }: Pick<SeenFeed, "lag">, nowMs: number): number {
  return lag?.oldest === undefined ? 0 : Math.max(0, nowMs - lag.oldest / 1_000);
}

export function feedHealth(feed: SeenFeed, nowMs: number): FeedHealth {
  const { position, lag, damage } = feed;
  const failures = feed.notes?.failures ?? 0;
  if (damage !== undefined) return { level: "bad", text: `is damaged: ${plainText(damage)}` };
  if (lag?.isExpired === true) {
    return { level: "bad", text: "has lost what follows its position: that has expired" };
  }
  const behind = behindMs(feed, nowMs);
  const isBehind = behind >= limits.feedBehindWarningMs;
  const text = [
    ...(failures === 0 ? [] : [`has failed ${counted(failures, "time")} in a row`]),
    ...(isBehind ? [`is behind by ${spanText(behind)}`] : []),
  ].join(", ");
  if (behind >= limits.feedBehindBadMs) return { level: "bad", text };
  if (isBehind && failures > 0) return { level: "bad", text };
  if (isBehind || failures > 0) return { level: "warning", text };
  return { level: "fine", text: position === undefined ? "has not begun" : "is well" };
}
