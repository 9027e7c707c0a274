/** `tidemark feeds` as text and as JSON. Pure. */
import { behindMs, feedHealth, feedRemedy } from "../../inspection/feed-checks.ts";
import type { FeedLag } from "../../inspection/feed-lag.ts";
import type { SeenFeed, SeenFeeds } from "../../inspection/feeds.ts";
import * as limits from "../../inspection/limits.ts";
import { counted, momentText, spanText } from "../../inspection/words/moments.ts";
import { plainText } from "../../inspection/words/plain-text.ts";
import { failureCell, inColumns } from "../shell/columns.ts";
import type { Styles } from "../shell/styles.ts";

export function feedListLines(
  { feeds, isCut, removed }: SeenFeeds,
  nowMs: number,
  styles: Styles,
): readonly string[] {
  if (feeds.length === 0) return ["there is no feed: no consumer with a name has begun"];
  const columns = [
    { title: "name" },
    { title: "behind", align: "right" },
    { title: "blocks", align: "right" },
    { title: "held by" },
    { title: "for", align: "right" },
    { title: "last progress", align: "right" },
    { title: "failures", align: "right" },
    { title: "last failure" },
  ] as const;
  const rows = feeds.map((feed) => [
    painted(plainText(feed.name), feed, nowMs, styles),
    behindText(feed, nowMs),
    feed.lag === undefined ? "–" : feed.lag.blocks.toString(),
    holderText(feed),
    feed.holder === undefined ? "" : spanText(feed.heldUntilMs - nowMs),
    agoText(feed.notes?.movedMs, nowMs),
    feed.notes === undefined ? "–" : feed.notes.failures.toString(),
    failureCell(feed.notes?.failure?.text ?? ""),
  ]);
  const ill = feeds.find((feed) => feedHealth(feed, nowMs).level === "bad");
  return [
    ...inColumns(columns, rows, styles),
    ...(isCut ? [`and more: only ${limits.feedsMax} are looked at`] : []),
    ...(removed.length === 0 ? [] : [styles.faint(removedText(removed))]),
    ...(ill === undefined ? [] : ["", adviceLine(ill, nowMs, styles)]),
  ];
}

export function oneFeedLines(feed: SeenFeed, nowMs: number, styles: Styles): readonly string[] {
  const { name, position, notes, lag } = feed;
  const health = feedHealth(feed, nowMs);
  const isBehind = lag !== undefined && lag.oldest !== undefined;
  const blocks = isBehind ? `, ${counted(lag.blocks, "block")}` : "";
  return [
    `${styles.strong(plainText(name))}: ${painted(health.text, feed, nowMs, styles)}`,
    position === undefined
      ? "it has no position"
      : `at ${momentText(position.timestamp)} (${feed.positionText ?? ""}), ` +
        `behind: ${behindText(feed, nowMs)}${blocks}`,
    ...shardLines(feed, nowMs),
    feed.holder === undefined
      ? `nobody is at it, last heard of ${agoText(feed.heardMs, nowMs)}`
      : `held by ${feed.holder} for ${spanText(feed.heldUntilMs - nowMs)} yet, ` +
        `last heard of ${agoText(feed.heardMs, nowMs)}`,
    ...(feed.damage !== undefined
      ? []
      : notes === undefined
        ? ["whoever was at it tells nothing more: it is of a release before this one"]
        : [
            `tables: ${tablesText(notes)}`,
            `last progress: ${dateText(notes.movedMs)} (${agoText(notes.movedMs, nowMs)})`,
            ...(notes.resetMs === undefined
              ? []
              : [`moved by an operator: ${dateText(notes.resetMs)}`]),
            ...(notes.failure === undefined
              ? []
              : [
                  `failed ${counted(notes.failures, "time")} in a row${failingText(notes)}, ` +
                    `last at ${dateText(notes.failure.atMs)}: ${plainText(notes.failure.text)}`,
                ]),
          ]),
    ...(health.level === "bad" ? [adviceLine(feed, nowMs, styles)] : []),
  ];
}

function failingText({ failingSinceMs }: NonNullable<SeenFeed["notes"]>): string {
  return failingSinceMs === undefined ? "" : ` since ${dateText(failingSinceMs)}`;
}

/** Of several logs each has another end. */
function shardLines({ lag }: SeenFeed, nowMs: number): readonly string[] {
  const shards = lag?.shards ?? [];
  if (shards.length < 2) return [];
  return shards.map((each) => {
    const behind = behindText({ lag: each }, nowMs);
    const blocks = each.blocks === 0 ? "" : `, ${counted(each.blocks, "block")}`;
    return `  shard ${each.number}: behind: ${behind}${blocks}`;
  });
}

const removedShown = 10;

function removedText(removed: readonly string[]): string {
  const more = removed.length - removedShown;
  const names = removed.slice(0, removedShown).map((name) => plainText(name));
  return `removed: ${names.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

function painted(text: string, feed: SeenFeed, nowMs: number, styles: Styles): string {
  const { level } = feedHealth(feed, nowMs);
  return level === "bad" ? styles.bad(text) : level === "warning" ? styles.warning(text) : text;
}

function behindText(feed: BehindOf, nowMs: number): string {
  const { lag } = feed;
  if (lag === undefined) return "–";
  if (lag.isExpired) return "expired";
  return lag.oldest === undefined ? "0" : spanText(behindMs(feed, nowMs));
}

type BehindOf = { readonly lag: Omit<FeedLag, "shards"> | undefined };

/** Enough to tell two of them apart. */
const holderShown = 8;

function holderText({ holder }: SeenFeed): string {
  return holder === undefined ? "nobody" : plainText(holder.slice(0, holderShown));
}

function tablesText({ tables, tablesMore }: NonNullable<SeenFeed["notes"]>): string {
  if (tables === undefined) return "all";
  const more = tablesMore === 0 ? "" : `, and ${tablesMore} more`;
  return `${plainText(tables.join(", "))}${more}`;
}

function adviceLine(feed: SeenFeed, nowMs: number, styles: Styles): string {
  return styles.faint(`→ ${feedRemedy(feed, nowMs)}`);
}

function agoText(ms: number | undefined, nowMs: number): string {
  return ms === undefined ? "–" : `${spanText(nowMs - ms)} ago`;
}

function dateText(ms: number | undefined): string {
  return ms === undefined ? "–" : new Date(ms).toISOString();
}

export function feedListJson({ feeds, isCut, removed }: SeenFeeds, nowMs: number): object {
  return { feeds: feeds.map((feed) => feedJson(feed, nowMs)), isCut, removed };
}

export function feedJson(feed: SeenFeed, nowMs: number): object {
  const { name, position, positionText, holder, heldUntilMs, heardMs, turn, notes, lag } = feed;
  const isoOf = (ms: number | undefined) => (ms === undefined ? undefined : dateText(ms));
  return {
    ...{ name, health: feedHealth(feed, nowMs), position: positionText },
    at: position && momentText(position.timestamp),
    behindMs: lag && Math.round(behindMs(feed, nowMs)),
    behindBlocks: lag?.blocks,
    isExpired: lag?.isExpired,
    shards: lag?.shards.map((each) => ({
      ...{ shard: each.number, behindMs: Math.round(behindMs({ lag: each }, nowMs)) },
      ...{ behindBlocks: each.blocks, isExpired: each.isExpired },
    })),
    ...{ holder, heldUntil: holder && isoOf(heldUntilMs), lastHeardOf: isoOf(heardMs), turn },
    tables: notes?.tables,
    moreTables: notes?.tablesMore,
    lastProgress: isoOf(notes?.movedMs),
    movedByOperator: isoOf(notes?.resetMs),
    failures: notes?.failures,
    failingSince: isoOf(notes?.failingSinceMs),
    failure: notes?.failure?.text,
    failedAt: isoOf(notes?.failure?.atMs),
  };
}
