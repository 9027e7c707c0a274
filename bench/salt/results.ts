/** The figures as charts and tables, and the suite's file with them. */
import type { ChartSpec, Section, TableSpec } from "../report/chart-spec.ts";
import { readStoredFigures, writeStoredFigures } from "../report/stored-figures.ts";
import { type SaltContestant, saltContestants } from "./contestants.ts";
import { type FigureName, figureNames, type SaltRow, type SaltRows } from "./figures.ts";

const bench = "salt";

type Title = {
  readonly title: string;
  readonly setting: string;
  readonly label: (value: number) => string;
};

const titles: Readonly<Record<FigureName, Title>> = {
  contention: {
    title: "Contention: five updates, each of one of so many rows",
    setting: "rows",
    label: String,
  },
  place: {
    title: "Place of the contended one of ten updates",
    setting: "place",
    label: String,
  },
  readShare: {
    title: "Share of transactions that only read, of a hundred rows",
    setting: "only read",
    label: percent,
  },
  waiting: {
    title: "Waiting for the world outside between two updates",
    setting: "wait",
    label: (value) => `${value.toString()} ms`,
  },
  tpcc: { title: "TPC-C, New-Order and Payment as BASE", setting: "warehouses", label: String },
  ticketing: { title: "Ticketing, create-order as BASE", setting: "seats", label: String },
};

export function storedFigures(path: string, seed: number): SaltRows {
  const found = readStoredFigures(path, bench);
  // What is in it was written by `storeFigures`.
  return found?.seed === seed ? found.figures : {};
}

export function storeFigures(path: string, seed: number, figures: SaltRows): void {
  const parts = { charts: chartsOf(figures), tables: tablesOf(figures) };
  writeStoredFigures(path, { bench, seed, figures, ...parts });
}

/** The section of the last run; none when it was never run. */
export function storedSalt(path: string): readonly Section[] {
  const found = readStoredFigures(path, bench);
  if (found === undefined) return [];
  return [
    {
      title: "BASE transactions beside ACID ones",
      text: [
        "Not measured on AWS: the real client, oracle and replay in the simulator's virtual " +
          `time, with published latencies and limits, seed ${found.seed.toString()}. A BASE ` +
          "transaction counts when everybody sees it, and its client waits for that.",
      ],
      parts: [
        ...found.tables.map((table) => ({ kind: "table", table }) as const),
        ...found.charts.map((chart) => ({ kind: "chart", chart }) as const),
      ],
    },
  ];
}

/** One for each figure over several values. */
export function chartsOf(figures: SaltRows): readonly ChartSpec[] {
  return figureNames.flatMap((name): readonly ChartSpec[] => {
    const rows = figures[name] ?? [];
    const values = valuesOf(rows);
    if (values.length < 2) return [];
    const { title, label } = titles[name];
    return [
      {
        ...{ kind: "line", title, unit: "transactions/s", labels: values.map(label) },
        series: saltContestants.map((contestant) => ({
          name: contestant,
          values: values.map(
            (value) => rowOf(rows, { contestant, value })?.committedPerSecond ?? null,
          ),
        })),
      },
    ];
  });
}

export function tablesOf(figures: SaltRows): readonly TableSpec[] {
  return figureNames.flatMap((name): readonly TableSpec[] => {
    const rows = figures[name] ?? [];
    if (rows.length === 0) return [];
    const { title, setting, label } = titles[name];
    return [
      {
        title,
        head: [
          ...[setting, "ACID, tx/s", "BASE, tx/s", "raw, tx/s", "BASE ÷ ACID", "BASE ÷ raw"],
          ...["ACID p50, ms", "BASE answered p50, ms", "BASE seen p50, ms"],
        ],
        rows: valuesOf(rows).map((value) => [label(value), ...cellsOf(rows, value)]),
      },
    ];
  });
}

function cellsOf(rows: readonly SaltRow[], value: number): readonly string[] {
  const [acid, base, raw] = saltContestants.map((contestant) => rowOf(rows, { contestant, value }));
  const stepped = steppedName(acid, base);
  return [
    ...[acid, base, raw].map((row) => perSecond(row?.committedPerSecond)),
    ratio(base?.committedPerSecond, acid?.committedPerSecond),
    ratio(base?.committedPerSecond, raw?.committedPerSecond),
    milliseconds(acid?.latencyMs[stepped]?.p50),
    milliseconds(base?.answerMs[stepped]?.p50),
    milliseconds(base?.latencyMs[stepped]?.p50),
  ];
}

/** Of the operations of a mix, the one that was made BASE and comes first. */
function steppedName(...rows: readonly (SaltRow | undefined)[]): string {
  const names = rows.flatMap((row) => Object.keys(row?.latencyMs ?? {}));
  return ["new-order", "create-order", "update"].find((name) => names.includes(name)) ?? "update";
}

function valuesOf(rows: readonly SaltRow[]): readonly number[] {
  return [...new Set(rows.map(({ value }) => value))];
}

function rowOf(
  rows: readonly SaltRow[],
  of: { readonly contestant: SaltContestant; readonly value: number },
): SaltRow | undefined {
  return rows.find((row) => row.contestant === of.contestant && row.value === of.value);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function perSecond(value: number | undefined): string {
  return value === undefined ? "" : value.toFixed(value < 10 ? 1 : 0);
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? "" : value.toFixed(0);
}

function ratio(above: number | undefined, below: number | undefined): string {
  if (above === undefined || below === undefined || below === 0) return "";
  return (above / below).toFixed(2);
}
