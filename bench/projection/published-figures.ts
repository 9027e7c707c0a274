/**
 * What the projection takes from outside: latencies, limits and prices, each with its origin.
 * *Published* figures are AWS's own or were measured by others on AWS; *measured* ones come from
 * this repository's benchmarks; *assumed* ones are guesses that a measurement on AWS should
 * replace. Nothing here was measured on AWS by this project.
 */

export type Origin = "published" | "measured" | "assumed";

/** Milliseconds. */
export type LatencyFigure = {
  readonly p50: number;
  readonly p99: number;
  /** Of the median and of the tail: where they differ, the weaker of the two. */
  readonly origin: Origin;
  readonly note: string;
};

/** PutItem's p99 over its p50: the shape that is assumed where only a median is known. */
const shape = 16 / 7.6;

function assumed(p50: number, note: string): LatencyFigure {
  return { p50, p99: p50 * shape, origin: "assumed", note: `${note}; tail shaped like PutItem's` };
}

/** One round trip from a process in the region. */
export const callLatencies = {
  PutItem: { p50: 7.6, p99: 16, origin: "published", note: "also the oracle's block put" },
  TransactWriteItems: {
    ...{ p50: 25, p99: 93, origin: "published" },
    note: "of 5 items; fewer take hardly less",
  },
  UpdateItem: { p50: 7.6, p99: 16, origin: "assumed", note: "as PutItem" },
  DeleteItem: { p50: 7.6, p99: 16, origin: "assumed", note: "as PutItem" },
  GetItem: assumed(5, "no figure at hand"),
  BatchGetItem: assumed(8, "no figure at hand; up to 100 items"),
  Query: assumed(10, "no figure at hand; a poll of the tail"),
  PutRecords: assumed(10, "no figure at hand; a put into the stream"),
  GetShardIterator: assumed(10, "as PutRecords"),
  GetRecords: assumed(10, "as PutRecords"),
} as const satisfies Readonly<Record<string, LatencyFigure>>;

/** From a record's arrival to the beginning of the invocation that gets it, on an idle shard. */
export const deliveryLatencies = {
  "fan-out": { p50: 49, p99: 109, origin: "published", note: "enhanced fan-out to Lambda" },
  standard: { p50: 627, p99: 1_580, origin: "published", note: "Lambda polls once a second" },
} as const satisfies Readonly<Record<string, LatencyFigure>>;

export type Consumer = keyof typeof deliveryLatencies;

export const consumers: readonly Consumer[] = ["fan-out", "standard"];

/** Documented limits. Within a shard and within a partition; a table's own quota can be raised. */
export const serviceLimits = {
  shardRecordsPerSecond: 1_000,
  shardBytesPerSecond: 1024 * 1024,
  shardReadCallsPerSecond: 5,
  shardReadBytesPerSecond: 2 * 1024 * 1024,
  standardPollMs: 1_000,
  batchRecordsMax: 10_000,
  partitionWriteUnitsPerSecond: 1_000,
  partitionReadUnitsPerSecond: 3_000,
} as const;

/** Processor time, which virtual time does not know. */
export const processorFigures = {
  /** Measured: a process tops out near 3,000 calls/s of the AWS SDK. */
  clientCallMs: 1_000 / 3_000,
  /** A function has memory / 1,769 MB of a processor. */
  fullProcessorMb: 1_769,
  /**
   * Assumed: between the end of an invocation and the beginning of the next, where records are
   * waiting.
   */
  betweenInvocationsMs: 5,
} as const;

/** us-east-1, dollars. A write or read unit of a transaction counts twice. */
export const pricesDollars = {
  writeUnitsMillion: 0.625,
  readUnitsMillion: 0.125,
  shardHour: 0.015,
  putUnitsMillion: 0.014,
  fanOutConsumerShardHour: 0.015,
  /**
   * List prices as remembered, not in the project's collected facts: look them up before relying on
   * them.
   */
  fanOutGigabyte: 0.013,
  extendedRetentionShardHour: 0.02,
  invocationsMillion: 0.2,
  gigabyteSecond: 0.0000133,
} as const;

/** Published: what one row of Aurora DSQL takes. */
export const auroraDsqlHotRowPerSecond = 140;

export const putUnitBytes = 25 * 1024;
/** 365 days / 12. */
export const hoursPerMonth = 730;
