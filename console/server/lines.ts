/** Blocks and shards, as the command line's readers give them, in the page's terms. Pure. */
import { isWholeRange, type ShardRange } from "../../core/shard-map.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import { asOfWithoutHistoryMsMax } from "../../core/limits.ts";
import { oldestKept } from "../../core/history.ts";
import type { Deployment } from "../../inspection/deployment.ts";
import { healthOf, type Finding } from "../../inspection/findings.ts";
import type { NamedWrite } from "../../inspection/names.ts";
import type { OpenPart, ShardState } from "../../inspection/shard-state.ts";
import type { ShownBlock, ShownVerdict } from "../../inspection/shown-block.ts";
import { transactionsIn, wayOf } from "../../inspection/tally.ts";
import { boundText, itemJson } from "../../inspection/words/values.ts";
import { makerText, reasonText } from "../../inspection/words/decisions.ts";
import * as limits from "../limits.ts";
import type {
  BlockLine,
  FindingLine,
  OpenLine,
  ShardLine,
  State,
  TableLine,
  VerdictLine,
  WireItem,
  WriteLine,
} from "../wire.ts";

export function wireItem(item: Item): WireItem {
  return itemJson(item) as WireItem;
}

export function blockLine({ log, position, bytes, block, fault, verdicts }: ShownBlock): BlockLine {
  const where = { shard: log.number, position, bytes };
  if (block === undefined) {
    const nothing = { timestamp: 0, maker: "unknown", verdicts: [], more: 0 };
    return { ...where, ...nothing, fault: fault ?? "it does not decode" };
  }
  const shown = verdicts.slice(0, limits.verdictsShownMax);
  return {
    ...where,
    timestamp: block.throughTimestamp,
    maker: makerText(block),
    verdicts: shown.map((each) => verdictLine(each, block.maker !== undefined)),
    more: verdicts.length - shown.length,
  };
}

function verdictLine({ verdict, tables, writes }: ShownVerdict, isClients: boolean): VerdictLine {
  const { kind, id } = verdict;
  const plain = { kind, id, tables };
  switch (verdict.kind) {
    case "committed":
      return {
        ...plain,
        way: wayOf(verdict, isClients),
        ...(writes === undefined
          ? {}
          : { writes: writes.slice(0, limits.writesShownMax).map((each) => writeLine(each)) }),
      };
    case "aborted":
      return { ...plain, detail: reasonText(verdict.reason) };
    case "prepared":
      return {
        ...plain,
        detail:
          verdict.parts === undefined ? "awaits its vote" : `a part of ${verdict.parts.length}`,
      };
    case "stale":
      return { ...plain, detail: "its check was too old: sent again" };
    case "busy":
      return { ...plain, detail: `${verdict.inTheWay} is in the way: sent again` };
  }
}

export function writeLine({ table, key, item }: NamedWrite, showsItem = false): WriteLine {
  return {
    op: item === undefined ? "delete" : "put",
    ...{ table, key: wireItem(key) },
    ...(showsItem && item !== undefined ? { item: wireItem(item) } : {}),
  };
}

export function stateOf(
  states: readonly ShardState[],
  findings: readonly Finding[],
  { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
): State {
  const open = openLines(states.flatMap((state) => state.open));
  return {
    ...{ nowMs, windowMs },
    health: healthOf(findings),
    findings: findings.slice(0, limits.findingsShownMax) satisfies readonly FindingLine[],
    shards: states.map(shardLine),
    open: open.slice(0, limits.openShownMax),
    openTotal: open.length,
  };
}

/** A transaction over several shards is open once. */
function openLines(parts: readonly OpenPart[]): readonly OpenLine[] {
  const all = new Map<string, OpenLine>();
  for (const { id, since, writes, parts: of } of parts) {
    const known = all.get(id);
    all.set(id, {
      id,
      since: Math.min(since, known?.since ?? since),
      writes: writes + (known?.writes ?? 0),
      parts: of,
    });
  }
  return [...all.values()].sort((a, b) => a.since - b.since);
}

function shardLine({ log, end, watermark, waiting, tally, open }: ShardState): ShardLine {
  const { position, timestamp } = end ?? {};
  return {
    number: log.number,
    name: log.shard,
    from: boundText(log.range.from),
    share: shareOf(log.range),
    ...(position === undefined || timestamp === undefined ? {} : { end: { position, timestamp } }),
    ...(watermark === undefined
      ? {}
      : { watermark: { position: watermark.position, timestamp: watermark.timestamp } }),
    waiting: { blocks: waiting.blocks, oldestMs: Math.round(waiting.oldestMs) },
    commits: transactionsIn([tally]),
    ...{ blocks: tally.blocks, bytes: tally.bytes, spanMs: Math.round(tally.spanMs) },
    open: open.length,
  };
}

function shareOf(range: ShardRange): number {
  return isWholeRange(range) ? 100 : ((range.to - range.from) / 2 ** 32) * 100;
}

/** What is the oldest moment now is too old when it is asked for: so much later it may be. */
const askedLaterMs = 60_000;

export function tableLine(
  { registry }: Pick<Deployment, "registry">,
  table: TableDescription,
  atMs: number,
): TableLine {
  const { name, partitionKey, sortKey, access, history } = table;
  const nowMs = atMs + askedLaterMs;
  const kept = oldestKept(registry.retention, nowMs);
  // Without history nothing but tombstones tells of the past.
  const without = Math.max(kept, (nowMs - asOfWithoutHistoryMsMax) * 1_000) as Timestamp;
  const begun = Math.max(kept, table.historySince ?? 0) as Timestamp;
  return {
    ...{ name, partitionKey, access, history, base: table.baseSince !== undefined },
    ...(sortKey === undefined ? {} : { sortKey }),
    since: history ? Math.min(begun, without) : without,
  };
}
