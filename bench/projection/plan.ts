/** What a projection runs: sizes and durations in virtual seconds. */
import type { TableAccess } from "../../core/types.ts";
import type { CommitPreference } from "../../engine/types.ts";
import type { Consumer } from "./published-figures.ts";

export type LatencyCase = {
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly perSecond: number;
  readonly processes: number;
  readonly seconds: number;
};

export type ThroughputCase = {
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly processes: number;
  readonly clientsPerProcess: number;
  readonly fillerBytes: number;
};

/** At a fixed load, so that only what the processes do for themselves differs. */
export type ProcessCase = {
  readonly commit: CommitPreference;
  readonly processes: number;
  readonly perSecond: number;
};

export type ContentionCase = {
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly keys: number;
};

export type HotRowCase = {
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly processes: number;
  readonly clientsPerProcess: number;
};

export type CostCase = {
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly items: number;
  readonly perSecond: number;
  /** Load and processes are spread evenly over the shards; one of them is simulated. */
  readonly shards: number;
  readonly processes: number;
  readonly seconds: number;
};

/** Clients that keep to the stream, beside others that commit as they may. */
export type BesideCase = {
  readonly consumer: Consumer;
  readonly perSecond: number;
  readonly processes: number;
  readonly loud: {
    readonly commit: CommitPreference;
    readonly processes: number;
    readonly clientsPerProcess: number;
  };
  readonly seconds: number;
};

/** On a table of either kind, two items read and written, and one more read or not. */
export type MixedCase = {
  readonly commit: "stream" | "express";
  readonly access: TableAccess;
  readonly onlyRead: number;
  readonly perSecond: number;
  readonly seconds: number;
};

export type ProjectionPlan = {
  readonly complete: boolean;
  readonly warmUpSeconds: number;
  readonly latency: readonly LatencyCase[];
  readonly beside: readonly BesideCase[];
  readonly throughput: readonly ThroughputCase[];
  readonly throughputSeconds: number;
  readonly processes: readonly ProcessCase[];
  readonly contention: readonly ContentionCase[];
  readonly contentionSeconds: number;
  readonly mixed: readonly MixedCase[];
  readonly hotRow: readonly HotRowCase[];
  readonly hotRowSeconds: number;
  readonly cost: readonly CostCase[];
};

const fanOut = "fan-out" as const;
const standard = "standard" as const;

function latencyCases(commit: CommitPreference, consumer: Consumer): readonly LatencyCase[] {
  return [
    { commit, consumer, perSecond: 10, processes: 1, seconds: 100 },
    { commit, consumer, perSecond: 10, processes: 2, seconds: 100 },
    { commit, consumer, perSecond: 100, processes: 4, seconds: 30 },
    { commit, consumer, perSecond: 1_000, processes: 8, seconds: 8 },
  ];
}

function throughputCases(commit: CommitPreference): readonly ThroughputCase[] {
  return [1, 8, 32, 128].map((clientsPerProcess) => ({
    ...{ commit, consumer: fanOut, processes: 8, clientsPerProcess, fillerBytes: 0 },
  }));
}

/** As many clients in one process, and in a process each, where so many processes are likely. */
function hotRowCases(
  commit: CommitPreference,
  consumer: Consumer,
  clients: readonly number[],
): readonly HotRowCase[] {
  const processesMax = 64;
  const shared = { commit, consumer, processes: 1 };
  const apart = { commit, consumer, clientsPerProcess: 1 };
  return clients.flatMap((count) => [
    { ...shared, clientsPerProcess: count },
    ...(count === 1 || count > processesMax ? [] : [{ ...apart, processes: count }]),
  ]);
}

function costCases(commit: CommitPreference, consumer: Consumer): readonly CostCase[] {
  return [
    ...[2, 5].flatMap((items) => [
      { items, perSecond: 10, shards: 1, processes: 2, seconds: 60 },
      { items, perSecond: 1_000, shards: 1, processes: 8, seconds: 4 },
      { items, perSecond: 50_000, shards: 25 * Math.floor(items / 2), processes: 8, seconds: 2 },
    ]),
    { items: 25, perSecond: 10, shards: 1, processes: 2, seconds: 60 },
  ].map((task) => ({ commit, consumer, ...task }));
}

function besideCases(commit: CommitPreference, processes: readonly number[]): BesideCase[] {
  const quiet = { consumer: fanOut, perSecond: 10, processes: 2, seconds: 60 } as const;
  return processes.map((count) => ({
    ...quiet,
    loud: { commit, processes: count, clientsPerProcess: 1 },
  }));
}

function mixedCases(seconds: number): readonly MixedCase[] {
  return (["express", "stream"] as const).flatMap((commit) =>
    (["transactional", "mixed"] as const).flatMap((access) =>
      [0, 1].map((onlyRead) => ({ commit, access, onlyRead, perSecond: 10, seconds })),
    ),
  );
}

const sixteenBySixteen = { consumer: fanOut, processes: 16, clientsPerProcess: 16 } as const;

/** What docs/performance.md shows. */
export const fullPlan: ProjectionPlan = {
  complete: true,
  warmUpSeconds: 3,
  latency: [
    ...latencyCases("auto", fanOut),
    ...latencyCases("stream", fanOut),
    ...latencyCases("stream", standard),
  ],
  beside: [
    ...besideCases("stream", [0, 2, 8]),
    ...besideCases("auto", [2, 8]),
    ...besideCases("express", [2, 8]),
  ],
  throughput: [
    ...throughputCases("auto"),
    ...throughputCases("stream"),
    {
      ...{ commit: "stream", consumer: standard, processes: 8, clientsPerProcess: 128 },
      fillerBytes: 0,
    },
    ...(["auto", "stream"] as const).map((commit) => ({
      ...{ commit, consumer: fanOut, processes: 8, clientsPerProcess: 64, fillerBytes: 900 },
    })),
  ],
  throughputSeconds: 3,
  processes: (["auto", "stream"] as const).flatMap((commit) =>
    [4, 16, 64].map((processes) => ({ commit, processes, perSecond: 1_000 })),
  ),
  contention: [
    ...(["auto", "stream"] as const).flatMap((commit) =>
      [100, 1_000, 10_000, 100_000].map((keys) => ({ commit, consumer: fanOut, keys })),
    ),
    ...[100, 10_000].map((keys) => ({ commit: "stream", consumer: standard, keys }) as const),
  ],
  contentionSeconds: 6,
  mixed: mixedCases(100),
  hotRow: [
    ...hotRowCases("auto", fanOut, [1, 4, 16, 64, 256]),
    { commit: "auto", ...sixteenBySixteen },
    ...hotRowCases("stream", fanOut, [1, 4, 16, 64, 256]),
    { commit: "stream", ...sixteenBySixteen },
    ...hotRowCases("stream", standard, [1, 16]),
  ],
  hotRowSeconds: 10,
  cost: [
    ...costCases("auto", standard),
    ...costCases("stream", fanOut),
    ...costCases("stream", standard),
  ],
};

/** Everything once and briefly: for tests. */
export const briefPlan: ProjectionPlan = {
  complete: false,
  warmUpSeconds: 1,
  latency: [
    { commit: "stream", consumer: fanOut, perSecond: 20, processes: 2, seconds: 2 },
    { commit: "auto", consumer: fanOut, perSecond: 20, processes: 2, seconds: 2 },
  ],
  beside: [
    {
      ...{ consumer: fanOut, perSecond: 20, processes: 1, seconds: 1 },
      loud: { commit: "auto", processes: 2, clientsPerProcess: 1 },
    },
  ],
  throughput: [
    { commit: "stream", consumer: fanOut, processes: 2, clientsPerProcess: 4, fillerBytes: 0 },
  ],
  throughputSeconds: 1,
  processes: [{ commit: "stream", processes: 3, perSecond: 20 }],
  contention: [{ commit: "stream", consumer: fanOut, keys: 10 }],
  contentionSeconds: 1,
  mixed: mixedCases(2),
  hotRow: [
    { commit: "stream", consumer: fanOut, processes: 1, clientsPerProcess: 3 },
    { commit: "auto", consumer: fanOut, processes: 3, clientsPerProcess: 1 },
  ],
  hotRowSeconds: 1,
  cost: [
    {
      ...{ commit: "stream", consumer: standard, items: 2, perSecond: 10, shards: 1 },
      ...{ processes: 1, seconds: 3 },
    },
  ],
};
