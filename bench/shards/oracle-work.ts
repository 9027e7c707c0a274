/**
 * What a transaction costs the oracles, by the number of shards it may lie in: processor time of
 * their service, and how many requests it makes of one. Clusters of all sizes take turns, so that
 * what else the machine does is in all of them; ratios are medians over the turns.
 */
import { benchRandom } from "../harness/random.ts";
import { figure } from "../measure.ts";
import { keySetTables, type KeySets, synthetic, tpccKeySets } from "./key-sets.ts";
import { OracleCluster } from "./oracle-cluster.ts";

/** As the database grows with the shards, what is contended stays so. */
const warehousesPerShard = 32;

const oracleWorkloads = {
  "8 uniform": () => synthetic({ accesses: 8, power: 1 }),
  "16 uniform": () => synthetic({ accesses: 16, power: 1 }),
  "24 uniform": () => synthetic({ accesses: 24, power: 1 }),
  "8, a = 2": () => synthetic({ accesses: 8, power: 2 }),
  "8, a = 4": () => synthetic({ accesses: 8, power: 4 }),
  "TPC-C 1:1": (shards) => tpccKeySets(warehousesPerShard * shards),
} as const satisfies Readonly<Record<string, (shards: number) => KeySets>>;

export type OracleWorkload = keyof typeof oracleWorkloads;

export type OracleWorkCase = {
  readonly workloads: readonly OracleWorkload[];
  /** The second one is what the last one is compared with. */
  readonly shards: readonly number[];
  readonly requestsPerRound: number;
  readonly warmUpRounds: number;
  readonly roundsPerTurn: number;
  readonly turns: number;
};

export type OracleWorkRow = {
  readonly workload: OracleWorkload;
  readonly shards: number;
  readonly transactions: number;
  readonly committedShare: number;
  /** On average: shards of a transaction, and requests that it makes of oracles. */
  readonly parts: number;
  readonly requests: number;
  /** Processor time per transaction; that of two shards ÷ it, each by the same turn. */
  readonly micros: number;
  readonly rateLeft: number;
  readonly rateLeftLow: number;
  readonly rateLeftHigh: number;
};

const compared = 2;

export async function oracleWorkRows(
  task: Omit<OracleWorkCase, "workloads"> & { readonly seed: number },
  workload: OracleWorkload,
): Promise<readonly OracleWorkRow[]> {
  const { seed, requestsPerRound, warmUpRounds, roundsPerTurn, turns } = task;
  const clusters = task.shards.map((shards) => ({
    shards,
    cluster: new OracleCluster({
      ...{ shards, requestsPerRound, tables: keySetTables },
      keySets: oracleWorkloads[workload](shards),
      random: benchRandom(seed, shards),
    }),
    works: [] as Awaited<ReturnType<OracleCluster["run"]>>[],
  }));
  for (const { cluster } of clusters) await cluster.run(warmUpRounds);
  for (let turn = 0; turn < turns; turn += 1) {
    for (const { cluster, works } of clusters) works.push(await cluster.run(roundsPerTurn));
  }
  const micros = ({ cpuMs, transactions }: { cpuMs: number; transactions: number }): number =>
    (1_000 * cpuMs) / Math.max(1, transactions);
  const base = clusters.find(({ shards }) => shards === compared)?.works ?? [];
  return clusters.map(({ shards, works }): OracleWorkRow => {
    const sum = (of: (work: (typeof works)[number]) => number): number =>
      works.reduce((total, work) => total + of(work), 0);
    const transactions = sum((work) => work.transactions);
    const left = figure(
      "rate left",
      works.map((work, turn) => micros(base[turn] ?? work) / micros(work)),
    );
    return {
      ...{ workload, shards, transactions },
      committedShare: sum((work) => work.committed) / transactions,
      parts: sum((work) => work.parts * work.transactions) / transactions,
      requests: sum((work) => work.requests) / transactions,
      micros: figure("micros", works.map(micros)).median,
      ...{ rateLeft: left.median, rateLeftLow: left.low, rateLeftHigh: left.high },
    };
  });
}
