/** What `npm run bench:shards` runs: sizes, and durations in virtual seconds. */
import type { ContentionCase } from "./contention.ts";
import type { CrossShardCase } from "./cross-shard.ts";
import type { DeadOracleCase } from "./dead-oracle.ts";
import type { ElasticCase } from "./elastic.ts";
import type { OneOfManyCase } from "./one-of-many.ts";
import type { OracleWorkCase } from "./oracle-work.ts";
import type { OrphansCase } from "./orphans.ts";
import type { OutlierCase } from "./outlier.ts";
import type { ReadOnlyCase } from "./read-only.ts";
import type { SpuriousCase } from "./spurious.ts";
import type { TatpCase } from "./tatp-figures.ts";
import type { ThroughputCase } from "./throughput.ts";

export const figureNames = [
  ...(["work", "throughput", "spurious", "readOnly", "outlier"] as const),
  ...(["crossShard", "oneOfMany", "tatp", "contention"] as const),
  ...(["elastic", "deadOracle", "orphans"] as const),
] as const;
export type FigureName = (typeof figureNames)[number];

export type ShardsPlan = {
  readonly work: OracleWorkCase;
  readonly throughput: ThroughputCase;
  readonly spurious: SpuriousCase;
  readonly readOnly: ReadOnlyCase;
  readonly outlier: OutlierCase;
  readonly crossShard: CrossShardCase;
  readonly oneOfMany: OneOfManyCase;
  readonly tatp: TatpCase;
  readonly contention: ContentionCase;
  readonly elastic: ElasticCase;
  readonly deadOracle: DeadOracleCase;
  readonly orphans: OrphansCase;
};

/** What docs/performance.md shows. */
export const fullPlan: ShardsPlan = {
  work: {
    workloads: ["8 uniform", "16 uniform", "24 uniform", "8, a = 2", "8, a = 4", "TPC-C 1:1"],
    shards: [1, 2, 4, 8],
    requestsPerRound: 400,
    warmUpRounds: 20,
    roundsPerTurn: 6,
    turns: 9,
  },
  throughput: {
    shards: [1, 8, 64],
    clientsPerShard: { "own shard": 8, within: 8, uniform: 4, tpcc: 2 },
    seconds: 2,
    warmUpSeconds: 3,
  },
  spurious: {
    shards: [2, 3, 4],
    records: 1_000_000,
    clientsPerProcess: 250,
    seconds: 2,
    naiveTransactions: 300_000,
    watermarksEvery: [1, 1_000, 10_000, 100_000],
  },
  readOnly: {
    shards: 4,
    writeShares: [0, 0.1, 0.25, 0.5, 0.75, 0.9],
    keys: 100_000,
    itemsPerTransaction: 10,
    perSecond: 150,
    seconds: 4,
  },
  outlier: {
    ...{ shards: 3, keys: 10_000, perSecond: 60, seconds: 60 },
    ...{ everySeconds: 20, stallSeconds: [0, 5, 10] },
  },
  crossShard: { perSecond: 10, seconds: 100 },
  oneOfMany: { shards: [1, 64], perSecond: 10, seconds: 60 },
  tatp: { shards: [1, 2, 4], subscribers: 2_000, clientsPerShard: 8, seconds: 4 },
  contention: { shards: [1, 3], keys: [10_000, 4_000, 2_000], perSecond: 60, seconds: 6 },
  elastic: { shards: 2, keys: 10_000, perSecond: 60, phaseSeconds: 20 },
  deadOracle: { shards: 3, keys: 10_000, perSecond: 60, phaseSeconds: 10 },
  orphans: { rounds: 100, metWithinMs: 500, unmet: 20 },
};

/** Each figure once, and as small as it can be: for tests. */
export const briefPlan: ShardsPlan = {
  work: {
    ...{ workloads: ["8 uniform", "TPC-C 1:1"], shards: [1, 2, 3] },
    ...{ requestsPerRound: 10, warmUpRounds: 1, roundsPerTurn: 1, turns: 2 },
  },
  throughput: {
    ...{ shards: [1, 2], seconds: 0.5, warmUpSeconds: 2 },
    clientsPerShard: { "own shard": 1, within: 1, uniform: 1, tpcc: 1 },
  },
  spurious: {
    ...{ shards: [2], records: 200, clientsPerProcess: 2, seconds: 1 },
    ...{ naiveTransactions: 2_000, watermarksEvery: [10] },
  },
  readOnly: {
    ...{ shards: 2, writeShares: [0, 0.5], keys: 1_000 },
    ...{ itemsPerTransaction: 3, perSecond: 30, seconds: 0.5 },
  },
  outlier: {
    ...{ shards: 2, keys: 100, perSecond: 5, seconds: 2 },
    ...{ everySeconds: 2, stallSeconds: [0, 1] },
  },
  crossShard: { perSecond: 10, seconds: 0.5 },
  oneOfMany: { shards: [1, 3], perSecond: 20, seconds: 1 },
  tatp: { shards: [1, 2], subscribers: 20, clientsPerShard: 1, seconds: 0.5 },
  contention: { shards: [1, 2], keys: [100], perSecond: 5, seconds: 1 },
  elastic: { shards: 2, keys: 100, perSecond: 10, phaseSeconds: 1 },
  deadOracle: { shards: 2, keys: 200, perSecond: 20, phaseSeconds: 2 },
  orphans: { rounds: 2, metWithinMs: 100, unmet: 1 },
};
