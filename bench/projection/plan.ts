/** What a projection runs: sizes and durations in virtual seconds. */
import type { Consumer } from "./published-figures.ts";

export type LatencyCase = {
  readonly consumer: Consumer;
  readonly perSecond: number;
  readonly processes: number;
  readonly seconds: number;
};

export type ThroughputCase = {
  readonly consumer: Consumer;
  readonly processes: number;
  readonly clientsPerProcess: number;
  readonly fillerBytes: number;
};

/** At a fixed load, so that only what the processes do for themselves differs. */
export type ProcessCase = { readonly processes: number; readonly perSecond: number };

export type ContentionCase = { readonly consumer: Consumer; readonly keys: number };

export type HotRowCase = {
  readonly consumer: Consumer;
  readonly processes: number;
  readonly clientsPerProcess: number;
};

export type CostCase = {
  readonly consumer: Consumer;
  readonly items: number;
  readonly perSecond: number;
  /** Load and processes are spread evenly over the shards; one of them is simulated. */
  readonly shards: number;
  readonly processes: number;
  readonly seconds: number;
};

export type ProjectionPlan = {
  readonly complete: boolean;
  readonly warmUpSeconds: number;
  readonly latency: readonly LatencyCase[];
  readonly throughput: readonly ThroughputCase[];
  readonly throughputSeconds: number;
  readonly processes: readonly ProcessCase[];
  readonly contention: readonly ContentionCase[];
  readonly contentionSeconds: number;
  readonly hotRow: readonly HotRowCase[];
  readonly hotRowSeconds: number;
  readonly cost: readonly CostCase[];
};

const fanOut = "fan-out";
const standard = "standard";

/**
 * Clients that share a process, and as many in a process each, where that many processes are
 * likely.
 */
function hotRowCases(consumer: Consumer, clients: readonly number[]): readonly HotRowCase[] {
  const processesMax = 64;
  return clients.flatMap((count) => [
    { consumer, processes: 1, clientsPerProcess: count },
    ...(count === 1 || count > processesMax
      ? []
      : [{ consumer, processes: count, clientsPerProcess: 1 }]),
  ]);
}

function costCases(consumer: Consumer): readonly CostCase[] {
  return [
    { consumer, items: 2, perSecond: 10, shards: 1, processes: 2, seconds: 60 },
    { consumer, items: 2, perSecond: 1_000, shards: 1, processes: 8, seconds: 4 },
    { consumer, items: 2, perSecond: 50_000, shards: 25, processes: 8, seconds: 2 },
    { consumer, items: 5, perSecond: 10, shards: 1, processes: 2, seconds: 60 },
    { consumer, items: 5, perSecond: 1_000, shards: 1, processes: 8, seconds: 4 },
    { consumer, items: 5, perSecond: 50_000, shards: 50, processes: 8, seconds: 3 },
  ];
}

/** What docs/performance.md shows. */
export const fullPlan: ProjectionPlan = {
  complete: true,
  warmUpSeconds: 3,
  latency: ([fanOut, standard] as const).flatMap((consumer): LatencyCase[] => [
    { consumer, perSecond: 10, processes: 2, seconds: 100 },
    { consumer, perSecond: 100, processes: 4, seconds: 30 },
    { consumer, perSecond: 1_000, processes: 8, seconds: 8 },
  ]),
  throughput: [
    ...[1, 8, 32, 128].map((clientsPerProcess): ThroughputCase => ({
      consumer: fanOut,
      processes: 8,
      clientsPerProcess,
      fillerBytes: 0,
    })),
    { consumer: standard, processes: 8, clientsPerProcess: 128, fillerBytes: 0 },
    { consumer: fanOut, processes: 8, clientsPerProcess: 64, fillerBytes: 900 },
  ],
  throughputSeconds: 3,
  processes: [4, 16, 64].map((processes) => ({ processes, perSecond: 1_000 })),
  contention: [
    ...[100, 1_000, 10_000, 100_000].map((keys) => ({ consumer: fanOut, keys }) as const),
    ...[100, 1_000, 10_000, 100_000].map((keys) => ({ consumer: standard, keys }) as const),
  ],
  contentionSeconds: 6,
  hotRow: [...hotRowCases(fanOut, [1, 4, 16, 64, 256]), ...hotRowCases(standard, [1, 16, 64])],
  hotRowSeconds: 10,
  cost: [...costCases(fanOut), ...costCases(standard)],
};

/** Everything once and briefly: for tests. */
export const briefPlan: ProjectionPlan = {
  complete: false,
  warmUpSeconds: 1,
  latency: [{ consumer: fanOut, perSecond: 20, processes: 2, seconds: 2 }],
  throughput: [{ consumer: fanOut, processes: 2, clientsPerProcess: 4, fillerBytes: 0 }],
  throughputSeconds: 1,
  processes: [{ processes: 3, perSecond: 20 }],
  contention: [{ consumer: fanOut, keys: 10 }],
  contentionSeconds: 1,
  hotRow: [{ consumer: fanOut, processes: 1, clientsPerProcess: 3 }],
  hotRowSeconds: 1,
  cost: [{ consumer: standard, items: 2, perSecond: 10, shards: 1, processes: 1, seconds: 3 }],
};
