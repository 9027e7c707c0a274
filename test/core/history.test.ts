/** What is kept of the past: every moment that a reader may ask for still has its tombstones. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isInHistory,
  oldestKept,
  retentionAfter,
  retentionDefault,
  tableHistoryAfter,
  tombstoneLifeMs,
} from "../../core/history.ts";
import * as limits from "../../core/limits.ts";
import type { HistoryRetention, TableDescription, Timestamp } from "../../core/types.ts";

const { historyRetentionMsMin: min, historyChangeMs, tombstoneGraceMs } = limits;
const startMs = 1_000_000_000_000;
const micros = (ms: number): Timestamp => (ms * 1000) as Timestamp;
type TableHistory = Pick<TableDescription, "history" | "historySince" | "historyKeptUntilMs">;

describe("a table's history", () => {
  const used = tableHistoryAfter(undefined, { history: false, nowMs: startMs });

  test("of a table that nobody can have used begins with its registration", () => {
    const made = tableHistoryAfter(undefined, { history: true, nowMs: startMs });
    expect(isInHistory(made, micros(startMs))).toBe(true);
    expect(isInHistory(made, (micros(startMs) - 1) as Timestamp)).toBe(false);
  });

  test("of a table that is used begins once every client knows of it", () => {
    const on = tableHistoryAfter(used, { history: true, nowMs: startMs });
    expect(on.historySince).toBe(micros(startMs + historyChangeMs));
    // Said again, it is no new beginning.
    expect(tableHistoryAfter(on, { history: true, nowMs: startMs + 1e9 })).toEqual(on);
  });

  test("begins anew when it is switched off and on", () => {
    const on = tableHistoryAfter(used, { history: true, nowMs: startMs });
    const off = tableHistoryAfter(on, { history: false, nowMs: startMs + 1e9 });
    const again = tableHistoryAfter(off, { history: true, nowMs: startMs + 2e9 });
    expect(isInHistory(off, micros(startMs + 1e9))).toBe(false);
    expect(again.historySince).toBe(micros(startMs + 2e9 + historyChangeMs));
  });

  test("that is switched off keeps tombstones until no reader goes by it", () => {
    const on = tableHistoryAfter(undefined, { history: true, nowMs: startMs });
    const off = tableHistoryAfter(on, { history: false, nowMs: startMs + 1e9 });
    const life = (nowMs: number): number => tombstoneLifeMs(off, retentionDefault, nowMs);
    expect(life(startMs + 1e9 + historyChangeMs - 1)).toBeGreaterThan(tombstoneGraceMs);
    expect(life(startMs + 1e9 + historyChangeMs)).toBe(tombstoneGraceMs);
  });

  test("of a table that is registered no more may have been, and is treated so", () => {
    const kept = limits.historyRetentionMsDefault + limits.readerMarginMs;
    expect(tombstoneLifeMs(undefined, retentionDefault, startMs)).toBe(kept);
    expect(tombstoneLifeMs({ history: false }, retentionDefault, startMs)).toBe(tombstoneGraceMs);
  });
});

describe("the retention", () => {
  const hour = 3_600_000;

  test("when lengthened reaches no further back at first, and grows into its length", () => {
    const longer = retentionAfter(retentionDefault, { retentionMs: 3 * hour, nowMs: startMs });
    expect(oldestKept(longer, startMs)).toBe(micros(startMs - hour));
    expect(oldestKept(longer, startMs + hour)).toBe(micros(startMs - hour));
    expect(oldestKept(longer, startMs + 5 * hour)).toBe(micros(startMs + 2 * hour));
  });

  test("when shortened holds for tombstones until no reader goes by the longer one", () => {
    const shorter = retentionAfter(retentionDefault, { retentionMs: min, nowMs: startMs });
    const life = (nowMs: number): number => tombstoneLifeMs(undefined, shorter, nowMs);
    expect(oldestKept(shorter, startMs)).toBe(micros(startMs - min));
    expect(life(startMs + historyChangeMs - 1)).toBe(hour + limits.readerMarginMs);
    expect(life(startMs + historyChangeMs)).toBe(min + limits.readerMarginMs);
  });

  test("said again is no change", () => {
    const shorter = retentionAfter(retentionDefault, { retentionMs: min, nowMs: startMs });
    expect(retentionAfter(shorter, { retentionMs: min, nowMs: startMs + 1 })).toBe(shorter);
  });
});

/**
 * A life of a table, a minute a step: an operator changes what is kept, a reaper removes some,
 * readers go by what they read of the registry a while ago and by clocks that are wrong. Whatever a
 * reader is allowed to ask for, no tombstone of a later delete is gone while it reads.
 */
describe("I8: a reader meets the tombstone of every delete after its read timestamp", () => {
  type Registered = { readonly table: TableHistory; readonly retention: HistoryRetention };
  type Change = {
    readonly atMinute: number;
    readonly history: boolean;
    readonly retentionMs: number;
  };
  type Errors = Readonly<Record<"operator" | "reader" | "stream" | "sampler" | "remover", number>>;
  const minuteMs = 60_000;
  const minutes = 240;

  const client = fc.integer({ min: -5, max: 5 }).map((m) => m * minuteMs);
  const aws = fc.integer({ min: -limits.awsClockErrorMsMax, max: limits.awsClockErrorMsMax });
  const errors = fc.record({
    operator: client,
    reader: client,
    stream: aws,
    sampler: aws,
    remover: aws,
  });
  const changes = fc.array(
    fc.record({
      atMinute: fc.nat(minutes),
      history: fc.boolean(),
      retentionMs: fc.constantFrom(min, min + 10 * minuteMs, 2 * min, 3_600_000),
    }),
    { maxLength: 4 },
  );

  /** What the registry says at each minute. */
  function registryOver(plan: readonly Change[], { operator }: Errors): readonly Registered[] {
    const said: Registered[] = [];
    let table: TableHistory = tableHistoryAfter(undefined, { history: false, nowMs: startMs });
    let retention = retentionDefault;
    for (let minute = 0; minute <= 2 * minutes; minute += 1) {
      for (const { atMinute, history, retentionMs } of plan) {
        if (atMinute !== minute) continue;
        const nowMs = startMs + minute * minuteMs + operator;
        table = tableHistoryAfter(table, { history, nowMs });
        retention = retentionAfter(retention, { retentionMs, nowMs });
      }
      said.push({ table, retention });
    }
    return said;
  }

  /** The minute at which a delete's tombstone is gone, with a reaper that comes every minute. */
  function removedAt(said: readonly Registered[], deletedAt: number, clocks: Errors): number {
    for (const [minute, { table, retention }] of said.entries()) {
      if (minute < deletedAt) continue;
      const sampledMs = startMs + deletedAt * minuteMs + clocks.sampler;
      const nowMs = startMs + minute * minuteMs + clocks.remover;
      if (nowMs - sampledMs >= tombstoneLifeMs(table, retention, nowMs)) return minute;
    }
    return Infinity;
  }

  /** The oldest moment at which one that begins at `minute` may read, by what it has heard. */
  function oldestAsked(heard: Registered, minute: number, clocks: Errors): number {
    const nowMs = startMs + minute * minuteMs + clocks.reader;
    const plain = micros(nowMs - limits.asOfWithoutHistoryMsMax);
    const kept = oldestKept(heard.retention, nowMs);
    const { history, historySince = 0 } = heard.table;
    return history ? Math.min(plain, Math.max(kept, historySince)) : plain;
  }

  test("whatever changes, whoever's clock is wrong, and however old what it knows is", () => {
    const staleMinutes = Math.floor(limits.registryMsMax / minuteMs);
    fc.assert(
      fc.property(changes, errors, fc.nat(minutes), (plan, clocks, deletedAt) => {
        const said = registryOver(plan, clocks);
        const gone = removedAt(said, deletedAt, clocks);
        const deleted = micros(startMs + deletedAt * minuteMs + clocks.stream);
        const missed: string[] = [];
        // It may go on for a transaction's age, which is a minute, too.
        for (let minute = deletedAt; minute <= 2 * minutes; minute += 1) {
          if (minute + 1 < gone) continue;
          for (let stale = 0; stale <= staleMinutes; stale += 1) {
            const heard = said[minute - stale];
            if (heard === undefined) continue;
            if (oldestAsked(heard, minute, clocks) >= deleted) continue;
            missed.push(`minute ${minute.toString()}, gone at ${gone.toString()}`);
          }
        }
        expect(missed).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
