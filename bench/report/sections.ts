/** From results to the sections of the report: which chart shows which cells. */
import { contestantNames, type ContestantName } from "../harness/contestant.ts";
import { acidPrices, ratiosTo } from "../harness/print.ts";
import type { BenchResults, MeasuredCell } from "../harness/results.ts";
import { contentionKeySpaces } from "../workloads/catalogue.ts";
import type { ChartSpec, Section, Series, TableSpec } from "./chart-spec.ts";
import { targetsOf } from "./targets.ts";

/** How contestants are called in the report. */
const titles: Readonly<Record<ContestantName, string>> = {
  "tidemark-auto": "Tidemark, auto",
  "tidemark-stream": "Tidemark, stream",
  "tidemark-express": "Tidemark, express",
  "tidemark-snapshot": "Tidemark, snapshot isolation",
  "tidemark-mixed": "Tidemark, mixed tables",
  "tidemark-mixed-snapshot": "Tidemark, mixed tables, snapshot isolation",
  native: "native",
  "native-in-turn": "native, writes in turn",
  "transact-write-items": "TransactWriteItems",
  scalardb: "ScalarDB",
};

function measuredCells(results: BenchResults): readonly MeasuredCell[] {
  return results.cells.filter((cell): cell is MeasuredCell => cell.kind === "measured");
}

export function sectionsOf(results: BenchResults): readonly Section[] {
  const cells = measuredCells(results);
  const sections: (Section | undefined)[] = [
    targetsSection(results),
    throughputSection(results, cells),
    acidPriceSection(results, cells),
    latencySection(cells.filter(({ workload }) => workload !== "disjoint")),
    costSection(cells),
    hotRowSection(cells),
    contentionSection(cells),
    everythingSection(results, cells),
  ];
  return sections.filter((section) => section !== undefined);
}

function targetsSection(results: BenchResults): Section {
  const rows = targetsOf(results).map(({ name, target, found, met }) => [
    name,
    target,
    found,
    met === undefined ? "not measured here" : met ? "met" : "missed",
  ]);
  const table = { head: ["what", "target", "found here", ""], rows };
  return {
    title: "Targets",
    text: [
      "Medians of this run, on this machine. Ratios compare contestants within one repetition, " +
        "side by side; figures in " +
        "milliseconds and transactions per second are those of a shared machine on which " +
        "client, stores and functions compete.",
    ],
    parts: [{ kind: "table", table }],
  };
}

type Point = Pick<MeasuredCell, "workload" | "concurrency">;

/** Workload and concurrency, each pair once, in the order measured. */
function pointsOf(cells: readonly MeasuredCell[]): readonly Point[] {
  const points = new Map(
    cells.map(({ workload, concurrency }) => [
      `${workload} ×${concurrency.toString()}`,
      { workload, concurrency },
    ]),
  );
  return [...points.values()];
}

function cellAt(
  cells: readonly MeasuredCell[],
  { workload, concurrency }: Point,
  contestant: ContestantName,
): MeasuredCell | undefined {
  return cells.find(
    (cell) =>
      cell.workload === workload &&
      cell.concurrency === concurrency &&
      cell.contestant === contestant,
  );
}

/** One series per contestant that has any figure at these points. */
function seriesOf(
  cells: readonly MeasuredCell[],
  points: readonly Point[],
  figure: (cell: MeasuredCell) => { readonly value: number; readonly span?: Span } | undefined,
): readonly Series[] {
  return contestantNames.flatMap((contestant) => {
    const figures = points.map((point) => {
      const cell = cellAt(cells, point, contestant);
      return cell === undefined ? undefined : figure(cell);
    });
    if (figures.every((one) => one === undefined)) return [];
    return [
      {
        name: titles[contestant],
        colour: contestantNames.indexOf(contestant),
        values: figures.map((one) => one?.value ?? null),
        spread: figures.map((one) => one?.span ?? null),
      },
    ];
  });
}

type Span = readonly [low: number, high: number];

function throughputSection(
  results: BenchResults,
  cells: readonly MeasuredCell[],
): Section | undefined {
  const others = cells.filter(
    (cell) => cell.contestant !== "native" && ratiosTo(results, cell, "native") !== undefined,
  );
  const charts = concurrenciesOf(others).map((concurrency): ChartSpec => {
    const points = pointsOf(others.filter((cell) => cell.concurrency === concurrency)).filter(
      ({ workload }) => !workload.startsWith("contention-"),
    );
    return {
      kind: "bar",
      title: `${concurrency} at a time`,
      unit: "throughput ÷ native",
      labels: points.map(({ workload }) => workload),
      series: seriesOf(others, points, (cell) => {
        const ratio = ratiosTo(results, cell, "native");
        return ratio && { value: ratio.median, span: [ratio.low, ratio.high] };
      }),
      marks: [{ name: "native", value: 1 }],
    };
  });
  return sectionOf({
    title: "Throughput beside native",
    text: [
      "Native makes the same reads and writes as plain DynamoDB calls, without isolation or " +
        "atomicity: the distance to 1 is the " +
        "price of ACID. Thin lines span the repetitions.",
    ],
    charts,
  });
}

function acidPriceSection(
  results: BenchResults,
  cells: readonly MeasuredCell[],
): Section | undefined {
  const charts = concurrenciesOf(cells).flatMap((concurrency) =>
    acidPrices.flatMap(({ title, figure }): readonly ChartSpec[] => {
      const others = cells.filter(
        (cell) =>
          cell.concurrency === concurrency &&
          cell.contestant !== "native" &&
          ratiosTo(results, cell, "native", figure) !== undefined,
      );
      const points = pointsOf(others);
      const series = seriesOf(others, points, (cell) => {
        const ratio = ratiosTo(results, cell, "native", figure);
        return ratio && { value: ratio.median, span: [ratio.low, ratio.high] };
      });
      if (series.length === 0) return [];
      return [
        {
          kind: "bar",
          title: `${title} per commit, ${concurrency} at a time`,
          unit: "× native",
          labels: points.map(({ workload }) => workload),
          series,
          marks: [{ name: "native", value: 1 }],
        },
      ];
    }),
  );
  return sectionOf({
    title: "The price of ACID",
    text: [
      "What a commit costs beside the same calls natively where oracle, replay and stores have " +
        "machines of their own: the application's own processor, and the bill. Papers that give " +
        "their servers machines are to be compared with these, not with a throughput for which " +
        "all parts share this machine's cores.",
    ],
    charts,
  });
}

function latencySection(cells: readonly MeasuredCell[]): Section | undefined {
  const lone = pointsOf(cells.filter(({ concurrency }) => concurrency === 1));
  const busiest = Math.max(0, ...cells.map(({ concurrency }) => concurrency));
  const busy = busiest === 1 ? [] : pointsOf(cells.filter((cell) => cell.concurrency === busiest));
  const charts = [
    { points: lone, at: "one at a time" },
    { points: busy, at: `${busiest} at a time` },
  ].flatMap(({ points, at }) =>
    points.length === 0
      ? []
      : (["p50", "p99"] as const).map((percentile): ChartSpec => ({
          kind: "bar",
          title: `${percentile}, ${at}`,
          unit: "ms",
          labels: points.map(({ workload }) => workload),
          series: seriesOf(cells, points, (cell) => ({ value: cell.latencyMs[percentile] })),
          logarithmic: true,
        })),
  );
  return sectionOf({
    title: "Latency",
    text: ["Whole transactions, retries included. In an open loop, from when each was due."],
    charts,
  });
}

function costSection(cells: readonly MeasuredCell[]): Section | undefined {
  const counted = cells.filter(({ costs }) => costs !== null);
  const busiest = Math.max(0, ...counted.map(({ concurrency }) => concurrency));
  const points = pointsOf(counted.filter(({ concurrency }) => concurrency === busiest)).filter(
    ({ workload }) => !workload.startsWith("contention-"),
  );
  const chart = (
    title: string,
    unit: string,
    of: (costs: NonNullable<MeasuredCell["costs"]>) => number,
  ): ChartSpec => ({
    kind: "bar",
    title: `${title}, ${busiest} at a time`,
    unit,
    labels: points.map(({ workload }) => workload),
    series: seriesOf(counted, points, ({ costs }) =>
      costs === null ? undefined : { value: of(costs) },
    ),
  });
  return sectionOf({
    title: "Cost",
    text: [
      "Per committed transaction, all parts counted: the client with its retries, its view of " +
        "the log, oracle and replay. On-demand prices " +
        "of us-east-1. Lambda's time and the shard's hours belong to no transaction and are " +
        "left out. TransactWriteItems at DynamoDB's rule of " +
        "two write units per KB of each item; ScalarDB's write units are its least by the same " +
        "rule.",
    ],
    charts:
      points.length === 0
        ? []
        : [
            chart("Dollars per million", "$ per million", ({ total }) => total.dollarsPerMillion),
            chart("Calls", "calls per commit", ({ total }) => total.calls),
            chart("Write units", "write units per commit", ({ total }) => total.writeUnits),
            chart("Read units", "read units per commit", ({ total }) => total.readUnits),
          ],
  });
}

function hotRowSection(cells: readonly MeasuredCell[]): Section | undefined {
  const points = pointsOf(cells.filter(({ workload }) => workload === "hot-row"));
  if (points.length === 0) return undefined;
  const labels = points.map(({ concurrency }) => `${concurrency.toString()} clients`);
  return sectionOf({
    title: "One hot row",
    text: [
      "All clients increment the same row by read and write. Native loses updates here; the " +
        "others do not.",
    ],
    charts: [
      {
        kind: "bar",
        title: "Commits per second on one row",
        unit: "commits per second",
        labels,
        series: seriesOf(cells, points, throughputWithSpan),
        marks: [{ name: "target", value: 1_000 }],
      },
      {
        kind: "bar",
        title: "Runs of the body beyond the first",
        unit: "per commit",
        labels,
        series: seriesOf(cells, points, ({ conflictsPerCommit: value }) => ({ value })),
      },
    ],
  });
}

function throughputWithSpan({ perSecond }: MeasuredCell): { value: number; span: Span } {
  return { value: perSecond.median, span: [perSecond.low, perSecond.high] };
}

function contentionSection(cells: readonly MeasuredCell[]): Section | undefined {
  const sweep = cells.filter(({ workload }) => workload.startsWith("contention-"));
  const [concurrency] = concurrenciesOf(sweep).slice(-1);
  if (concurrency === undefined) return undefined;
  const points = contentionKeySpaces.map((keys) => ({
    workload: `contention-${keys.toString()}`,
    concurrency,
  }));
  const labels = contentionKeySpaces.map((keys) => keys.toLocaleString("en-US"));
  const chart = (title: string, unit: string, series: readonly Series[]): ChartSpec => {
    return { kind: "line", title, unit, labels, series };
  };
  return sectionOf({
    title: "Contention",
    text: [`${concurrency} clients increment four rows each, drawn from ever more rows.`],
    charts: [
      chart(
        "Throughput by number of rows",
        "commits per second",
        seriesOf(sweep, points, throughputWithSpan),
      ),
      chart(
        "Runs of the body beyond the first",
        "per commit",
        seriesOf(sweep, points, ({ conflictsPerCommit: value }) => ({ value })),
      ),
    ],
  });
}

function everythingSection(results: BenchResults, cells: readonly MeasuredCell[]): Section {
  const rows = cells.map((cell) => {
    const { perSecond, latencyMs, costs } = cell;
    const failures = Object.values(cell.failures).reduce((sum, count) => sum + count, 0);
    return [
      cell.workload,
      titles[cell.contestant],
      cell.concurrency.toString(),
      perSecond.median.toFixed(0),
      `${perSecond.low.toFixed(0)} – ${perSecond.high.toFixed(0)}`,
      latencyMs.p50.toFixed(2),
      latencyMs.p99.toFixed(2),
      cell.conflictsPerCommit.toFixed(3),
      failures.toString(),
      costs?.total.calls.toFixed(2) ?? "–",
      costs?.total.readUnits.toFixed(2) ?? "–",
      costs?.total.writeUnits.toFixed(2) ?? "–",
      costs?.total.dollarsPerMillion.toFixed(2) ?? "–",
    ];
  });
  const everything: TableSpec = {
    title: "Every cell",
    head: [
      ...["workload", "", "×", "commits/s", "low – high", "p50 ms", "p99 ms", "retries", "failed"],
      ...["calls", "read units", "write units", "$/million"],
    ],
    rows,
  };
  const about: TableSpec = {
    title: "Workloads",
    head: ["name", "what it does"],
    rows: Object.entries(results.workloads).map(([name, text]) => [name, text]),
  };
  const conditions: TableSpec = {
    title: "Conditions after the runs, and who was left out",
    head: ["workload", "contestant", "what"],
    rows: [
      ...results.checks.map(({ workload, contestant, violations }) => [
        workload,
        titles[contestant],
        violations.length === 0
          ? "all conditions hold"
          : `${violations.length} violated, such as: ${violations[0] ?? ""}`,
      ]),
      ...skippedRows(results),
    ],
  };
  const tables =
    conditions.rows.length === 0 ? [everything, about] : [everything, conditions, about];
  return {
    title: "Everything",
    text: [],
    parts: tables.map((table) => ({ kind: "table", table })),
  };
}

/** One row per workload and reason. */
function skippedRows(results: BenchResults): readonly (readonly string[])[] {
  const rows = new Map<string, { workload: string; reason: string; names: string[] }>();
  for (const cell of results.cells) {
    if (cell.kind === "measured") continue;
    const { workload, reason } = cell;
    const key = `${workload} ${reason}`;
    const row = rows.get(key) ?? { workload, reason, names: [] };
    row.names.push(titles[cell.contestant]);
    rows.set(key, row);
  }
  return Array.from(rows.values(), ({ workload, reason, names }) => [
    workload,
    names.join(", "),
    `left out: ${reason}`,
  ]);
}

function concurrenciesOf(cells: readonly MeasuredCell[]): readonly number[] {
  return [...new Set(cells.map(({ concurrency }) => concurrency))].sort((a, b) => a - b);
}

function sectionOf(section: {
  readonly title: string;
  readonly text: readonly string[];
  readonly charts: readonly ChartSpec[];
}): Section | undefined {
  const { title, text, charts } = section;
  if (charts.length === 0) return undefined;
  return { title, text, parts: charts.map((chart) => ({ kind: "chart", chart })) };
}
