/** The projection's machine-readable result: all of it follows from the seed and the code. */
import type { CommitPreference } from "../../engine/types.ts";
import type { CurvePoint, Percentiles } from "./latency-samples.ts";
import type { PhaseName } from "./load.ts";
import type { CostRow } from "./monthly-cost.ts";
import type { BesideCase, MixedCase } from "./plan.ts";
import type { Consumer } from "./published-figures.ts";

/** Milliseconds throughout. */
export type LatencyRow = {
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly perSecond: number;
  readonly processes: number;
  readonly samples: number;
  /** Of the commits, those by blocks of their own process. */
  readonly expressShare: number;
  readonly latency: Percentiles;
  readonly curve: readonly CurvePoint[];
  readonly phases: { readonly [Phase in PhaseName]: Percentiles };
};

export type ThroughputRow = {
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly itemsPerTransaction: number;
  readonly itemBytes: number;
  readonly processes: number;
  readonly clients: number;
  readonly committedPerSecond: number;
  readonly expressShare: number;
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
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly keys: number;
  readonly clients: number;
  readonly processes: number;
  readonly committedPerSecond: number;
  readonly expressShare: number;
  /** Runs of a body that a conflict ended, of all runs. */
  readonly conflictShare: number;
  /** Of those, found on the client's own tail, without the oracle. */
  readonly earlyShare: number;
  readonly latency: Percentiles;
};

export type HotRowRow = {
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly processes: number;
  readonly clientsPerProcess: number;
  readonly committedPerSecond: number;
  readonly expressShare: number;
  /** Blocks that clients have put, refused ones too, per one that stands. */
  readonly putsPerBlock: number;
  readonly timesAuroraDsql: number;
  readonly attemptsPerCommit: number;
  readonly latency: Percentiles;
};

/** Of lone transactions on a mixed table, and the same ones on a transactional one. */
export type MixedRow = Pick<MixedCase, "commit" | "access" | "onlyRead"> & {
  readonly samples: number;
  readonly latency: Percentiles;
  readonly phases: { readonly [Phase in PhaseName]: Percentiles };
};

/** Of clients that keep to the stream, beside others. */
export type BesideRow = Pick<BesideCase, "consumer" | "perSecond" | "processes" | "loud"> & {
  readonly samples: number;
  readonly latency: Percentiles;
  readonly besidePerSecond: number;
  readonly besideExpressShare: number;
};

export type ProjectionResult = {
  readonly bench: "projection";
  readonly seed: number;
  /** False when a shorter plan than the documented one was run. */
  readonly complete: boolean;
  /** Everything that came from outside. */
  readonly assumptions: Readonly<Record<string, unknown>>;
  readonly commitLatency: readonly LatencyRow[];
  /** TransactWriteItems with a BatchGetItem before it. */
  readonly transactWriteItems: Percentiles;
  readonly beside: readonly BesideRow[];
  readonly shardThroughput: readonly ThroughputRow[];
  readonly processes: readonly ThroughputRow[];
  readonly contention: readonly ContentionRow[];
  readonly mixed: readonly MixedRow[];
  readonly hotRow: readonly HotRowRow[];
  readonly cost: readonly CostRow[];
};
