/** What a process notes of its operations, and sends to the benchmark as plain data. */
import * as hdr from "hdr-histogram-js";
import type { Phases } from "../../sdk/index.ts";
import { GaveUp, type Outcome } from "./contestant.ts";
import type { Operation } from "./workload.ts";

/** Counts of one kind of operation. */
export type OperationCounts = {
  readonly readOnly: boolean;
  committed: number;
  rolledBack: number;
  failed: number;
  /** Runs of bodies, those of failed operations included where they are known. */
  attempts: number;
  /** Operations that committed with their first run. */
  firstAttempts: number;
};

export type Recorded = {
  readonly operations: Readonly<
    Record<
      string,
      OperationCounts & { /** HDR, compressed, base64; microseconds. */ readonly latencies: string }
    >
  >;
  /** Failures by what they said. */
  readonly failures: Readonly<Record<string, number>>;
  /** Sums over committed transactions that wrote. */
  readonly phases: { readonly count: number } & Phases;
};

export type Operated =
  | { readonly operation: Operation; readonly outcome: Outcome }
  | { readonly operation: Operation; readonly error: unknown };

const failureTextMax = 160;
const microsecondsMax = 600_000_000;

/** From 1 µs to 10 minutes, three digits. */
export function latencyHistogram(): hdr.Histogram {
  return hdr.build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: microsecondsMax,
    numberOfSignificantValueDigits: 3,
    useWebAssembly: false,
  });
}

export class Recorder {
  readonly #operations = new Map<string, { counts: OperationCounts; latencies: hdr.Histogram }>();
  readonly #failures = new Map<string, number>();
  #phases = { count: 0, retryMs: 0, bodyMs: 0, certifyMs: 0, installMs: 0 };

  record(operated: Operated, latencyMs: number): void {
    const { counts, latencies } = this.#of(operated.operation);
    if ("error" in operated) {
      this.#fail(counts, operated.error);
      return;
    }
    const { kind, attempts, phases } = operated.outcome;
    latencies.recordValue(microseconds(latencyMs));
    if (kind === "committed") counts.committed += 1;
    else counts.rolledBack += 1;
    counts.attempts += attempts;
    if (attempts === 1) counts.firstAttempts += 1;
    if (phases !== undefined) this.#addPhases(phases);
  }

  result(): Recorded {
    const operations = Array.from(this.#operations, ([name, { counts, latencies }]) => [
      name,
      { ...counts, latencies: hdr.encodeIntoCompressedBase64(latencies) },
    ]);
    return {
      operations: Object.fromEntries(operations) as Recorded["operations"],
      failures: Object.fromEntries(this.#failures),
      phases: this.#phases,
    };
  }

  #of(operation: Operation): { counts: OperationCounts; latencies: hdr.Histogram } {
    let found = this.#operations.get(operation.name);
    if (found === undefined) {
      const counts: OperationCounts = {
        readOnly: operation.readOnly,
        committed: 0,
        rolledBack: 0,
        failed: 0,
        attempts: 0,
        firstAttempts: 0,
      };
      found = { counts, latencies: latencyHistogram() };
      this.#operations.set(operation.name, found);
    }
    return found;
  }

  #fail(counts: OperationCounts, error: unknown): void {
    counts.failed += 1;
    counts.attempts += error instanceof GaveUp ? error.attempts : 1;
    const text =
      error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
    const key = text.slice(0, failureTextMax);
    this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1);
  }

  #addPhases({ retryMs, bodyMs, certifyMs, installMs }: Phases): void {
    this.#phases.count += 1;
    this.#phases.retryMs += retryMs;
    this.#phases.bodyMs += bodyMs;
    this.#phases.certifyMs += certifyMs;
    this.#phases.installMs += installMs;
  }
}

function microseconds(latencyMs: number): number {
  return Math.min(microsecondsMax, Math.max(1, Math.round(latencyMs * 1_000)));
}

/** Everything that several processes noted, as one. */
export function mergedHistogram(encoded: readonly string[]): hdr.Histogram {
  const merged = latencyHistogram();
  for (const text of encoded) merged.add(hdr.decodeFromCompressedBase64(text));
  return merged;
}
