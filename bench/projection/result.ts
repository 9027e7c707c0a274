/** The projection's machine-readable result: all of it follows from the seed and the code. */
import type { CurvePoint, Percentiles } from "./latency-samples.ts";
import type { PhaseName } from "./load.ts";
import type { CostRow } from "./monthly-cost.ts";
import type { Consumer } from "./published-figures.ts";

/** Milliseconds throughout. */
export type LatencyRow = {
  readonly consumer: Consumer;
  readonly perSecond: number;
  readonly processes: number;
  readonly samples: number;
  readonly latency: Percentiles;
  readonly curve: readonly CurvePoint[];
  readonly phases: { readonly [Phase in PhaseName]: Percentiles };
};

export type ThroughputRow = {
  readonly consumer: Consumer;
  readonly itemsPerTransaction: number;
  readonly itemBytes: number;
  readonly processes: number;
  readonly clients: number;
  readonly committedPerSecond: number;
  readonly latency: Percentiles;
  readonly recordsPerSecond: number;
  readonly recordBytesPerSecond: number;
  /** Of the log's one partition per shard. */
  readonly logWriteUnitsPerSecond: number;
  readonly logReadUnitsPerSecond: number;
  /** Calls and records refused by a limit. */
  readonly throttledPerSecond: number;
  readonly watermarkLagMs: number;
};

export type ContentionRow = {
  readonly consumer: Consumer;
  readonly keys: number;
  readonly clients: number;
  readonly processes: number;
  readonly committedPerSecond: number;
  /** Runs of a body that a conflict ended, of all runs. */
  readonly conflictShare: number;
  /** Of those, found on the client's own tail, without the oracle. */
  readonly earlyShare: number;
  readonly latency: Percentiles;
};

export type HotRowRow = {
  readonly consumer: Consumer;
  readonly processes: number;
  readonly clientsPerProcess: number;
  readonly committedPerSecond: number;
  readonly timesAuroraDsql: number;
  readonly attemptsPerCommit: number;
  readonly latency: Percentiles;
};

export type ProjectionResult = {
  readonly bench: "projection";
  readonly seed: number;
  /** False when a shorter plan than the documented one was run. */
  readonly complete: boolean;
  /** Everything that came from outside. */
  readonly assumptions: Readonly<Record<string, unknown>>;
  readonly commitLatency: readonly LatencyRow[];
  readonly shardThroughput: readonly ThroughputRow[];
  readonly processes: readonly ThroughputRow[];
  readonly contention: readonly ContentionRow[];
  readonly hotRow: readonly HotRowRow[];
  readonly cost: readonly CostRow[];
};
