/**
 * TATP's standard mix over several shards, with the local check as the SDK has it: what only reads
 * asks no oracle. Beside it the same without: each transaction that only reads also writes a row of
 * its own, so that it has to be certified, as in the paper's validators without their bypass.
 */
import type { CommitPreference } from "../../engine/types.ts";
import type { BenchTable } from "../harness/workload.ts";
import type { Percentiles } from "../projection/latency-samples.ts";
import { tatp } from "../workloads/tatp.ts";
import { runLoad } from "./run-load.ts";
import { tasksOf, type WorkloadTasks } from "./workload-tasks.ts";

export type TatpCase = {
  readonly shards: readonly number[];
  readonly subscribers: number;
  readonly clientsPerShard: number;
  readonly seconds: number;
};

export type TatpRow = {
  readonly localCheck: boolean;
  readonly shards: number;
  readonly commit: CommitPreference;
  /** Committed, or rolled back as the benchmark asks for. */
  readonly endedPerSecond: number;
  readonly readOnlyShare: number;
  readonly conflictShare: number;
  readonly failures: number;
  readonly latency: Percentiles;
  /** Per transaction that ended. */
  readonly recordBytes: number;
};

const checks: BenchTable = {
  name: "tatp-checks",
  partitionKey: { name: "worker", type: "N" },
};

function tatpTasks(subscribers: number, localCheck: boolean): WorkloadTasks {
  const { tables, rows, next } = tatp({ subscribers });
  return tasksOf({
    ...{ tables: [...tables, checks], rows },
    next: (random, worker) => {
      const operation = next(random, worker);
      if (localCheck || !operation.readOnly) return operation;
      return {
        ...{ name: operation.name, readOnly: false },
        body: async (transaction) => {
          await operation.body(transaction);
          transaction.put(checks, { worker });
        },
      };
    },
  });
}

export async function tatpRow(
  task: Omit<TatpCase, "shards"> & { readonly seed: number },
  { shards, localCheck }: Pick<TatpRow, "shards" | "localCheck">,
): Promise<TatpRow> {
  const { seed, subscribers, clientsPerShard, seconds } = task;
  const tasks = tatpTasks(subscribers, localCheck);
  const commit = "stream";
  const result = await runLoad({
    ...{ seed, shards, deployment: { tables: tasks.tables } },
    load: (deployment) => {
      tasks.fill(deployment.world.dynamodb);
      return {
        ...{ commit, processes: shards, seconds, warmUpSeconds: 4 },
        arrival: { kind: "closed", clientsPerProcess: clientsPerShard },
        body: () => Promise.reject(new Error("tasks take its place")),
        tasks: tasks.draw,
      };
    },
  });
  const ended = result.committed + result.rolledBack;
  return {
    ...{ localCheck, shards, commit, endedPerSecond: ended / seconds },
    readOnlyShare: result.readOnly / Math.max(1, result.committed),
    conflictShare: result.conflictShare,
    failures: Object.values(result.failures).reduce((sum, count) => sum + count, 0),
    latency: result.latency.percentiles,
    recordBytes: result.usage.client.recordBytes / Math.max(1, ended),
  };
}
