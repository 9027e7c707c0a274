/** `tidemark status` as text and as JSON. Pure. */
import { healthOf, type Finding } from "../../inspection/findings.ts";
import type { OpenPart, ShardState } from "../../inspection/shard-state.ts";
import { transactionsIn, type Tally, type Ways } from "../../inspection/tally.ts";
import { inColumns } from "../shell/columns.ts";
import { counted, momentText, rateText, spanText } from "../../inspection/words/moments.ts";
import type { Styles } from "../shell/styles.ts";
import { findingLines } from "./findings.ts";

export type Status = {
  readonly deployment: string;
  readonly place: string;
  readonly nowMs: number;
  readonly windowMs: number;
  readonly streamless: boolean;
  readonly tables: { readonly all: number; readonly mixed: number; readonly moving: number };
  /** BASE transactions; undefined: no table takes them, or they are not to be seen. */
  readonly bases: Readonly<Record<"open" | "parked" | "damaged", number>> | undefined;
  /** Consumers of changes; undefined: they are not to be seen. */
  readonly feeds: { readonly all: number; readonly ill: number } | undefined;
  readonly shards: readonly ShardState[];
  readonly findings: readonly Finding[];
};

/** One line that a prompt or a pipe takes. */
export function minimalStatus(status: Status, styles: Styles): string {
  const { shards, bases, feeds } = status;
  const parts = [
    healthText(status, styles),
    `lag ${spanText(lagMs(shards))}`,
    `${rateText(committedIn(shards), spanOf(shards))} commits/s`,
    `${openIds(shards).size} open`,
    ...(bases === undefined || bases.open === 0 ? [] : [basesText(bases)]),
    ...(feeds === undefined || feeds.ill === 0 ? [] : [feedsText(feeds)]),
    ...(shards.length > 1 ? [`${shards.length} shards`] : []),
  ];
  return parts.join(" · ");
}

export function statusLines(status: Status, styles: Styles): readonly string[] {
  const { deployment, place, streamless, tables, bases, feeds, shards, findings } = status;
  const special = [
    ...(tables.mixed > 0 ? [`${tables.mixed} mixed`] : []),
    ...(tables.moving > 0 ? [`${tables.moving} on its way`] : []),
  ];
  const more = special.length === 0 ? "" : ` (${special.join(", ")})`;
  return [
    `${styles.strong(`${deployment} ${place}`)}: ${healthText(status, styles)}`,
    `${counted(tables.all, "table")}${more}, ${counted(shards.length, "shard")}, ` +
      (streamless ? "tables alone: no stream" : "a stream") +
      (bases === undefined ? "" : `, ${basesText(bases)}`) +
      (feeds === undefined || feeds.all === 0 ? "" : `, ${feedsText(feeds)}`),
    "",
    ...shardLines(status, styles),
    "",
    ...activityLines(status),
    ...openLines(status, styles),
    "",
    ...findingLines(findings, styles),
  ];
}

function basesText({ open, parked, damaged }: NonNullable<Status["bases"]>): string {
  const stuck = [
    ...(parked === 0 ? [] : [`${parked} parked`]),
    ...(damaged === 0 ? [] : [`${damaged} damaged`]),
  ];
  const more = stuck.length === 0 ? "" : ` (${stuck.join(", ")})`;
  return `${counted(open, "BASE transaction")} open${more}`;
}

function feedsText({ all, ill }: NonNullable<Status["feeds"]>): string {
  return `${counted(all, "feed")}${ill === 0 ? "" : ` (${ill} ill)`}`;
}

function healthText({ findings }: Status, styles: Styles): string {
  switch (healthOf(findings)) {
    case "bad":
      return styles.bad("unhealthy");
    case "warning":
      return styles.warning("look at it");
    case "fine":
      return styles.good("healthy");
  }
}

function shardLines({ shards, nowMs }: Status, styles: Styles): readonly string[] {
  const columns = [
    { title: "shard", align: "right" },
    { title: "log end", align: "right" },
    { title: "newest commit or abort" },
    { title: "ago", align: "right" },
    { title: "watermark", align: "right" },
    { title: "behind", align: "right" },
    { title: "blocks/s", align: "right" },
    { title: "open", align: "right" },
  ] as const;
  const rows = shards.map(({ log, end, watermark, waiting, tally, open }) => [
    log.number.toString(),
    end === undefined ? "–" : end.position.toString(),
    end === undefined ? "–" : momentText(end.timestamp),
    end === undefined || end.timestamp === 0 ? "–" : spanText(nowMs - end.timestamp / 1_000),
    watermark === undefined ? "–" : watermark.position.toString(),
    waiting.blocks === 0 ? "0" : `${waiting.blocks} (${spanText(waiting.oldestMs)})`,
    rateText(tally.blocks, tally.spanMs),
    open.length.toString(),
  ]);
  return inColumns(columns, rows, styles);
}

function activityLines({ shards, windowMs }: Status): readonly string[] {
  const tallies = shards.map(({ tally }) => tally);
  const committed = committedIn(shards);
  const spanMs = spanOf(shards);
  const ways = waysOf(tallies);
  const sum = (of: (tally: Tally) => number): number => total(tallies.map(of));
  const named = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  const inBrackets = (text: string): string => (text === "" ? "" : ` (${text})`);
  const aborts = abortsOf(tallies);
  const aborted = total(Object.values(aborts));
  const again = { stale: sum(({ stale }) => stale), busy: sum(({ busy }) => busy) };
  const made = {
    "by oracles": sum(({ byOracle }) => byOracle),
    "by clients": sum(({ byClients }) => byClients),
  };
  const rejected = sum(({ rejectedRecords }) => rejectedRecords);
  const cut = tallies.some((tally) => tally.spanMs < windowMs - 1) ? " at least" : "";
  return [
    `In the last ${spanText(spanMs)}:`,
    `  committed  ${committed}${cut}, ${rateText(committed, spanMs)}/s${inBrackets(named(ways))}`,
    `  aborted    ${aborted}${inBrackets(named(aborts))}`,
    `  sent again ${again.stale + again.busy}${inBrackets(named(again))}`,
    `  blocks     ${sum(({ blocks }) => blocks)}${inBrackets(named(made))}, ` +
      `${(sum(({ bytes }) => bytes) / 1024).toFixed(1)} KiB`,
    ...(rejected === 0 ? [] : [`  records refused as none of ours: ${rejected}`]),
  ];
}

function openLines({ shards, nowMs }: Status, styles: Styles): readonly string[] {
  const all = openIds(shards);
  if (all.size === 0) return [];
  const columns = [
    { title: "open transaction" },
    { title: "for", align: "right" },
    { title: "writes", align: "right" },
    { title: "shards", align: "right" },
  ] as const;
  const rows = [...all.values()].map(({ id, since, writes, parts }) => [
    id,
    spanText(nowMs - since / 1_000),
    writes.toString(),
    parts.toString(),
  ]);
  return ["", ...inColumns(columns, rows, styles)];
}

/** By id: a transaction over several shards is open once. */
function openIds(shards: readonly ShardState[]): ReadonlyMap<string, OpenPart> {
  const all = new Map<string, OpenPart>();
  for (const each of shards.flatMap(({ open }) => open)) {
    const known = all.get(each.id);
    const writes = (known?.writes ?? 0) + each.writes;
    all.set(each.id, { ...(known ?? each), writes });
  }
  return all;
}

function waysOf(tallies: readonly Tally[]): Readonly<Record<string, number>> {
  const sum = (way: keyof Ways): number => total(tallies.map(({ committed }) => committed[way]));
  const parts = new Set(tallies.flatMap(({ partIds }) => [...partIds])).size;
  return {
    express: sum("express"),
    "by the stream": sum("stream"),
    "by vote": sum("vote"),
    "over several shards": parts,
  };
}

function abortsOf(tallies: readonly Pick<Tally, "aborted">[]): Readonly<Record<string, number>> {
  const reasons = new Map(tallies.flatMap(({ aborted }) => [...aborted]));
  const all: Record<string, number> = {};
  for (const reason of reasons.values()) all[reason] = (all[reason] ?? 0) + 1;
  return all;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

function committedIn(shards: readonly ShardState[]): number {
  return transactionsIn(shards.map(({ tally }) => tally));
}

/** The shortest: what all numbers are of at least. */
function spanOf(shards: readonly ShardState[]): number {
  return Math.min(...shards.map(({ tally }) => tally.spanMs));
}

function lagMs(shards: readonly ShardState[]): number {
  return Math.max(...shards.map(({ waiting }) => waiting.oldestMs));
}

export function statusJson(status: Status): object {
  const { shards, findings, nowMs, ...rest } = status;
  const tallies = shards.map(({ tally }) => tally);
  return {
    ...rest,
    time: new Date(nowMs).toISOString(),
    health: healthOf(findings),
    lagMs: Math.round(lagMs(shards)),
    committed: committedIn(shards),
    spanMs: Math.round(spanOf(shards)),
    ways: waysOf(tallies),
    aborted: abortsOf(tallies),
    shards: shards.map(shardJson),
    findings,
  };
}

/** Also of `tidemark shards`. */
export function shardJson(state: ShardState): object {
  const { log, end, watermark, waiting, tally, open, openIsPartial, fault } = state;
  const { partIds, aborted: _, ...counts } = tally;
  const { deadLetters, undecided, reapedMs } = state;
  return {
    shard: log.shard,
    number: log.number,
    range: log.range,
    end: end === undefined ? undefined : { position: end.position, timestamp: end.timestamp },
    watermark: watermark && { position: watermark.position, timestamp: watermark.timestamp },
    waiting: { blocks: waiting.blocks, oldestMs: Math.round(waiting.oldestMs) },
    tally: {
      ...counts,
      spanMs: Math.round(counts.spanMs),
      overShards: partIds.size,
      aborted: abortsOf([tally]),
    },
    open,
    openIsPartial,
    fault,
    deadLetters,
    undecided,
    reapedAt: typeof reapedMs === "number" ? new Date(reapedMs).toISOString() : reapedMs,
  };
}
