/** What `npm run bench:mediator` finds, as it is stored, and as a section of the report. */
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import type { ChartSpec, Section, TableSpec } from "../report/chart-spec.ts";

const spread = z.object({
  median: z.number(),
  low: z.number(),
  high: z.number(),
  each: z.array(z.number()),
});

/** Native operations in such company, and what they took. */
const beside = z.object({
  company: z.enum(["alone", "aside u4", "among u4", "aside u20", "among u20"]),
  readP50Ms: spread,
  readP99Ms: spread,
  writeP50Ms: spread,
  writeP99Ms: spread,
  /** Of the process that makes them, per operation. */
  processorMs: spread,
  /** Transactions that committed meanwhile. */
  transactionsPerSecond: spread,
  /** Per operation, counted over a run of its own. */
  calls: z.number(),
  failures: z.number(),
});

const grid = z.object({
  accessesMax: z.number(),
  points: z.array(
    z.object({
      readShare: z.number(),
      nativeShare: z.number(),
      /** Throughput over mixed tables ÷ everything transactified, both per operation. */
      ratio: z.number(),
      /** Runs of bodies beyond the first, per operation over mixed tables. */
      retries: z.number(),
    }),
  ),
  equilibria: z.array(z.object({ readShare: z.number(), nativeShare: z.number().nullable() })),
});

const mediatorResult = z.object({
  format: z.literal("tidemark-bench-mediator"),
  startedAt: z.iso.datetime(),
  store: z.string(),
  cores: z.number(),
  loadAverage: z.array(z.number()),
  settings: z.object({ seconds: z.number(), repetitions: z.number(), seed: z.number() }),
  beside: z.array(beside),
  grids: z.array(grid),
  /** Throughput of snapshot isolation ÷ serializable, in one run. */
  isolation: z.array(
    z.object({
      tables: z.enum(["transactional", "mixed"]),
      readShare: z.number(),
      ratio: spread,
    }),
  ),
  /** Runs of bodies beyond the first, per transaction, on rows that nobody else touches. */
  spurious: z.number().nullable(),
});

export type MediatorResult = z.infer<typeof mediatorResult>;
export type BesideRow = z.infer<typeof beside>;

/** The section of the last run; none when it was never run. */
export function storedMediator(path: string): readonly Section[] {
  if (!existsSync(path)) return [];
  return [mediatorSection(mediatorResult.parse(JSON.parse(readFileSync(path, "utf8"))))];
}

function mediatorSection(result: MediatorResult): Section {
  const { startedAt, store, cores } = result;
  const loads = result.loadAverage.map((load) => load.toFixed(1)).join(", ");
  return {
    title: "Native operations beside transactions",
    text: [
      `Mediator's evaluation on mixed tables (${startedAt.slice(0, 10)}, ${store}, ` +
        `${cores.toString()} cores, load at start ${loads}): 10,000 rows of 1 KB by Zipf's law, ` +
        "ρ the share of reads, ν that of native operations. Where all is transactified a lone " +
        "read is a snapshot, a lone write a transaction.",
    ],
    parts: [
      ...(result.beside.length === 0
        ? []
        : [{ kind: "table", table: besideTable(result) } as const]),
      ...charts(result).map((chart) => ({ kind: "chart", chart }) as const),
      ...(result.isolation.length === 0
        ? []
        : [{ kind: "table", table: isolationTable(result) } as const]),
    ],
  };
}

/** As tables for a terminal, too. */
export function besideTable({ beside: rows }: MediatorResult): TableSpec {
  const alone = rows.find(({ company }) => company === "alone");
  const times = (
    row: BesideRow,
    figure: (row: BesideRow) => { readonly each: readonly number[] },
    against: BesideRow | undefined,
  ): string => {
    if (against === undefined || row === against) return "";
    const ratios = figure(row).each.map((value, n) => value / (figure(against).each[n] ?? 0));
    const sorted = ratios.toSorted((a, b) => a - b);
    return ` (${(sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(2)})`;
  };
  return {
    title: "Native operations: alone, beside transactions on other rows, on the same rows",
    head: [
      ...["company", "read p50 ms (×)", "read p99", "write p50 ms (×)", "write p99"],
      ...["processor ms (×)", "calls", "transactions/s"],
    ],
    rows: rows.map((row) => {
      // What stands on the same rows is compared with the same transactions on others.
      const aside = row.company.startsWith("among")
        ? rows.find(({ company }) => company === row.company.replace("among", "aside"))
        : alone;
      const shown = (figure: (row: BesideRow) => BesideRow["readP50Ms"]): string =>
        figure(row).median.toFixed(2) + times(row, figure, aside);
      return [
        row.company,
        shown((one) => one.readP50Ms),
        shown((one) => one.readP99Ms),
        shown((one) => one.writeP50Ms),
        shown((one) => one.writeP99Ms),
        shown((one) => one.processorMs),
        row.calls.toFixed(3),
        row.transactionsPerSecond.median.toFixed(0),
      ];
    }),
  };
}

export function isolationTable({ isolation }: MediatorResult): TableSpec {
  return {
    title: "Snapshot isolation ÷ serializable, throughput",
    head: ["tables", "ρ", "ratio", "low – high"],
    rows: isolation.map(({ tables, readShare, ratio }) => [
      tables,
      readShare.toString(),
      ratio.median.toFixed(2),
      `${ratio.low.toFixed(2)} – ${ratio.high.toFixed(2)}`,
    ]),
  };
}

function charts({ grids }: MediatorResult): readonly ChartSpec[] {
  const [first] = grids;
  if (first === undefined) return [];
  const readShares = unique(first.equilibria.map(({ readShare }) => readShare));
  const curve: ChartSpec = {
    kind: "line",
    title: "Equilibrium: from which ν on mixed tables are faster",
    unit: "ν",
    labels: readShares.map((share) => `ρ ${share.toString()}`),
    series: grids.map(({ accessesMax, equilibria }) => ({
      name: `U${accessesMax.toString()}`,
      values: readShares.map(
        (share) => equilibria.find(({ readShare }) => readShare === share)?.nativeShare ?? null,
      ),
    })),
    marks: [{ name: "the paper's bound", value: 0.5 }],
  };
  return [
    curve,
    ...grids.map(({ accessesMax, points }): ChartSpec => {
      const nativeShares = unique(points.map(({ nativeShare }) => nativeShare));
      return {
        kind: "line",
        title: `U${accessesMax.toString()}: throughput ÷ everything transactified`,
        unit: "ratio",
        labels: nativeShares.map((share) => `ν ${share.toString()}`),
        series: unique(points.map(({ readShare }) => readShare)).map((share) => ({
          name: `ρ ${share.toString()}`,
          values: nativeShares.map(
            (native) =>
              points.find((one) => one.readShare === share && one.nativeShare === native)?.ratio ??
              null,
          ),
        })),
        marks: [{ name: "equal", value: 1 }],
      };
    }),
  ];
}

function unique(values: readonly number[]): readonly number[] {
  return [...new Set(values)];
}
