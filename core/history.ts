/**
 * What is kept of the past, from when on, and how changes of that come into force. Pure: who asks
 * gives the time.
 *
 * A read in the past takes a row that is absent for one that was absent, so it may reach back only
 * as far as every tombstone is sure to stand. Which tombstones stand follows from what held when
 * they were reaped: so the past begins where history was switched on, or its retention lengthened;
 * and what is switched off or shortened stays in force, for the reaper, until no reader can go by
 * it any more.
 */
import { assert } from "./assert.ts";
import * as limits from "./limits.ts";
import type { HistoryRetention, TableDescription, Timestamp } from "./types.ts";

/** Where nobody has said how long. */
export const retentionDefault: HistoryRetention = {
  retentionMs: limits.historyRetentionMsDefault,
  since: 0 as Timestamp,
  previousMs: limits.historyRetentionMsDefault,
  changedMs: 0,
};

/** The deployment's retention after somebody wants another one at `nowMs`. */
export function retentionAfter(
  before: HistoryRetention,
  { retentionMs, nowMs }: { readonly retentionMs: number; readonly nowMs: number },
): HistoryRetention {
  if (retentionMs === before.retentionMs) return before;
  const oldest = microsOf(nowMs - before.retentionMs);
  const longer = retentionMs > before.retentionMs;
  return {
    retentionMs,
    since: longer && oldest > before.since ? oldest : before.since,
    previousMs: retentionInForceMs(before, nowMs),
    changedMs: nowMs,
  };
}

/** The longest retention that a reader may still go by. */
function retentionInForceMs(
  { retentionMs, previousMs, changedMs }: HistoryRetention,
  nowMs: number,
): number {
  return nowMs < changedMs + limits.historyChangeMs
    ? Math.max(previousMs, retentionMs)
    : retentionMs;
}

/** The oldest moment that is kept, for a reader whose clock says `nowMs`. */
export function oldestKept({ retentionMs, since }: HistoryRetention, nowMs: number): Timestamp {
  return Math.max(since, microsOf(nowMs - retentionMs)) as Timestamp;
}

type TableHistory = Pick<TableDescription, "history" | "historySince" | "historyKeptUntilMs">;

/**
 * A table's history after it is registered at `nowMs`. A table that is used gets one only once
 * every client knows: until then some of them install without saving what they supersede.
 * @param before undefined for a table that was not registered: nobody can have used it.
 */
export function tableHistoryAfter(
  before: TableHistory | undefined,
  { history, nowMs }: { readonly history: boolean; readonly nowMs: number },
): TableHistory {
  if (before === undefined) {
    return history ? { history, historySince: microsOf(nowMs) } : { history };
  }
  if (history === before.history) {
    // Of a table's whole description no more than this: the rest is being registered anew.
    const { historySince, historyKeptUntilMs } = before;
    return {
      history,
      ...(historySince === undefined ? {} : { historySince }),
      ...(historyKeptUntilMs === undefined ? {} : { historyKeptUntilMs }),
    };
  }
  if (!history) return { history, historyKeptUntilMs: nowMs + limits.historyChangeMs };
  return { history, historySince: microsOf(nowMs + limits.historyChangeMs) };
}

/** Whether reads of this moment need nothing but what the table's history keeps. */
export function isInHistory(
  { history, historySince = 0 as Timestamp }: TableHistory,
  at: Timestamp,
) {
  // mutant: beginning-of-history-ignored
  return history && at >= historySince;
}

/**
 * How long ago the watermark must have passed a tombstone for the reaper to remove it.
 * @param table undefined for one that is not registered any more: it may have had a history.
 */
export function tombstoneLifeMs(
  table: TableHistory | undefined,
  retention: HistoryRetention,
  nowMs: number,
): number {
  const keeps = table === undefined || table.history || nowMs < (table.historyKeptUntilMs ?? 0);
  // mutant: history-reaped-early
  if (!keeps) return limits.tombstoneGraceMs;
  // mutant: retention-without-margin
  const lifeMs = retentionInForceMs(retention, nowMs) + limits.readerMarginMs;
  assert(lifeMs >= limits.tombstoneGraceMs, "I6: history never lets tombstones go earlier");
  return lifeMs;
}

function microsOf(ms: number): Timestamp {
  return Math.max(0, Math.ceil(ms) * 1000) as Timestamp;
}
