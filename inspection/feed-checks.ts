/** What is well with consumers of changes, and what is not. Pure. */
import { denied, type Allowed } from "./allowed.ts";
import type { FeedLag } from "./feed-lag.ts";
import type { SeenFeed, SeenFeeds } from "./feeds.ts";
import type { Finding, Level } from "./findings.ts";
import * as limits from "./limits.ts";
import { counted, spanText } from "./words/moments.ts";
import { plainText, shellWord } from "./words/plain-text.ts";

export type FeedHealth = {
  readonly level: Exclude<Level, "unknown">;
  /** In a few words. */
  readonly text: string;
};

/** Age of the oldest commit that it has not come to. */
export function behindMs(
  { lag }: { readonly lag: Pick<FeedLag, "oldest"> | undefined },
  nowMs: number,
): number {
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

const about = "feeds";

/** Nothing where there is none. The worst is named, and what to do about it. */
export function feedFindings(seen: Allowed<SeenFeeds>, nowMs: number): readonly Finding[] {
  if (seen === denied) {
    const remedy = "policy read-only has that right, as this release's module makes it";
    return [{ level: "unknown", about, text: "no right to see consumers of changes", remedy }];
  }
  const { feeds, isCut } = seen;
  if (feeds.length === 0) return [];
  const all = `${counted(feeds.length, "feed")}${isCut ? " at least" : ""}`;
  const ill = feeds.map((feed) => ({ feed, ...feedHealth(feed, nowMs) }));
  const worst =
    ill.find(({ level }) => level === "bad") ?? ill.find(({ level }) => level === "warning");
  if (worst === undefined) {
    const behind = Math.max(...feeds.map((feed) => behindMs(feed, nowMs)));
    const text = behind === 0 ? "all have caught up" : `at most ${spanText(behind)} behind`;
    return [{ level: "fine", about, text: `${all}, ${text}` }];
  }
  const others = ill.filter(({ level }) => level === worst.level).length - 1;
  const more = others === 0 ? "" : `; and ${others} more like it`;
  const text = `${all}: ${plainText(worst.feed.name)} ${worst.text}${more}`;
  return [{ level: worst.level, about, text, remedy: feedRemedy(worst.feed, nowMs) }];
}

/** What to do about one that is not well. */
export function feedRemedy(feed: SeenFeed, nowMs: number): string {
  const { name, lag, notes, damage } = feed;
  const word = shellWord(name);
  if (damage !== undefined) return `its item, feed#${plainText(name)}, was edited: put it right`;
  if (lag?.isExpired === true) {
    return (
      "derive anew from the tables what it derives, then " +
      `\`tidemark feeds reset ${word} --to beginning\`; \`feeds remove\` if nobody needs it`
    );
  }
  const what =
    (notes?.failures ?? 0) > 0
      ? `\`tidemark feeds show ${word}\` has the error: put its handler right where it runs`
      : feed.holder === undefined
        ? "nobody is at it: look whether its consumer runs"
        : "look at what its handler takes so long for";
  if (behindMs(feed, nowMs) < limits.feedBehindBadMs) return what;
  return `${what}; log and stream let go of what it has not come to (docs/operations.md, Feeds)`;
}
