/** What the run is measured by: counters, and latencies in histograms of microseconds. */
import { build, type Histogram } from "hdr-histogram-js";
import { type Counters, noCounts, type Sample } from "./messages.ts";

export type Percentiles = {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
};

export const phaseNames = ["total", "body", "certify", "install"] as const;
export type PhaseName = (typeof phaseNames)[number];

export type OperationCounts = { done: number; refused: number };

const newHistogram = (): Histogram =>
  build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 120_000_000,
    numberOfSignificantValueDigits: 3,
  });

export class Measurements {
  /** Of commits only; the phases are those of the attempt that committed. */
  readonly #phases = {
    total: newHistogram(),
    body: newHistogram(),
    certify: newHistogram(),
    install: newHistogram(),
  };
  readonly #reports = newHistogram();
  readonly counters: Counters = noCounts();
  readonly operations = {
    transfer: { done: 0, refused: 0 },
    purchase: { done: 0, refused: 0 },
    cancellation: { done: 0, refused: 0 },
    report: { done: 0, refused: 0 },
  } satisfies Record<Sample["kind"], OperationCounts>;
  commits = 0;
  /** Attempts beyond the first, of operations that committed in the end. */
  retries = 0;
  /** Results of an earlier life, found under the idempotency key. */
  replayed = 0;

  add(samples: readonly Sample[], counters: Counters): void {
    for (const sample of samples) this.#addSample(sample);
    const { counters: sums } = this;
    sums.earlyConflicts += counters.earlyConflicts;
    sums.oracleConflicts += counters.oracleConflicts;
    sums.otherAborts += counters.otherAborts;
    sums.resends += counters.resends;
    sums.unknowns += counters.unknowns;
    sums.abortedOperations += counters.abortedOperations;
    sums.helped += counters.helped;
    sums.installsLeft += counters.installsLeft;
  }

  /** Refusals, reports and repeats included: whatever shows that the system is at work. */
  get operationsDone(): number {
    const counts = Object.values(this.operations);
    return counts.reduce((sum, { done, refused }) => sum + done + refused, 0);
  }

  get conflicts(): number {
    return this.counters.earlyConflicts + this.counters.oracleConflicts;
  }

  latencyMs(): Readonly<Record<PhaseName, Percentiles>> {
    const { total, body, certify, install } = this.#phases;
    return {
      total: percentiles(total),
      body: percentiles(body),
      certify: percentiles(certify),
      install: percentiles(install),
    };
  }

  reportLatencyMs(): Percentiles {
    return percentiles(this.#reports);
  }

  #addSample(sample: Sample): void {
    this.operations[sample.kind][sample.done ? "done" : "refused"] += 1;
    if (sample.kind === "report") {
      record(this.#reports, sample.totalMs);
      return;
    }
    if (sample.replayed) {
      this.replayed += 1;
      return;
    }
    this.commits += 1;
    this.retries += sample.attempts - 1;
    record(this.#phases.total, sample.totalMs);
    record(this.#phases.body, sample.bodyMs);
    record(this.#phases.certify, sample.certifyMs);
    record(this.#phases.install, sample.installMs);
  }
}

function record(histogram: Histogram, ms: number): void {
  histogram.recordValue(Math.min(Math.round(ms * 1_000), histogram.highestTrackableValue));
}

function percentiles(histogram: Histogram): Percentiles {
  const ms = (percentile: number): number => histogram.getValueAtPercentile(percentile) / 1_000;
  return { p50: ms(50), p90: ms(90), p99: ms(99), p999: ms(99.9), max: histogram.maxValue / 1_000 };
}
