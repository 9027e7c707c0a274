/** The figures of BASE transactions: each of them once, very small, and what is made of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { markdownOf } from "../../bench/report/stored-figures.ts";
import { saltContestants } from "../../bench/salt/contestants.ts";
import { figureNames, runFigure, type SaltRow, type SaltRows } from "../../bench/salt/figures.ts";
import { briefPlan } from "../../bench/salt/plan.ts";
import {
  chartsOf,
  storedFigures,
  storedSalt,
  storeFigures,
  tablesOf,
} from "../../bench/salt/results.ts";

/** For a machine with much else to do: whole worlds take seconds of processor time. */
const patienceMs = 180_000;

const run = { seed: 3, plan: briefPlan, onRow: () => undefined };

let figures: Required<SaltRows>;
beforeAll(async () => {
  const all: SaltRows = Object.fromEntries(
    await Promise.all(figureNames.map(async (name) => [name, await runFigure(name, run)] as const)),
  );
  figures = all as Required<SaltRows>;
}, patienceMs);

describe("the figures of BASE transactions", { timeout: patienceMs }, () => {
  test("have all three contestants, and none of them fails", () => {
    for (const name of figureNames) {
      const rows = figures[name];
      expect(rows.map(({ contestant }) => contestant)).toEqual(saltContestants);
      for (const row of rows) {
        expect(row.failures).toEqual({});
        expect(row.committedPerSecond, `${name}, ${row.contestant}`).toBeGreaterThan(0);
      }
    }
  });

  test("of the same seed are the same", async () => {
    expect(await runFigure("waiting", run)).toEqual(figures.waiting);
  });

  test("BASE is answered before it is seen, and the others at once", () => {
    const [acid, base, raw] = figures.waiting as readonly [SaltRow, SaltRow, SaltRow];
    expect(base.answerMs["update"]?.p50).toBeLessThan((base.latencyMs["update"]?.p50 ?? 0) - 200);
    for (const { answerMs, latencyMs } of [acid, raw]) expect(answerMs).toEqual(latencyMs);
  });

  test("a table has a row for each value, and a chart a point", () => {
    const two = { ...figures.waiting[0], value: 400 } as SaltRow;
    const more = { ...figures, waiting: [...figures.waiting, two] };
    const [table] = tablesOf({ waiting: more.waiting });
    expect(table?.rows.map(([label]) => label)).toEqual(["200 ms", "400 ms"]);
    expect(markdownOf(table ?? { head: [], rows: [] })).toContain("| 400 ms |");
    const [chart] = chartsOf({ waiting: more.waiting });
    expect(chart?.series.map(({ values }) => values.length)).toEqual([2, 2, 2]);
    expect(chart?.series[1]?.values[1]).toBeNull();
    // Of one value there is nothing to draw.
    expect(chartsOf({ tpcc: figures.tpcc })).toEqual([]);
  });

  test("are found again in their file, of the same seed alone", () => {
    const folder = mkdtempSync(join(tmpdir(), "tidemark-salt-"));
    try {
      const path = join(folder, "salt.json");
      expect(storedSalt(path)).toEqual([]);
      storeFigures(path, 3, figures);
      expect(storedFigures(path, 3)).toEqual(figures);
      expect(storedFigures(path, 4)).toEqual({});
      expect(storedSalt(path).map(({ parts }) => parts.length)).toEqual([figureNames.length]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
