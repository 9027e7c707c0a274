/** Workloads of bench/workloads as tasks of the projection's load. */
import { type Table, defineTable } from "../../sdk/index.ts";
import type { DynamoDbModel } from "../../testing/cloud/dynamodb/model.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { putPlainRows } from "../../testing/table-contents.ts";
import { readOnly, readWrite, type TableOf } from "../contestants/tidemark.ts";
import type {
  BenchItem,
  BenchRandom,
  BenchTable,
  BenchTransaction,
  Operation,
} from "../harness/workload.ts";
import type { DrawTask } from "../projection/load.ts";
import type { ProjectedTable } from "../projection/projected-deployment.ts";

export type WorkloadTasks = {
  readonly tables: readonly ProjectedTable[];
  /** What stands in the tables at the start. */
  readonly fill: (dynamodb: DynamoDbModel) => void;
  readonly draw: DrawTask;
};

export type TaskSource = {
  readonly tables: readonly BenchTable[];
  readonly rows: () => Iterable<{ readonly table: BenchTable; readonly item: BenchItem }>;
  /** `worker` is unique and stays the same. */
  readonly next: (random: BenchRandom, worker: number) => Operation;
  /** The operation's transaction, as the stores have it. Default: as it is. */
  readonly adapt?: (
    transaction: BenchTransaction,
    of: { readonly operation: Operation; readonly worker: number },
  ) => BenchTransaction;
};

const workersPerProcessMax = 1_000;

export function tasksOf({ tables, rows, next, adapt }: TaskSource): WorkloadTasks {
  const known = new Map<string, Table>(tables.map(({ name }) => [name, defineTable(name)]));
  const tableOf: TableOf = ({ name }) => {
    const table = known.get(name);
    if (table === undefined) throw new Error(`the workload has no table ${name}`);
    return table;
  };
  return {
    tables,
    fill: (dynamodb) => {
      for (const { table, item } of rows()) {
        const described = { ...table, history: false, access: "transactional" } as const;
        putPlainRows(dynamodb, described, [item]);
      }
    },
    draw: (random, { process, worker }) => {
      const number = process * workersPerProcessMax + worker;
      const operation = next(asBenchRandom(random), number);
      return {
        readOnly: operation.readOnly,
        body: (reads, transaction) => {
          const plain =
            transaction === undefined ? readOnly(reads, tableOf) : readWrite(transaction, tableOf);
          return operation.body(adapt?.(plain, { operation, worker: number }) ?? plain);
        },
      };
    },
  };
}

function asBenchRandom(random: SeededRandom): BenchRandom {
  return {
    fraction: () => random.next(),
    below: (below) => Math.floor(random.next() * below),
  };
}
