/**
 * The SDK as an application uses it: serializable transactions, and snapshots for operations that
 * only read. Each way to commit is a contestant of its own.
 */
import {
  ConflictError,
  createClient,
  defineTable,
  type Client,
  type ClientOptions,
  type Snapshot,
  type Table,
} from "../../sdk/index.ts";
import {
  type BenchTarget,
  type ContestantClient,
  GaveUp,
  type Outcome,
  physicalName,
  type TidemarkContestant,
} from "../harness/contestant.ts";
import {
  type BenchItem,
  type BenchQuery,
  type BenchTable,
  type BenchTransaction,
  type Operation,
  RolledBack,
} from "../harness/workload.ts";
import { retryLimits } from "./retry-limits.ts";

type TableOf = (table: BenchTable) => Table;

const commitOf: Readonly<Record<TidemarkContestant, NonNullable<ClientOptions["commit"]>>> = {
  "tidemark-auto": "auto",
  "tidemark-stream": "stream",
  "tidemark-express": "express",
};

export function openTidemark(
  name: TidemarkContestant,
): (target: BenchTarget) => Promise<ContestantClient> {
  const tables = new Map<string, Table>();
  const tableOf: TableOf = (table) => {
    let found = tables.get(table.name);
    if (found === undefined) {
      found = defineTable(physicalName(name, table));
      tables.set(table.name, found);
    }
    return found;
  };
  const commit = commitOf[name];
  return ({ deployment, region, endpoints }) => {
    const client = createClient({
      deployment,
      region,
      ...(endpoints === undefined ? {} : { endpoints }),
      commit,
    });
    return Promise.resolve({
      run: (operation) =>
        operation.readOnly
          ? runReadOnly(client, tableOf, operation)
          : run(client, tableOf, operation),
      read: (body) => client.snapshot((snapshot) => body(readOnly(snapshot, tableOf))),
      close: () => client.close(),
    });
  };
}

async function run(client: Client, tableOf: TableOf, operation: Operation): Promise<Outcome> {
  let attempts = 0;
  try {
    const { receipt } = await client.transact(retryLimits, (tx) => {
      attempts += 1;
      return operation.body({
        ...readsOf(tx, tableOf),
        // Of an object that serves as key only the key attributes count.
        put: (table, item) => tx.put(tableOf(table), item as never, item),
        delete: (table, key) => tx.delete(tableOf(table), key),
      });
    });
    return { kind: "committed", attempts, phases: receipt.phases };
  } catch (error) {
    return outcomeOf(error, attempts);
  }
}

async function runReadOnly(
  client: Client,
  tableOf: TableOf,
  operation: Operation,
): Promise<Outcome> {
  let attempts = 0;
  try {
    await client.snapshot(retryLimits, (snapshot) => {
      attempts += 1;
      return operation.body(readOnly(snapshot, tableOf));
    });
    return { kind: "committed", attempts };
  } catch (error) {
    return outcomeOf(error, attempts);
  }
}

/** @throws whatever is neither a rollback nor a conflict, as it is. */
function outcomeOf(error: unknown, attempts: number): Outcome {
  if (error instanceof RolledBack) return { kind: "rolled-back", attempts };
  if (error instanceof ConflictError) {
    throw new GaveUp("conflicts to the end", attempts, { cause: error });
  }
  throw error;
}

/** Keys are of whatever type the workload's tables have; the registry checks them. */
function readsOf(
  reader: Snapshot,
  tableOf: TableOf,
): Pick<BenchTransaction, "get" | "batchGet" | "query"> {
  return {
    get: (table, key) => reader.get(tableOf(table), key),
    batchGet: (table, keys) => reader.batchGet(tableOf(table), keys as never),
    query: (table, query) => rowsOf(reader, tableOf, table, query),
  };
}

function readOnly(snapshot: Snapshot, tableOf: TableOf): BenchTransaction {
  const refuse = (): never => {
    throw new TypeError("a read-only operation writes");
  };
  return { ...readsOf(snapshot, tableOf), put: refuse, delete: refuse };
}

function rowsOf(
  reader: Snapshot,
  tableOf: TableOf,
  table: BenchTable,
  { partition, from, to, limit, descending }: BenchQuery,
): Promise<readonly BenchItem[]> {
  const condition =
    from !== undefined && to !== undefined
      ? { between: [from, to] }
      : from !== undefined
        ? { gte: from }
        : to !== undefined
          ? { lte: to }
          : undefined;
  const where = {
    [table.partitionKey.name]: partition,
    ...(condition === undefined || table.sortKey === undefined
      ? {}
      : { [table.sortKey.name]: condition }),
  };
  const rows = reader.query(tableOf(table), {
    where: where as never,
    descending: descending ?? false,
  });
  return limit === undefined ? rows.all() : rows.take(limit);
}
