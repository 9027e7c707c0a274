/** The projection as a section of the report (bench/report). */
import type { ChartSpec, Section, Series } from "../report/chart-spec.ts";
import { type Percentiles, percentileNames } from "./latency-samples.ts";
import { auroraDsqlHotRowPerSecond, serviceLimits } from "./published-figures.ts";
import type { CostRow } from "./monthly-cost.ts";
import type { LatencyRow, ProjectionResult } from "./result.ts";

export function sectionOf(projection: {
  readonly seed: number;
  readonly charts: readonly ChartSpec[];
}): Section {
  return {
    title: "Projected onto AWS",
    text: [
      "Not measured on AWS: the real client, oracle and replay in the simulator's virtual time, " +
        "with published latency " +
        "percentiles and limits of Kinesis, Lambda and DynamoDB, seed " +
        `${projection.seed.toString()}. ` +
        "docs/performance.md lists every assumption and all figures.",
    ],
    parts: projection.charts.map((chart) => ({ kind: "chart", chart })),
  };
}

/** Empty parts of a projection have no chart. */
export function projectionCharts(result: ProjectionResult): readonly ChartSpec[] {
  return [
    percentileChart(result),
    curveChart(result),
    phaseChart(result),
    besideChart(result),
    throughputChart(result),
    processChart(result),
    contentionChart(result),
    mixedChart(result),
    hotRowChart(result),
    costChart(result),
    costLinesChart(result),
  ].filter(({ labels, series }) => labels.length > 0 && series.length > 0);
}

function mixedChart({ mixed }: ProjectionResult): ChartSpec {
  const cases = mixed.filter(({ access }) => access === "mixed");
  const p50 = (access: "transactional" | "mixed"): Series => ({
    name: access,
    values: cases.map(
      ({ commit, onlyRead }) =>
        mixed.find(
          (row) => row.access === access && row.commit === commit && row.onlyRead === onlyRead,
        )?.latency.p50 ?? null,
    ),
  });
  return {
    kind: "bar",
    title: "A lone transaction on mixed and on transactional tables, p50",
    unit: "ms",
    labels: cases.map(
      ({ commit, onlyRead }) => `${commit}, ${onlyRead === 0 ? "all written" : "one only read"}`,
    ),
    series: [p50("transactional"), p50("mixed")],
  };
}

/** How much later others may make a commit by the stream, at the 99th percentile. */
const besideTimesMax = 1.3;

/** Where clients choose, the stream's consumer says little. */
function way({ commit, consumer }: Pick<LatencyRow, "commit" | "consumer">): string {
  return commit === "stream" ? `stream, ${consumer}` : commit;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function loadName({
  commit,
  consumer,
  perSecond,
  processes,
}: Pick<LatencyRow, "commit" | "consumer" | "perSecond" | "processes">): string {
  return `${way({ commit, consumer })}, ${count(perSecond)} tx/s of ${count(processes)}`;
}

const percentileLabels: { readonly [Name in keyof Percentiles]: string } = {
  p50: "p50",
  p90: "p90",
  p99: "p99",
  p999: "p99.9",
};

function percentileChart({ commitLatency }: ProjectionResult): ChartSpec {
  return {
    kind: "bar",
    title: "Commit latency, projected",
    unit: "ms",
    logarithmic: true,
    labels: percentileNames.map((name) => percentileLabels[name]),
    series: commitLatency.map((row) => ({
      name: loadName(row),
      values: percentileNames.map((name) => row.latency[name]),
    })),
  };
}

function curveChart({ commitLatency }: ProjectionResult): ChartSpec {
  const [first] = commitLatency;
  return {
    kind: "line",
    title: "Share of commits that have ended within, projected",
    unit: "ms",
    logarithmic: true,
    labels: (first?.curve ?? []).map(({ percent }) => `${percent.toString()} %`),
    series: commitLatency.map((row) => ({
      name: loadName(row),
      values: row.curve.map(({ ms }) => ms),
    })),
  };
}

function phaseChart({ commitLatency }: ProjectionResult): ChartSpec {
  return {
    kind: "bar",
    title: "Where a commit's time goes, projected medians",
    unit: "ms",
    logarithmic: true,
    labels: commitLatency.map(loadName),
    series: (["body", "certify", "install"] as const).map((phase) => ({
      name: phase,
      values: commitLatency.map((row) => row.phases[phase].p50),
    })),
  };
}

/** Clients of the stream, by who commits beside them. */
function besideChart({ beside: rows }: ProjectionResult): ChartSpec {
  const alone = rows.find(({ loud }) => loud.processes === 0);
  return {
    kind: "bar",
    title: "Commit latency of the stream's clients beside others that never pause, projected",
    unit: "ms",
    labels: rows.map(({ loud }) =>
      loud.processes === 0 ? "alone" : `${count(loud.processes)} by ${loud.commit}`,
    ),
    series: (["p50", "p99"] as const).map((name) => ({
      name,
      values: rows.map(({ latency }) => latency[name]),
    })),
    marks:
      alone === undefined
        ? []
        : [{ name: "target: 1.3 × p99 alone", value: besideTimesMax * alone.latency.p99 }],
  };
}

/**
 * Rows that differ in what is on the axis become one series for each of the others; gaps where a
 * row is missing.
 */
function seriesOf<Row>(
  rows: readonly Row[],
  of: {
    readonly labels: readonly string[];
    readonly label: (row: Row) => string;
    readonly name: (row: Row) => string;
    readonly value: (row: Row) => number;
  },
): readonly Series[] {
  const names = [...new Set(rows.map(of.name))];
  return names.map((name) => ({
    name,
    values: of.labels.map((label) => {
      const row = rows.find((each) => of.name(each) === name && of.label(each) === label);
      return row === undefined ? null : of.value(row);
    }),
  }));
}

/** Each number once, in order. */
function axis(values: readonly number[]): readonly string[] {
  return [...new Set(values)].toSorted((a, b) => a - b).map(count);
}

function throughputChart({ shardThroughput: rows }: ProjectionResult): ChartSpec {
  const labels = axis(rows.map(({ clients }) => clients));
  return {
    kind: "line",
    title: "One shard by clients at once, projected",
    unit: "commits/s",
    logarithmic: true,
    labels,
    series: seriesOf(rows, {
      labels,
      label: ({ clients }) => count(clients),
      name: (row) => `${way(row)}, items of ${count(row.itemBytes)} bytes`,
      value: ({ committedPerSecond }) => committedPerSecond,
    }),
  };
}

function processChart({ processes: rows }: ProjectionResult): ChartSpec {
  const labels = axis(rows.map(({ processes }) => processes));
  return {
    kind: "line",
    title: "Reads of one shard's log by client processes at one load, projected",
    unit: "read units/s",
    labels,
    series: seriesOf(rows, {
      labels,
      label: ({ processes }) => count(processes),
      name: way,
      value: ({ logReadUnitsPerSecond }) => logReadUnitsPerSecond,
    }),
    marks: [{ name: "a partition's limit", value: serviceLimits.partitionReadUnitsPerSecond }],
  };
}

function contentionChart({ contention: rows }: ProjectionResult): ChartSpec {
  const labels = axis(rows.map(({ keys }) => keys));
  return {
    kind: "line",
    title: "Attempts that end in a conflict by size of the key space, projected",
    unit: "% of attempts",
    labels,
    series: seriesOf(rows, {
      labels,
      label: ({ keys }) => count(keys),
      name: (row) => `${way(row)}, ${count(row.clients)} clients`,
      value: ({ conflictShare }) => 100 * conflictShare,
    }),
  };
}

function hotRowChart({ hotRow: rows }: ProjectionResult): ChartSpec {
  const clientsOf = (row: (typeof rows)[number]): number => row.processes * row.clientsPerProcess;
  const labels = axis(rows.map(clientsOf));
  return {
    kind: "line",
    title: "Increments of one item by clients, projected",
    unit: "commits/s",
    logarithmic: true,
    labels,
    series: seriesOf(rows, {
      labels,
      label: (row) => count(clientsOf(row)),
      name: (row) =>
        `${way(row)}, ` +
        (row.processes === 1
          ? "one process"
          : row.clientsPerProcess === 1
            ? "a process each"
            : `${count(row.clientsPerProcess)} in each process`),
      value: ({ committedPerSecond }) => committedPerSecond,
    }),
    marks: [{ name: "Aurora DSQL, published", value: auroraDsqlHotRowPerSecond }],
  };
}

function costChart({ cost: rows }: ProjectionResult): ChartSpec {
  const labels = axis(rows.map(({ perSecond }) => perSecond));
  return {
    kind: "line",
    title: "A month's bill beside TransactWriteItems by load in tx/s, projected",
    unit: "× TransactWriteItems",
    labels,
    series: seriesOf(rows, {
      labels,
      label: ({ perSecond }) => count(perSecond),
      name: (row) => `${way(row)}, ${count(row.itemsPerTransaction)} items`,
      value: ({ timesTransactWriteItems }) => timesTransactWriteItems,
    }),
    marks: [{ name: "TransactWriteItems", value: 1 }],
  };
}

const costLines: { readonly [Line in keyof CostRow["monthly"]]: string } = {
  writes: "writes",
  reads: "reads",
  putUnits: "put units",
  shards: "shard hours",
  retention: "retention",
  fanOut: "fan-out",
  functions: "Lambda",
};

function costLinesChart({ cost }: ProjectionResult): ChartSpec {
  const rows = cost.filter(({ commit, consumer }) => commit !== "stream" || consumer === "fan-out");
  return {
    kind: "bar",
    title: "What the bill is made of, projected",
    unit: "% of the bill",
    labels: rows.map(
      (row) => `${way(row)}: ${count(row.itemsPerTransaction)} items, ${count(row.perSecond)} tx/s`,
    ),
    series: (Object.keys(costLines) as (keyof typeof costLines)[]).map((line) => ({
      name: costLines[line],
      values: rows.map(({ monthly, monthlyTotal }) => (100 * monthly[line]) / monthlyTotal),
    })),
  };
}
