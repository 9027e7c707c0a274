/**
 * What a benchmark found, as it is written to a file: bench/results/<store>.json, and the input of
 * the report.
 */
import { z } from "zod";
import { contestantNames } from "./contestant.ts";

export const resultsVersion = 1;

const count = z.number().int().nonnegative();
const amount = z.number().nonnegative();

const spread = z.object({
  median: amount,
  low: amount,
  high: amount,
  /** One per repetition, in order. */
  each: z.array(amount),
});

const latency = z.object({ p50: amount, p90: amount, p99: amount, p999: amount, max: amount });

const cost = z.object({
  calls: amount,
  readUnits: amount,
  writeUnits: amount,
  streamUnits: amount,
  invocations: amount,
});

const operation = z.object({
  readOnly: z.boolean(),
  committed: count,
  rolledBack: count,
  failed: count,
  attempts: count,
  firstAttempts: count,
  latencyMs: latency,
});

const costs = z.object({
  /** Per committed transaction, by part: client, oracle, replay. */
  parts: z.record(z.string(), cost),
  total: cost.extend({ dollarsPerMillion: amount }),
  /** Transactions of the counted run, which is none of the timed ones. */
  committed: count,
});

const measured = z.object({
  kind: z.literal("measured"),
  workload: z.string(),
  contestant: z.enum(contestantNames),
  concurrency: z.number().int().positive(),
  /** Open loop; null: closed. */
  ratePerSecond: z.number().positive().nullable(),
  /** Transactions that committed. */
  perSecond: spread,
  /** All repetitions together. Open loop: from when the operation was due. */
  latencyMs: latency,
  operations: z.record(z.string(), operation),
  committed: count,
  /** Runs of bodies beyond the first, per committed transaction. */
  conflictsPerCommit: amount,
  failures: z.record(z.string(), count),
  unstarted: count,
  /** Means of transactions that wrote, where the contestant tells. */
  phasesMs: z
    .object({ retryMs: amount, bodyMs: amount, certifyMs: amount, installMs: amount })
    .nullable(),
  /** The client process's own per committed transaction: what remains the user's on AWS. */
  clientProcessorMs: spread.optional(),
  /** The median latency of each repetition, for ratios within it. */
  p50Ms: spread.optional(),
  /** Processor time per committed transaction, by process. */
  processorMs: z.record(z.string(), amount),
  /** How long the functions went on after the last timed run. */
  drainMs: amount.nullable(),
  /** Undefined where nothing was counted. */
  costs: costs.nullable(),
});

const skipped = z.object({
  kind: z.literal("skipped"),
  workload: z.string(),
  contestant: z.enum(contestantNames),
  reason: z.string(),
});

const check = z.object({
  workload: z.string(),
  contestant: z.enum(contestantNames),
  violations: z.array(z.string()),
});

const benchResults = z.object({
  format: z.literal("tidemark-bench"),
  version: z.literal(resultsVersion),
  name: z.string(),
  startedAt: z.iso.datetime(),
  minutes: amount,
  machine: z.object({
    cores: z.number().int().positive(),
    processor: z.string(),
    memoryGb: amount,
    platform: z.string(),
    node: z.string(),
    loadAverage: z.array(amount),
  }),
  settings: z.object({
    store: z.string(),
    seconds: amount,
    warmUpSeconds: amount,
    repetitions: z.number().int().positive(),
    processes: z.number().int().positive(),
    seed: z.number().int(),
  }),
  workloads: z.record(z.string(), z.string()),
  cells: z.array(z.discriminatedUnion("kind", [measured, skipped])),
  /**
   * Conditions that hold whenever nothing is under way, checked after the last run of each
   * workload.
   */
  checks: z.array(check),
});

export type BenchResults = z.infer<typeof benchResults>;
export type MeasuredCell = z.infer<typeof measured>;
export type SkippedCell = z.infer<typeof skipped>;
export type Latency = z.infer<typeof latency>;
export type Spread = z.infer<typeof spread>;
export type Check = z.infer<typeof check>;
export type Costs = z.infer<typeof costs>;

/** @throws RangeError naming what is wrong with a file that is none of ours. */
export function parseResults(value: unknown): BenchResults {
  const parsed = benchResults.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new RangeError(`these are no results of this benchmark:\n${z.prettifyError(parsed.error)}`);
}

export function spreadOf(each: readonly number[]): Spread {
  const sorted = each.toSorted((left, right) => left - right);
  return {
    median: medianOfSorted(sorted),
    low: sorted[0] ?? 0,
    high: sorted.at(-1) ?? 0,
    each: [...each],
  };
}

function medianOfSorted(sorted: readonly number[]): number {
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? 0;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? upper)) / 2 : upper;
}
