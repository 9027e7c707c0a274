/** Runs a plan, figure by figure. All but processor time follows from the seed and the code. */
import { contentionRow, type ContentionRow } from "./contention.ts";
import { crossShardRow, type CrossShardRow } from "./cross-shard.ts";
import { deadOracleRows, type DeadOracleRow } from "./dead-oracle.ts";
import { elasticRow, elasticSpreads, type ElasticRow } from "./elastic.ts";
import { oneOfManyRow, type OneOfManyRow } from "./one-of-many.ts";
import { oracleWorkRows, type OracleWorkRow } from "./oracle-work.ts";
import { orphansRow, type OrphansRow } from "./orphans.ts";
import { outlierRow, type OutlierRow } from "./outlier.ts";
import type { FigureName, ShardsPlan } from "./plan.ts";
import { readOnlyRow, type ReadOnlyRow } from "./read-only.ts";
import { naiveRow, type SpuriousRow, tidemarkRow } from "./spurious.ts";
import { tatpRow, type TatpRow } from "./tatp-figures.ts";
import { spreads, throughputRow, type ThroughputRow } from "./throughput.ts";

export type ShardsFigures = {
  readonly work: readonly OracleWorkRow[];
  readonly throughput: readonly ThroughputRow[];
  readonly spurious: readonly SpuriousRow[];
  readonly readOnly: readonly ReadOnlyRow[];
  readonly outlier: readonly OutlierRow[];
  readonly crossShard: readonly CrossShardRow[];
  readonly oneOfMany: readonly OneOfManyRow[];
  readonly tatp: readonly TatpRow[];
  readonly contention: readonly ContentionRow[];
  readonly elastic: readonly ElasticRow[];
  readonly deadOracle: readonly DeadOracleRow[];
  readonly orphans: readonly OrphansRow[];
};

type Run = {
  readonly seed: number;
  readonly plan: ShardsPlan;
  /** Told each row as soon as it is there. */
  readonly onRow: (figure: FigureName, row: unknown) => void;
};

type Runners = {
  readonly [Name in FigureName]: (run: Run) => AsyncGenerator<ShardsFigures[Name][number]>;
};

const runners: Runners = {
  async *work({ seed, plan }) {
    for (const workload of plan.work.workloads) {
      yield* await oracleWorkRows({ ...plan.work, seed }, workload);
    }
  },
  async *throughput({ seed, plan }) {
    for (const spread of spreads) {
      if (plan.throughput.clientsPerShard[spread] === undefined) continue;
      for (const shards of plan.throughput.shards) {
        yield await throughputRow(
          { ...plan.throughput, seed },
          { spread, shards, commit: "stream" },
        );
      }
    }
  },
  async *spurious({ seed, plan }) {
    const task = { ...plan.spurious, seed };
    for (const shards of task.shards) yield await tidemarkRow(task, shards);
    for (const shards of task.shards) {
      for (const watermarkEvery of task.watermarksEvery) {
        yield naiveRow(task, { shards, watermarkEvery });
      }
    }
  },
  async *readOnly({ seed, plan }) {
    for (const writeShare of plan.readOnly.writeShares) {
      yield await readOnlyRow({ ...plan.readOnly, seed }, { commit: "stream", writeShare });
    }
  },
  async *outlier({ seed, plan }) {
    for (const seconds of plan.outlier.stallSeconds) {
      yield await outlierRow({ ...plan.outlier, seed }, seconds);
    }
  },
  async *crossShard({ seed, plan }) {
    for (const access of ["transactional", "mixed"] as const) {
      for (const commit of ["express", "stream"] as const) {
        for (const touched of [1, 2]) {
          yield await crossShardRow({ ...plan.crossShard, seed }, { commit, access, touched });
        }
      }
    }
  },
  async *oneOfMany({ seed, plan }) {
    for (const commit of ["auto", "stream"] as const) {
      for (const shards of plan.oneOfMany.shards) {
        yield await oneOfManyRow({ ...plan.oneOfMany, seed }, { commit, shards });
      }
    }
  },
  async *tatp({ seed, plan }) {
    for (const localCheck of [true, false]) {
      for (const shards of plan.tatp.shards) {
        yield await tatpRow({ ...plan.tatp, seed }, { shards, localCheck });
      }
    }
  },
  async *contention({ seed, plan }) {
    for (const shards of plan.contention.shards) {
      for (const keys of plan.contention.keys) {
        const of = { commit: "stream", shards, keys } as const;
        yield await contentionRow({ ...plan.contention, seed }, of);
      }
    }
  },
  async *elastic({ seed, plan }) {
    for (const spread of elasticSpreads) {
      for (const commit of ["auto", "stream"] as const) {
        yield await elasticRow({ ...plan.elastic, seed }, { commit, spread });
      }
    }
  },
  async *deadOracle({ seed, plan }) {
    for (const commit of ["auto", "stream"] as const) {
      yield* await deadOracleRows({ ...plan.deadOracle, seed }, commit);
    }
  },
  async *orphans({ seed, plan }) {
    for (const commit of ["express", "stream"] as const) {
      yield await orphansRow({ ...plan.orphans, seed }, commit);
    }
  },
};

export async function runFigure<Name extends FigureName>(
  name: Name,
  run: Run,
): Promise<ShardsFigures[Name][number][]> {
  const rows: ShardsFigures[Name][number][] = [];
  for await (const row of runners[name](run)) {
    rows.push(row);
    run.onRow(name, row);
  }
  return rows;
}
