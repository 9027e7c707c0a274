/** From what processes noted to results, from results to verdicts and to a page. */
import { describe, expect, test } from "vitest";
import type { ClientRun } from "../../bench/harness/client-messages.ts";
import { type ContestantName, GaveUp } from "../../bench/harness/contestant.ts";
import { ratiosTo } from "../../bench/harness/print.ts";
import { Recorder } from "../../bench/harness/recorder.ts";
import {
  type BenchResults,
  type MeasuredCell,
  parseResults,
  spreadOf,
} from "../../bench/harness/results.ts";
import { costsOf, summarized } from "../../bench/harness/summarize.ts";
import type { Operation } from "../../bench/harness/workload.ts";
import { noCost } from "../../bench/cost.ts";
import { reportOf } from "../../bench/report/report.ts";
import { targetsOf } from "../../bench/report/targets.ts";

const operation: Operation = { name: "transfer", readOnly: false, body: () => Promise.resolve() };
const phases = { retryMs: 0, bodyMs: 2, certifyMs: 4, installMs: 6 };

function ran(
  latencies: readonly number[],
  more: { readonly elapsedMs?: number; readonly failing?: readonly Error[] } = {},
): ClientRun {
  const recorder = new Recorder();
  for (const latencyMs of latencies) {
    const outcome = { kind: "committed", attempts: 2, phases } as const;
    recorder.record({ operation, outcome }, latencyMs);
  }
  for (const error of more.failing ?? []) recorder.record({ operation, error }, 1);
  return {
    elapsedMs: more.elapsedMs ?? 1_000,
    cpuMs: 100,
    unstarted: 0,
    recorded: recorder.result(),
    cost: { ...noCost, calls: 10 * latencies.length, writeUnits: 4 * latencies.length },
  };
}

const key = {
  workload: "u4",
  contestant: "tidemark-auto",
  concurrency: 1,
  ratePerSecond: null,
} as const;
const nothingMore = { drainMs: undefined, costs: undefined };

function cellWith(changes: Partial<MeasuredCell>): MeasuredCell {
  const cell = summarized(key, [{ runs: [ran([5])], spentMs: {} }], nothingMore);
  return { ...cell, ...changes };
}

function resultsWith(cells: BenchResults["cells"]): BenchResults {
  return {
    format: "tidemark-bench",
    version: 1,
    name: "test",
    startedAt: "2026-01-01T00:00:00.000Z",
    minutes: 1,
    machine: {
      cores: 2,
      processor: "test",
      memoryGb: 8,
      platform: "linux x64",
      node: "v20.0.0",
      loadAverage: [0, 0, 0],
    },
    settings: {
      store: "dynalite",
      seconds: 1,
      warmUpSeconds: 1,
      repetitions: 1,
      processes: 1,
      seed: 1,
    },
    workloads: { u4: "four rows" },
    cells,
    checks: [],
  };
}

describe("a summary", () => {
  test("adds up processes, and takes the median over repetitions", () => {
    const cell = summarized(
      key,
      [
        { runs: [ran([1, 2]), ran([3])], spentMs: { oracle: 30 } },
        { runs: [ran([4])], spentMs: { oracle: 10 } },
        { runs: [ran([5, 5]), ran([])], spentMs: { oracle: 20 } },
      ],
      nothingMore,
    );
    expect(cell.perSecond).toEqual({ median: 2, low: 1, high: 3, each: [3, 1, 2] });
    expect(cell.committed).toBe(6);
    expect(cell.latencyMs.p50).toBeCloseTo(3, 1);
    expect(cell.latencyMs.max).toBeCloseTo(5, 1);
    expect(cell.phasesMs).toEqual(phases);
    expect(cell.processorMs["oracle"]).toBe(10);
    expect(cell.conflictsPerCommit).toBe(1);
  });

  test("counts failures by what they said, and the runs of those that gave up as conflicts", () => {
    const failing = [new GaveUp("conflicts to the end", 9), new TypeError("no such row")];
    const cell = summarized(key, [{ runs: [ran([1], { failing })], spentMs: {} }], nothingMore);
    expect(cell.failures).toEqual({
      "GaveUp: conflicts to the end": 1,
      "TypeError: no such row": 1,
    });
    expect(cell.operations["transfer"]).toMatchObject({ committed: 1, failed: 2, attempts: 12 });
    // Two runs of one that committed, nine of one that gave up, one of the other: 12 − 3.
    expect(cell.conflictsPerCommit).toBe(9);
  });

  test("divides what all parts asked for by the transactions that committed", () => {
    const functions = new Map([["oracle", { ...noCost, calls: 2, writeUnits: 2, invocations: 1 }]]);
    const costs = costsOf([ran([1, 1])], functions);
    expect(costs?.parts["client"]).toMatchObject({ calls: 10, writeUnits: 4 });
    expect(costs?.total).toMatchObject({ calls: 11, writeUnits: 5, invocations: 0.5 });
    expect(costs?.total.dollarsPerMillion).toBeCloseTo(5 * 0.625 + 0.5 * 0.2, 9);
    expect(costsOf([ran([])], functions)).toBeUndefined();
  });

  test("of an even number of repetitions, the median lies between the middle two", () => {
    expect(spreadOf([4, 1, 3, 2])).toEqual({ median: 2.5, low: 1, high: 4, each: [4, 1, 3, 2] });
    expect(spreadOf([])).toEqual({ median: 0, low: 0, high: 0, each: [] });
  });
});

describe("results", () => {
  test("survive the way through a file", () => {
    const results = resultsWith([
      cellWith({}),
      { kind: "skipped", workload: "u4", contestant: "scalardb", reason: "no Java" },
    ]);
    expect(parseResults(JSON.parse(JSON.stringify(results)))).toEqual(results);
  });

  test.each<[string, (results: Record<string, unknown>) => void]>([
    ["of another version", (results) => (results["version"] = 2)],
    ["of another format", (results) => (results["format"] = "other")],
    [
      "with a cell of nobody",
      (results) => (results["cells"] = [{ ...cellWith({}), contestant: "x" }]),
    ],
    ["with a negative count", (results) => (results["cells"] = [cellWith({ committed: -1 })])],
  ])("%s are refused", (_, damage) => {
    const results: Record<string, unknown> = { ...resultsWith([cellWith({})]) };
    damage(results);
    expect(() => parseResults(results)).toThrow(/these are no results of this benchmark/);
  });

  test("compare contestants within each repetition, not medians of different moments", () => {
    const own = cellWith({ perSecond: spreadOf([90, 10, 50]) });
    const native = cellWith({ contestant: "native", perSecond: spreadOf([100, 10, 100]) });
    const ratio = ratiosTo(resultsWith([own, native]), own, "native");
    expect(ratio).toEqual({ median: 0.9, low: 0.5, high: 1 });
    const twice = cellWith({ perSecond: spreadOf([90, 50]) });
    const other = cellWith({ contestant: "native", perSecond: spreadOf([100, 100]) });
    expect(ratiosTo(resultsWith([twice, other]), twice, "native")?.median).toBeCloseTo(0.7, 9);
    expect(ratiosTo(resultsWith([own]), own, "native")).toBeUndefined();
  });

  test("compare any figure that a cell has", () => {
    const spent = (each: readonly number[]) => ({ clientProcessorMs: spreadOf(each) });
    const own = cellWith(spent([3, 4]));
    const native = cellWith({ contestant: "native", ...spent([1, 1]) });
    const both = resultsWith([own, native]);
    const figure = (cell: MeasuredCell) => cell.clientProcessorMs?.each;
    expect(ratiosTo(both, own, "native", figure)).toEqual({ median: 3.5, low: 3, high: 4 });
    // An older file has none.
    const old = cellWith({ contestant: "native", clientProcessorMs: undefined });
    expect(ratiosTo(resultsWith([own, old]), own, "native", figure)).toBeUndefined();
  });
});

describe("targets", () => {
  const verdictOf = (results: BenchResults, name: string) =>
    targetsOf(results).find((target) => target.name.startsWith(name));

  test("are met at their bound and missed beyond it", () => {
    const native = cellWith({
      ...{ workload: "ycsb-ph1", contestant: "native" },
      perSecond: spreadOf([100]),
    });
    const own = (value: number) => cellWith({ workload: "ycsb-ph1", perSecond: spreadOf([value]) });
    const penalty = "penalty against native, ycsb-ph1,";
    expect(verdictOf(resultsWith([own(92.01), native]), penalty)?.met).toBe(true);
    expect(verdictOf(resultsWith([own(91.9), native]), penalty)?.met).toBe(false);
  });

  test("of the client's own process are judged beside native at their own load only", () => {
    const at = (concurrency: number, contestant: ContestantName, ms: number) =>
      cellWith({
        ...{ workload: "u4", contestant, concurrency },
        clientProcessorMs: spreadOf([ms]),
      });
    const name = "client's processor time ÷ native, u4, 64 at a time";
    const verdict = (own: number) =>
      verdictOf(resultsWith([at(64, "tidemark-auto", own), at(64, "native", 1)]), name)?.met;
    expect(verdict(1.4)).toBe(true);
    expect(verdict(1.41)).toBe(false);
    const elsewhere = [at(16, "tidemark-auto", 1), at(16, "native", 1)];
    expect(verdictOf(resultsWith(elsewhere), name)?.met).toBeUndefined();
  });

  test("without a figure have no verdict", () => {
    const targets = targetsOf(resultsWith([]));
    expect(targets.length).toBeGreaterThan(15);
    expect(targets.map(({ met }) => met)).toEqual(targets.map(() => undefined));
  });

  test("of units are judged by what a transaction consumed in all", () => {
    const costs = (writeUnits: number): Partial<MeasuredCell> => ({
      costs: {
        parts: {},
        committed: 1,
        total: { ...noCost, calls: 6, readUnits: 5, writeUnits, dollarsPerMillion: 1 },
      },
    });
    const name = "write units per transaction, u4";
    expect(verdictOf(resultsWith([cellWith(costs(4.7))]), name)?.met).toBe(true);
    expect(verdictOf(resultsWith([cellWith(costs(4.71))]), name)?.met).toBe(false);
  });
});

describe("the report", () => {
  test("is one file that fetches nothing, and shows names as they are", async () => {
    const results = resultsWith([cellWith({ failures: {} })]);
    const page = await reportOf({ ...results, name: `<b>"&"` });
    expect(page).toContain("&lt;b&gt;&quot;&amp;&quot;");
    expect(page).not.toMatch(/<(?:script|link|img)[^>]+(?:src|href)=/);
    expect(page).not.toMatch(/@import|url\(/);
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).toContain("data-chart=");
  }, 30_000);
});
