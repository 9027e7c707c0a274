/**
 * The SDK as an application uses it: serializable transactions, and snapshots for operations that
 * only read.
 */
import {
  ConflictError,
  createClient,
  defineTable,
  type Client,
  type Snapshot,
  type Table,
} from "../../sdk/index.ts";
import {
  type BenchTarget,
  type ContestantClient,
  GaveUp,
  type Outcome,
  physicalName,
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

const tables = new Map<string, Table>();

function tableOf(table: BenchTable): Table {
  let found = tables.get(table.name);
  if (found === undefined) {
    found = defineTable(physicalName("tidemark", table));
    tables.set(table.name, found);
  }
  return found;
}

export function openTidemark(target: BenchTarget): Promise<ContestantClient> {
  const { deployment, region, endpoints } = target;
  const client = createClient({
    deployment,
    region,
    ...(endpoints === undefined ? {} : { endpoints }),
  });
  return Promise.resolve({
    run: (operation) =>
      operation.readOnly ? runReadOnly(client, operation) : run(client, operation),
    read: (body) => client.snapshot((snapshot) => body(readOnly(snapshot))),
    close: () => client.close(),
  });
}

async function run(client: Client, operation: Operation): Promise<Outcome> {
  let attempts = 0;
  try {
    const { receipt } = await client.transact(retryLimits, (tx) => {
      attempts += 1;
      return operation.body({
        ...readsOf(tx),
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

async function runReadOnly(client: Client, operation: Operation): Promise<Outcome> {
  let attempts = 0;
  try {
    await client.snapshot(retryLimits, (snapshot) => {
      attempts += 1;
      return operation.body(readOnly(snapshot));
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
function readsOf(reader: Snapshot): Pick<BenchTransaction, "get" | "batchGet" | "query"> {
  return {
    get: (table, key) => reader.get(tableOf(table), key),
    batchGet: (table, keys) => reader.batchGet(tableOf(table), keys as never),
    query: (table, query) => rowsOf(reader, table, query),
  };
}

function readOnly(snapshot: Snapshot): BenchTransaction {
  const refuse = (): never => {
    throw new TypeError("a read-only operation writes");
  };
  return { ...readsOf(snapshot), put: refuse, delete: refuse };
}

function rowsOf(
  reader: Snapshot,
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
