/** The figures as charts of the report. */
import type { ChartSpec, Series } from "../report/chart-spec.ts";
import type { ShardsFigures } from "./figures.ts";

/** Without those of figures that are not there. */
export function chartsOf(figures: Partial<ShardsFigures>): readonly ChartSpec[] {
  return [
    workChart(figures),
    partsChart(figures),
    throughputChart(figures),
    keptChart(figures),
    spuriousChart(figures),
    readOnlyChart(figures),
    outlierChart(figures, "conflicts"),
    outlierChart(figures, "watermarkLagSeconds"),
    crossShardChart(figures),
    tatpChart(figures),
    contentionChart(figures),
    elasticChart(figures, "p99Ms"),
    elasticChart(figures, "runAgainShare"),
  ].filter(({ labels, series }) => labels.length > 0 && series.length > 0);
}

function unique<Value>(values: readonly Value[]): readonly Value[] {
  return [...new Set(values)];
}

/** A line for each name, over what the labels say. */
function lines<Row>(
  rows: readonly Row[],
  by: {
    readonly name: (row: Row) => string;
    readonly label: (row: Row) => string;
    readonly value: (row: Row) => number;
  },
): Pick<ChartSpec, "labels" | "series"> {
  const labels = unique(rows.map(by.label));
  const series = unique(rows.map(by.name)).map((name): Series => ({
    name,
    values: labels.map((label) => {
      const row = rows.find((one) => by.name(one) === name && by.label(one) === label);
      return row === undefined ? null : by.value(row);
    }),
  }));
  return { labels, series };
}

function shardsLabel({ shards }: { readonly shards: number }): string {
  return shards === 1 ? "1 shard" : `${shards.toString()} shards`;
}

function workChart({ work = [] }: Partial<ShardsFigures>): ChartSpec {
  return {
    kind: "line",
    title: "Oracles: rate left of that at two shards",
    unit: "share",
    ...lines(work, {
      name: ({ workload }) => workload,
      label: shardsLabel,
      value: ({ rateLeft }) => rateLeft,
    }),
    marks: [
      { name: "target at 8", value: 0.95 },
      { name: "the paper's at 8", value: 0.89 },
    ],
  };
}

function partsChart({ work = [] }: Partial<ShardsFigures>): ChartSpec {
  return {
    kind: "line",
    title: "Requests that a transaction makes of oracles",
    unit: "requests",
    ...lines(work, {
      name: ({ workload }) => workload,
      label: shardsLabel,
      value: ({ requests }) => requests,
    }),
  };
}

function throughputChart({ throughput = [] }: Partial<ShardsFigures>): ChartSpec {
  return {
    kind: "line",
    title: "Projected throughput",
    unit: "transactions/s",
    logarithmic: true,
    ...lines(throughput, {
      name: ({ spread }) => spread,
      label: shardsLabel,
      value: ({ committedPerSecond }) => committedPerSecond,
    }),
  };
}

function keptChart({ throughput = [] }: Partial<ShardsFigures>): ChartSpec {
  return {
    kind: "line",
    title: "Throughput of a shard × at one shard",
    unit: "ratio",
    ...lines(throughput, {
      name: ({ spread }) => spread,
      label: shardsLabel,
      value: (row) => {
        const lone = throughput.find((one) => one.spread === row.spread && one.shards === 1);
        return row.committedPerSecond / row.shards / (lone?.committedPerSecond ?? Number.NaN);
      },
    }),
    marks: [{ name: "target within a shard", value: 0.95 }],
  };
}

function spuriousChart({ spurious = [] }: Partial<ShardsFigures>): ChartSpec {
  return {
    kind: "bar",
    title: "Aborts for nothing",
    unit: "% of runs",
    ...lines(spurious, {
      name: ({ variant, watermarkEvery }) =>
        watermarkEvery === null
          ? variant
          : `${variant}, watermark every ${watermarkEvery.toString()}`,
      label: shardsLabel,
      value: ({ spuriousShare }) => 100 * spuriousShare,
    }),
    marks: [{ name: "target", value: 0.1 }],
  };
}

function readOnlyChart({ readOnly = [] }: Partial<ShardsFigures>): ChartSpec {
  const rows = readOnly.flatMap((row) => [
    { name: "without an oracle", row, value: 100 * row.withoutOracle },
    { name: "runs that ran again", row, value: 100 * row.runAgain },
  ]);
  return {
    kind: "line",
    title: "Read-only transactions by the share of writes",
    unit: "%",
    ...lines(rows, {
      name: ({ name }) => name,
      label: ({ row }) => `${(100 * row.writeShare).toString()} % writes`,
      value: ({ value }) => value,
    }),
    marks: [
      { name: "the paper's, few writes", value: 86 },
      { name: "the paper's worst", value: 58 },
    ],
  };
}

function outlierChart(
  { outlier = [] }: Partial<ShardsFigures>,
  of: "conflicts" | "watermarkLagSeconds",
): ChartSpec {
  const rows = outlier.flatMap(({ stallSeconds, over }) =>
    over.map((point) => ({ stallSeconds, point })),
  );
  return {
    kind: "line",
    title: of === "conflicts" ? "Conflicts around stalled installs" : "The watermark's lag",
    unit: of === "conflicts" ? "runs in conflict a second" : "s",
    ...lines(rows, {
      name: ({ stallSeconds }) =>
        stallSeconds === 0 ? "no stall" : `${stallSeconds.toString()} s every 20 s`,
      label: ({ point }) => point.second.toString(),
      value: ({ point }) => point[of],
    }),
  };
}

function crossShardChart({ crossShard = [] }: Partial<ShardsFigures>): ChartSpec {
  const rows = crossShard.flatMap((row) => [
    { name: "until certain", row, value: row.certain.p50 },
    { name: "until installed", row, value: row.installed.p50 },
  ]);
  return {
    kind: "bar",
    title: "A commit within a shard and over two, p50",
    unit: "ms",
    ...lines(rows, {
      name: ({ name }) => name,
      label: ({ row }) => `${row.access}, ${row.commit}, ${shardsLabel({ shards: row.touched })}`,
      value: ({ value }) => value,
    }),
  };
}

function tatpChart({ tatp = [] }: Partial<ShardsFigures>): ChartSpec {
  return {
    kind: "bar",
    title: "TATP with the local check and without",
    unit: "transactions/s",
    ...lines(tatp, {
      name: ({ localCheck }) => (localCheck ? "with the local check" : "without"),
      label: shardsLabel,
      value: ({ endedPerSecond }) => endedPerSecond,
    }),
  };
}

function contentionChart({ contention = [] }: Partial<ShardsFigures>): ChartSpec {
  return {
    kind: "line",
    title: "Transactions that meet, at one load",
    unit: "transactions/s",
    ...lines(contention, {
      name: shardsLabel,
      label: ({ keys }) => `${keys.toString()} keys`,
      value: ({ committedPerSecond }) => committedPerSecond,
    }),
  };
}

function elasticChart(
  { elastic = [] }: Partial<ShardsFigures>,
  of: "p99Ms" | "runAgainShare",
): ChartSpec {
  const rows = elastic.flatMap(({ spread, commit, over }) =>
    over.map((point) => ({ name: `${spread}, ${commit}`, point })),
  );
  return {
    kind: "line",
    title: of === "p99Ms" ? "Around a split: p99 of each second" : "Around a split: runs in vain",
    unit: of === "p99Ms" ? "ms" : "share",
    ...lines(rows, {
      name: ({ name }) => name,
      label: ({ point }) => point.second.toString(),
      value: ({ point }) => point[of],
    }),
  };
}
