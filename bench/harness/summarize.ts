/** From what processes noted in each repetition to one cell of the results. */
import type { Histogram } from "hdr-histogram-js";
import { add, type Cost, noCost, priced } from "../cost.ts";
import type { ClientRun } from "./client-messages.ts";
import type { ContestantName } from "./contestant.ts";
import {
  latencyHistogram,
  mergedHistogram,
  type OperationCounts,
  type Recorded,
} from "./recorder.ts";
import { type Costs, type Latency, type MeasuredCell, spreadOf } from "./results.ts";

/**
 * One timed run of one contestant: what each of its processes noted, and what the others spent
 * meanwhile.
 */
export type Repetition = {
  readonly runs: readonly ClientRun[];
  readonly spentMs: Readonly<Record<string, number>>;
};

export type CellKey = {
  readonly workload: string;
  readonly contestant: ContestantName;
  readonly concurrency: number;
  readonly ratePerSecond: number | null;
};

function latencyOf(histogram: Histogram): Latency {
  const at = (percentile: number): number =>
    histogram.totalCount === 0 ? 0 : histogram.getValueAtPercentile(percentile) / 1_000;
  return {
    p50: at(50),
    p90: at(90),
    p99: at(99),
    p999: at(99.9),
    max: histogram.totalCount === 0 ? 0 : histogram.maxValue / 1_000,
  };
}

function committedIn(recorded: readonly Recorded[]): number {
  return recorded
    .flatMap(({ operations }) => Object.values(operations))
    .reduce((sum, { committed }) => sum + committed, 0);
}

export function summarized(
  key: CellKey,
  repetitions: readonly Repetition[],
  rest: { readonly drainMs: number | undefined; readonly costs: Costs | undefined },
): MeasuredCell {
  const runs = repetitions.flatMap((repetition) => repetition.runs);
  const recorded = runs.map((run) => run.recorded);
  const committed = committedIn(recorded);
  const { operations, all } = mergedOperations(recorded);
  const counts = Object.values(operations);
  const runsOfBodies = counts.reduce((sum, { attempts }) => sum + attempts, 0);
  const ended = counts.reduce((sum, one) => sum + one.committed + one.rolledBack + one.failed, 0);
  return {
    kind: "measured",
    ...key,
    perSecond: spreadOf(repetitions.map(throughputOf)),
    latencyMs: latencyOf(all),
    operations,
    committed,
    conflictsPerCommit: committed === 0 ? 0 : (runsOfBodies - ended) / committed,
    failures: summed(recorded.map(({ failures }) => failures)),
    unstarted: runs.reduce((sum, { unstarted }) => sum + unstarted, 0),
    phasesMs: phasesOf(recorded),
    clientProcessorMs: spreadOf(repetitions.map(clientProcessorOf)),
    p50Ms: spreadOf(repetitions.map(medianLatencyOf)),
    processorMs: processorOf(repetitions, committed),
    drainMs: rest.drainMs ?? null,
    costs: rest.costs ?? null,
  };
}

function throughputOf({ runs }: Repetition): number {
  const elapsedMs = Math.max(...runs.map((run) => run.elapsedMs));
  return (committedIn(runs.map((run) => run.recorded)) / elapsedMs) * 1_000;
}

function clientProcessorOf({ runs }: Repetition): number {
  const committed = committedIn(runs.map((run) => run.recorded));
  return committed === 0 ? 0 : runs.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / committed;
}

function medianLatencyOf({ runs }: Repetition): number {
  return latencyOf(mergedOperations(runs.map((run) => run.recorded)).all).p50;
}

/** Undefined when nothing committed: there is nothing to divide by. */
export function costsOf(
  runs: readonly ClientRun[],
  functions: ReadonlyMap<string, Cost>,
): Costs | undefined {
  const committed = committedIn(runs.map((run) => run.recorded));
  if (committed === 0) return undefined;
  const client = runs.map((run) => run.cost).reduce(add, noCost);
  const parts = Object.fromEntries(
    [["client", client] as const, ...functions].map(([name, cost]) => [
      name,
      dividedBy(cost, committed),
    ]),
  );
  return { parts, total: priced(Object.values(parts).reduce(add, noCost)), committed };
}

function dividedBy(cost: Cost, count: number): Cost {
  return {
    calls: cost.calls / count,
    readUnits: cost.readUnits / count,
    writeUnits: cost.writeUnits / count,
    streamUnits: cost.streamUnits / count,
    invocations: cost.invocations / count,
  };
}

function mergedOperations(recorded: readonly Recorded[]): {
  readonly operations: MeasuredCell["operations"];
  readonly all: Histogram;
} {
  const all = latencyHistogram();
  const operations: MeasuredCell["operations"] = {};
  const names = new Set(recorded.flatMap((one) => Object.keys(one.operations)));
  for (const name of [...names].sort()) {
    const parts = recorded.flatMap((one) => one.operations[name] ?? []);
    const latencies = mergedHistogram(parts.map((part) => part.latencies));
    all.add(latencies);
    const total = (of: (counts: OperationCounts) => number): number =>
      parts.reduce((sum, part) => sum + of(part), 0);
    operations[name] = {
      readOnly: parts[0]?.readOnly ?? false,
      committed: total((one) => one.committed),
      rolledBack: total((one) => one.rolledBack),
      failed: total((one) => one.failed),
      attempts: total((one) => one.attempts),
      firstAttempts: total((one) => one.firstAttempts),
      latencyMs: latencyOf(latencies),
    };
  }
  return { operations, all };
}

function phasesOf(recorded: readonly Recorded[]): MeasuredCell["phasesMs"] {
  const count = recorded.reduce((sum, { phases }) => sum + phases.count, 0);
  if (count === 0) return null;
  const mean = (name: "retryMs" | "bodyMs" | "certifyMs" | "installMs"): number =>
    recorded.reduce((sum, { phases }) => sum + phases[name], 0) / count;
  return {
    retryMs: mean("retryMs"),
    bodyMs: mean("bodyMs"),
    certifyMs: mean("certifyMs"),
    installMs: mean("installMs"),
  };
}

function processorOf(
  repetitions: readonly Repetition[],
  committed: number,
): Record<string, number> {
  const spent = repetitions.flatMap(({ runs, spentMs }) => [
    { client: runs.reduce((sum, { cpuMs }) => sum + cpuMs, 0) },
    spentMs,
  ]);
  const total = summed(spent);
  if (committed === 0) return total;
  return Object.fromEntries(Object.entries(total).map(([name, ms]) => [name, ms / committed]));
}

function summed(records: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) total[name] = (total[name] ?? 0) + value;
  }
  return total;
}
