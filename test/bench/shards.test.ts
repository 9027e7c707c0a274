/** The figures of several shards: what is pure in them, and each of them once, very small. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { chartsOf } from "../../bench/shards/charts.ts";
import { runFigure, type ShardsFigures } from "../../bench/shards/figures.ts";
import { naiveValidators } from "../../bench/shards/naive-validators.ts";
import { briefPlan, type FigureName, figureNames } from "../../bench/shards/plan.ts";
import { storedFigures, storedShards, storeFigures } from "../../bench/shards/stored-shards.ts";
import { tablesOf } from "../../bench/shards/tables.ts";
import { deviations, targetsOf } from "../../bench/shards/targets.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";

/** For a machine with much else to do: whole worlds take seconds of processor time. */
const patienceMs = 180_000;

const run = { seed: 3, plan: briefPlan, onRow: () => undefined };

let figures: ShardsFigures;
beforeAll(async () => {
  const all: Partial<Record<FigureName, unknown>> = {};
  for (const name of figureNames) all[name] = await runFigure(name, run);
  figures = all as ShardsFigures;
}, patienceMs);

describe("the figures of several shards", { timeout: patienceMs }, () => {
  test.each(["crossShard", "spurious", "oneOfMany"] as const)(
    "of the same seed are the same: %s",
    async (name) => {
      expect(await runFigure(name, run)).toEqual(figures[name]);
    },
  );

  test("of another seed are others", async () => {
    expect(await runFigure("crossShard", { ...run, seed: 4 })).not.toEqual(figures.crossShard);
  });

  test("count as many shards for a transaction as it can touch", () => {
    for (const { shards, parts, requests, committedShare } of figures.work) {
      expect(parts).toBeGreaterThanOrEqual(1);
      expect(parts).toBeLessThanOrEqual(shards);
      // A lone commit is one request; a part is prepared, and its outcome entered, which of the
      // first ones of a turn are those of the turn before.
      expect(requests).toBeLessThanOrEqual(3 * shards);
      expect(committedShare).toBeGreaterThan(0.5);
    }
    const alone = figures.work.filter(({ shards }) => shards === 1);
    expect(alone.map(({ requests }) => requests)).toEqual(alone.map(() => 1));
  });

  test("hardly any of its aborts is for nothing, where many meet over several shards", () => {
    const own = figures.spurious.filter(({ variant }) => variant === "tidemark");
    // Of two that each wait for the other one has to end: 200 records are few for this, and one of
    // some sixty runs is.
    for (const { spuriousShare } of own) expect(spuriousShare).toBeLessThan(0.02);
    for (const { runs, aborted } of own) {
      expect(runs).toBeGreaterThan(20);
      expect(aborted).toBeGreaterThan(0);
    }
  });

  test("read-only transactions need no oracle, at any share of writes", () => {
    for (const { transactions, withoutOracle } of figures.readOnly) {
      expect(transactions).toBeGreaterThan(5);
      expect(withoutOracle).toBe(1);
    }
    expect(figures.readOnly.some(({ writesPerSecond }) => writesPerSecond > 0)).toBe(true);
  });

  test("commit over two shards in one round trip, and install after one more", () => {
    for (const { access, touched, phases } of figures.crossShard) {
      if (access === "mixed" || touched === 1) continue;
      expect(phases.install).toBeGreaterThan(phases.certify);
    }
  });

  test("fail nowhere", () => {
    for (const { failures } of [...figures.throughput, ...figures.tatp]) expect(failures).toBe(0);
    for (const { committedPerSecond } of figures.throughput) {
      expect(committedPerSecond).toBeGreaterThan(0);
    }
  });

  test("stall an install where they say so, and only there", () => {
    const [calm, stalled] = figures.outlier;
    expect(calm?.stalls).toBe(0);
    expect(stalled?.stalls).toBe(1);
  });

  test("go on through a split, with more shards than before", () => {
    expect(figures.elastic.length).toBeGreaterThan(2);
    for (const { splitMs, before, around, after } of figures.elastic) {
      expect(splitMs).toBeGreaterThan(0);
      for (const window of [before, around, after]) {
        expect(window.committedPerSecond).toBeGreaterThan(1);
      }
    }
  });

  test("by the stream stand still where the oracle is down, and nowhere else", () => {
    const byStream = figures.deadOracle.filter(({ commit }) => commit === "stream");
    const of = (kind: string) => byStream.find(({ touches }) => touches === kind);
    expect(of("there")?.before.committedPerSecond).toBeGreaterThan(0);
    // What had been certified before may be installed still.
    expect(of("there")?.down.committedPerSecond).toBeLessThan(1);
    expect(of("there")?.after.longestMs).toBeGreaterThan(1_000);
    expect(of("elsewhere")?.down.committedPerSecond).toBeGreaterThan(2);
    const express = figures.deadOracle.filter(({ commit }) => commit === "auto");
    expect(express.find(({ touches }) => touches === "there")?.down.committedPerSecond) //
      .toBeGreaterThan(2);
  });

  test("who meets the part of a client that died waits, and commits", () => {
    for (const { met, alone, longestMs, watermarkMs } of figures.orphans) {
      // Its client has a while, as anything open does.
      expect(met.p50).toBeGreaterThan(alone.p50 + 100);
      expect(longestMs).toBeLessThan(10_000);
      // Replay settles after five seconds what nobody meets, at the latest when it is its turn.
      expect(watermarkMs.p99).toBeGreaterThan(5_000);
      expect(watermarkMs.p99).toBeLessThan(90_000);
    }
  });

  test("are told as targets, tables and charts, with a value or a gap at every label", () => {
    expect(targetsOf(figures).length).toBeGreaterThan(6);
    for (const { head, rows } of tablesOf(figures)) {
      for (const row of rows) expect(row).toHaveLength(head.length);
    }
    for (const { title, labels, series } of chartsOf(figures)) {
      for (const { values } of series) {
        expect(values, title).toHaveLength(labels.length);
        expect(
          values.every((value) => value === null || Number.isFinite(value)),
          title,
        ).toBe(true);
      }
    }
    expect(tablesOf({})).toEqual([]);
    expect(chartsOf({})).toEqual([]);
  });

  test("are a section of the report once they are stored, and none before", () => {
    const folder = mkdtempSync(join(tmpdir(), "shards-"));
    try {
      const path = join(folder, "shards.json");
      expect(storedShards(path)).toEqual([]);
      storeFigures(path, 3, figures);
      const [section] = storedShards(path);
      expect(section?.parts).toHaveLength(tablesOf(figures).length + chartsOf(figures).length);
      expect(storedFigures(path, 3)).toEqual(figures);
      expect(storedFigures(path, 4)).toEqual({});
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("validators without feedback", () => {
  const task = {
    ...{ validators: 2, records: 500, reads: 4, writes: 4, concurrent: 10, transactions: 4_000 },
    watermarkEvery: 1,
  };

  test("abort for nothing the more, the rarer watermarks are", () => {
    const [often, seldom] = [1, 2_000].map((watermarkEvery) =>
      naiveValidators({ ...task, watermarkEvery }, new SeededRandom("naive")),
    );
    expect(seldom?.spurious ?? 0).toBeGreaterThan(2 * (often?.spurious ?? Infinity));
  });

  test("of which there is one never abort for nothing", () => {
    const lone = naiveValidators({ ...task, validators: 1 }, new SeededRandom("naive"));
    expect(lone.spurious).toBe(0);
    expect(lone.aborted).toBeGreaterThan(0);
  });
});

test("a share of conflicts is told from another by chance's own deviation", () => {
  const calm = { conflictShare: 0.05, committed: 9_500 };
  expect(deviations(calm, calm)).toBe(0);
  // 10,000 runs each: of 5 %, chance's deviation of the difference is 0.31 %.
  expect(deviations({ conflictShare: 0.06, committed: 9_400 }, calm)).toBeCloseTo(3.1, 1);
});
