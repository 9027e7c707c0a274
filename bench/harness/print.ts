/** Results as lines of a terminal. */
import { short } from "../cost.ts";
import { type BenchResults, type MeasuredCell, type SkippedCell, spreadOf } from "./results.ts";

const widths = [20, 22, 5, 9, 17, 8, 8, 9, 8, 8, 8, 9];

function line(cells: readonly string[]): string {
  return cells
    .map((cell, n) => (n < 2 ? cell.padEnd(widths[n] ?? 8) : cell.padStart(widths[n] ?? 8)))
    .join("");
}

export const cellsHeader = line([
  ...["workload", "contestant", "×", "tx/s", "[low … high]", "p50 ms", "p99 ms", "conflicts"],
  ...["calls", "RCU", "WCU", "$/M"],
]);

export function cellLine(cell: MeasuredCell | SkippedCell): string {
  if (cell.kind === "skipped") {
    return `${line([cell.workload, cell.contestant])} skipped: ${cell.reason}`;
  }
  const { perSecond, latencyMs, costs } = cell;
  const total = costs?.total;
  const failed = Object.entries(cell.failures);
  const failures = failed.map(([text, count]) => `\n    ${count} × ${text}`).join("");
  const unstarted = cell.unstarted === 0 ? "" : `\n    ${cell.unstarted} due and never begun`;
  const figures = [
    cell.workload,
    cell.contestant,
    cell.concurrency.toString(),
    perSecond.median.toFixed(0),
    `[${perSecond.low.toFixed(0)} … ${perSecond.high.toFixed(0)}]`,
    latencyMs.p50.toFixed(2),
    latencyMs.p99.toFixed(2),
    cell.conflictsPerCommit.toFixed(3),
    ...[total?.calls, total?.readUnits, total?.writeUnits, total?.dollarsPerMillion].map((value) =>
      value === undefined ? "–" : short(value),
    ),
  ];
  return `${line(figures)}${failures}${unstarted}`;
}

type Figure = (cell: MeasuredCell) => readonly number[] | undefined;

const throughput: Figure = (cell) => cell.perSecond.each;
export const medianLatency: Figure = (cell) => cell.p50Ms?.each;
export const clientProcessor: Figure = (cell) => cell.clientProcessorMs?.each;

function counted(name: "readUnits" | "writeUnits" | "calls" | "dollarsPerMillion"): Figure {
  return ({ costs }) => (costs === null ? undefined : [costs.total[name]]);
}

/**
 * What ACID costs where the parts have machines of their own, each per committed transaction: by
 * these, and not by throughput on cores that all parts share, papers' penalties can be compared.
 */
export const acidPrices: readonly { readonly title: string; readonly figure: Figure }[] = [
  { title: "the client's processor time", figure: clientProcessor },
  { title: "dollars", figure: counted("dollarsPerMillion") },
  { title: "write units", figure: counted("writeUnits") },
  { title: "read units", figure: counted("readUnits") },
];

/**
 * Medians over repetitions of the ratio within each repetition: what else the machine did meets
 * both.
 */
export function ratiosTo(
  results: Pick<BenchResults, "cells">,
  cell: MeasuredCell,
  contestant: MeasuredCell["contestant"],
  figure: Figure = throughput,
): { readonly median: number; readonly low: number; readonly high: number } | undefined {
  const other = results.cells.find(
    (one): one is MeasuredCell =>
      one.kind === "measured" &&
      one.contestant === contestant &&
      one.workload === cell.workload &&
      one.concurrency === cell.concurrency,
  );
  const beside = other === undefined ? [] : (figure(other) ?? []);
  const ratios = (figure(cell) ?? []).flatMap((value, n) => {
    const against = beside[n];
    return against === undefined || against === 0 ? [] : [value / against];
  });
  if (ratios.length === 0) return undefined;
  const { median, low, high } = spreadOf(ratios);
  return { median, low, high };
}

/** Those without transactions; the second as the pH1 paper runs its store. */
const baselines = ["native", "native-in-turn"] as const;

export function printSummary(results: BenchResults): void {
  for (const baseline of baselines) printRatios(results, baseline);
  printProcessorTime(results);
  for (const { workload, contestant, violations } of results.checks) {
    const verdict = violations.length === 0 ? "hold" : violations.slice(0, 5).join("; ");
    console.log(`conditions of ${workload} after ${contestant}: ${verdict}`);
  }
}

function printRatios(results: BenchResults, baseline: (typeof baselines)[number]): void {
  const cells = results.cells.filter(
    (cell): cell is MeasuredCell =>
      cell.kind === "measured" && !baselines.some((name) => name === cell.contestant),
  );
  const figures = [
    { title: "throughput", figure: throughput },
    { title: "median latency", figure: medianLatency },
    ...acidPrices.map(({ title, figure }) => ({ title: `${title} per commit`, figure })),
  ];
  for (const { title, figure } of figures) {
    const lines = cells.flatMap((cell) => {
      const ratio = ratiosTo(results, cell, baseline, figure);
      if (ratio === undefined) return [];
      const { median, low, high } = ratio;
      const text = `${median.toFixed(2)}  [${low.toFixed(2)} … ${high.toFixed(2)}]`;
      return [`  ${line([cell.workload, cell.contestant, cell.concurrency.toString()])}   ${text}`];
    });
    if (lines.length > 0) console.log(`\n${title} × ${baseline}\n${lines.join("\n")}`);
  }
}

/**
 * Where the time of a transaction goes: by phase as its receipt says, and by process as the system
 * says.
 */
function printProcessorTime(results: BenchResults): void {
  const parts = (values: Readonly<Record<string, number>>): string =>
    Object.entries(values)
      .map(([name, ms]) => `${name.replace(/Ms$/, "")} ${ms.toFixed(2)}`)
      .join("  ");
  const lines = results.cells.flatMap((cell) => {
    if (cell.kind === "skipped") return [];
    const name = line([cell.workload, cell.contestant, cell.concurrency.toString()]);
    const phases = cell.phasesMs === null ? "" : `   | ${parts(cell.phasesMs)}`;
    return [`  ${name}   ${parts(cell.processorMs)}${phases}`];
  });
  if (lines.length === 0) return;
  console.log(
    `\nms per commit: processor time by process | phases of a commit\n${lines.join("\n")}`,
  );
}
