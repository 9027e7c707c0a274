/**
 * The SDK as an application uses it: transactions, and snapshots for operations that only read.
 * Each way to commit, each isolation and each kind of table is a contestant of its own; on mixed
 * tables single operations are native ones, by a client with the plugin.
 */
import {
  ConflictError,
  createClient,
  defineTable,
  type Client,
  type ClientOptions,
  type Snapshot,
  type Table,
  type Transaction,
  type TransactOptions,
} from "../../sdk/index.ts";
import { createAwsClients } from "../../aws/clients.ts";
import { tidemarkNative } from "../../native/index.ts";
import {
  type BenchTarget,
  type ContestantClient,
  GaveUp,
  isMixed,
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
import { nativeOn } from "./native.ts";
import { retryLimits } from "./retry-limits.ts";

export type TableOf = (table: BenchTable) => Table;

type Way = {
  readonly commit: NonNullable<ClientOptions["commit"]>;
  readonly isolation: NonNullable<TransactOptions["isolation"]>;
};

const ways: Readonly<Record<TidemarkContestant, Way>> = {
  "tidemark-auto": { commit: "auto", isolation: "serializable" },
  "tidemark-stream": { commit: "stream", isolation: "serializable" },
  "tidemark-express": { commit: "express", isolation: "serializable" },
  "tidemark-snapshot": { commit: "express", isolation: "snapshot" },
  "tidemark-mixed": { commit: "express", isolation: "serializable" },
  "tidemark-mixed-snapshot": { commit: "express", isolation: "snapshot" },
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
  const { commit, isolation } = ways[name];
  return async ({ deployment, region, endpoints }) => {
    const client = createClient({
      deployment,
      region,
      ...(endpoints === undefined ? {} : { endpoints }),
      commit,
    });
    const native = isMixed(name)
      ? await awareCalls(client, name, { region, endpoints })
      : undefined;
    return {
      run: (operation) => {
        if (operation.native === true && native !== undefined) return native.run(operation);
        return operation.readOnly
          ? runReadOnly(client, tableOf, operation)
          : run(client, { tableOf, isolation }, operation);
      },
      read: (body) => client.snapshot((snapshot) => body(readOnly(snapshot, tableOf))),
      close: async () => {
        await native?.close();
        await client.close();
      },
    };
  };
}

/** Plain calls beside its transactions, as an application has them with the plugin. */
async function awareCalls(
  client: Client,
  name: TidemarkContestant,
  { region, endpoints }: Pick<BenchTarget, "region" | "endpoints">,
): Promise<Omit<ContestantClient, "read">> {
  const aws = createAwsClients({ region, endpoint: endpoints });
  const { client: dynamodb } = await aws.dynamodb();
  dynamodb.middlewareStack.use(tidemarkNative({ client }));
  const { run: runNative } = nativeOn(dynamodb, name);
  return { run: runNative, close: () => aws.close() };
}

async function run(
  client: Client,
  { tableOf, isolation }: { readonly tableOf: TableOf; readonly isolation: Way["isolation"] },
  operation: Operation,
): Promise<Outcome> {
  let attempts = 0;
  try {
    const { receipt } = await client.transact({ ...retryLimits, isolation }, (tx) => {
      attempts += 1;
      return operation.body(readWrite(tx, tableOf));
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

/** A workload's transaction on a transaction of the SDK's. */
export function readWrite(tx: Transaction, tableOf: TableOf): BenchTransaction {
  return {
    ...readsOf(tx, tableOf),
    // Of an object that serves as key only the key attributes count.
    put: (table, item) => tx.put(tableOf(table), item as never, item),
    delete: (table, key) => tx.delete(tableOf(table), key),
  };
}

export function readOnly(snapshot: Snapshot, tableOf: TableOf): BenchTransaction {
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
