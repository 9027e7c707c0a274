/**
 * How throughput grows with the shards: as many clients for each shard, in a process for each,
 * below a shard's limits, so that 64 can be simulated. What grows is latency, where transactions
 * touch several shards, and what each takes of a shard's limits: from the latter follows what they
 * would carry (`ceilingPerSecond`).
 */
import type { CommitPreference } from "../../engine/types.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { Percentiles } from "../projection/latency-samples.ts";
import type { Body, LoadOptions, LoadResult } from "../projection/load.ts";
import type { ProjectedDeployment } from "../projection/projected-deployment.ts";
import { serviceLimits } from "../projection/published-figures.ts";
import { tpccTasks } from "./tpcc-tasks.ts";
import { accessing, apart, runLoad } from "./run-load.ts";
import { SpreadKeys } from "./spread-keys.ts";

/**
 * `own shard`: each process keeps to a shard of its own. `within`: each transaction lies in one,
 * any. `uniform`: eight keys, wherever they lie. `tpcc`: new orders and payments 1:1.
 */
export const spreads = ["own shard", "within", "uniform", "tpcc"] as const;
export type Spread = (typeof spreads)[number];

export type ThroughputCase = {
  readonly shards: readonly number[];
  readonly clientsPerShard: Readonly<Partial<Record<Spread, number>>>;
  readonly seconds: number;
  readonly warmUpSeconds: number;
};

export type ThroughputRow = {
  readonly spread: Spread;
  readonly commit: CommitPreference;
  readonly shards: number;
  readonly committedPerSecond: number;
  readonly latency: Percentiles;
  /** Runs of a body that a conflict ended, of all runs. */
  readonly conflictShare: number;
  readonly failures: number;
  readonly recordBytesPerShard: number;
  readonly recordsPerShard: number;
  readonly logReadUnitsPerShard: number;
  readonly throttledPerSecond: number;
  /**
   * What the shards' Kinesis shards would carry: their bytes a second ÷ those of a transaction. A
   * log's read units bound it as well, where many processes follow it.
   */
  readonly ceilingPerSecond: number;
};

const keysPerShard = 10_000;

export async function throughputRow(
  task: Omit<ThroughputCase, "shards"> & { readonly seed: number },
  of: Pick<ThroughputRow, "spread" | "commit" | "shards">,
): Promise<ThroughputRow> {
  const { seed, clientsPerShard, seconds, warmUpSeconds } = task;
  const { spread, commit, shards } = of;
  const around = {
    ...{ commit, seconds, warmUpSeconds, processes: shards },
    arrival: { kind: "closed", clientsPerProcess: clientsPerShard[spread] ?? 1 },
  } as const;
  const tpcc = spread === "tpcc" ? tpccTasks({ warehouses: 2 * shards }) : undefined;
  const result = await runLoad({
    ...{ seed, shards },
    ...(tpcc === undefined ? {} : { deployment: { tables: tpcc.tables } }),
    load: async (deployment): Promise<LoadOptions> => {
      if (tpcc === undefined) return { ...around, body: await bodyOf(deployment, spread) };
      tpcc.fill(deployment.world.dynamodb);
      return { ...around, body: neverRun, tasks: tpcc.draw };
    },
  });
  return rowOf(result, of);
}

const neverRun: Body = () => Promise.reject(new Error("tasks take its place"));

async function bodyOf(deployment: ProjectedDeployment, spread: Spread): Promise<Body> {
  const shards = deployment.shards.length;
  const spreadKeys = await SpreadKeys.of(deployment, keysPerShard * shards);
  const draws = {
    "own shard": (random: SeededRandom, process: number) =>
      spreadKeys.within(random, process % shards, 8),
    within: (random: SeededRandom) => spreadKeys.within(random, random.integer(0, shards - 1), 8),
    uniform: (random: SeededRandom) => spreadKeys.anywhere(random, 8),
    tpcc: () => [],
  };
  return accessing((random, process) => apart(draws[spread](random, process), 4));
}

function rowOf(
  result: LoadResult,
  of: Pick<ThroughputRow, "spread" | "commit" | "shards">,
): ThroughputRow {
  const { usage, seconds } = result;
  const { client, oracle, replay } = usage;
  const perShard = (figure: number): number => figure / seconds / of.shards;
  const bytesEach = client.recordBytes / Math.max(1, result.committed);
  return {
    ...of,
    ceilingPerSecond: (serviceLimits.shardBytesPerSecond * of.shards) / bytesEach,
    committedPerSecond: result.committedPerSecond,
    latency: result.latency.percentiles,
    conflictShare: result.conflictShare,
    failures: Object.values(result.failures).reduce((sum, count) => sum + count, 0),
    recordBytesPerShard: perShard(client.recordBytes),
    recordsPerShard: perShard(client.records),
    logReadUnitsPerShard: perShard(
      client.queryReadUnits + replay.queryReadUnits + oracle.queryReadUnits,
    ),
    throttledPerSecond: (client.throttled + oracle.throttled + replay.throttled) / seconds,
  };
}
