/**
 * TPC-C's tables as the Centiman paper splits them: the yearly amounts of warehouse and district
 * for each terminal, and warehouse, district and customer by column, so that new orders and
 * payments do not collide on rows of which they use different fields.
 *
 * Items and stock are not loaded: a row that is not there is as it would have been loaded.
 */
import type {
  BenchItem,
  BenchKey,
  BenchTable,
  BenchTransaction,
  Operation,
} from "../harness/workload.ts";
import {
  customers,
  districts,
  items,
  stocks,
  tpccTables,
  warehouses,
} from "../workloads/tpcc/schema.ts";

const warehouseAmounts: BenchTable = {
  name: "tpcc-warehouse-amounts",
  partitionKey: { name: "terminal", type: "S" },
};
const districtAmounts: BenchTable = {
  name: "tpcc-district-amounts",
  partitionKey: { name: "terminal", type: "S" },
};
const districtCounters: BenchTable = {
  name: "tpcc-district-counters",
  partitionKey: { name: "district", type: "S" },
};
const customerBalances: BenchTable = {
  name: "tpcc-customer-balances",
  partitionKey: { name: "customer", type: "S" },
};

export const splitTables: readonly BenchTable[] = [
  ...tpccTables,
  ...[warehouseAmounts, districtAmounts, districtCounters, customerBalances],
];

/** Where the fields of a row lie that one kind of transaction changes. */
type Split = {
  readonly table: BenchTable;
  readonly key: (row: BenchItem) => BenchKey;
  readonly fields: readonly string[];
  /** Of one that is not there yet; default: as they stand in the row. */
  readonly initial?: BenchItem;
};

function splitOf(
  table: BenchTable,
  { name }: Pick<Operation, "name">,
  terminal: number,
): Split | undefined {
  const isPayment = name === "payment";
  const at = (id: unknown): BenchKey => ({ terminal: `${String(id)}#${terminal}` });
  const amount = { fields: ["ytd"], initial: { ytd: 0 } } as const;
  switch (table.name) {
    case warehouses.name:
      return isPayment ? { table: warehouseAmounts, key: ({ w }) => at(w), ...amount } : undefined;
    case districts.name:
      return isPayment
        ? { table: districtAmounts, key: ({ district }) => at(district), ...amount }
        : {
            table: districtCounters,
            key: ({ district }) => ({ district: String(district) }),
            fields: ["nextOrder"],
          };
    case customers.name:
      return isPayment
        ? {
            table: customerBalances,
            key: ({ district, c }) => ({ customer: `${String(district)}#${String(c)}` }),
            fields: ["balance", "ytdPayment", "paymentCount", "data"],
          }
        : undefined;
    default:
      return undefined;
  }
}

/** The transaction, over the split tables. */
export function overSplitTables(
  transaction: BenchTransaction,
  { operation, worker }: { readonly operation: Operation; readonly worker: number },
): BenchTransaction {
  return {
    ...transaction,
    async get(table, key) {
      const split = splitOf(table, operation, worker);
      if (split === undefined) return transaction.get(table, key);
      const [row, fields] = await Promise.all([
        transaction.get(table, key),
        transaction.get(split.table, split.key(key)),
      ]);
      return row === undefined ? undefined : { ...row, ...(fields ?? split.initial) };
    },
    async batchGet(table, keys) {
      const rows = await transaction.batchGet(table, keys);
      return rows.map((row, at) => row ?? unloaded(table, keys[at] ?? {}));
    },
    put(table, row) {
      const split = splitOf(table, operation, worker);
      if (split === undefined) {
        transaction.put(table, row);
        return;
      }
      const fields = split.fields.map((name) => [name, row[name]] as const);
      transaction.put(split.table, { ...split.key(row), ...Object.fromEntries(fields) });
    },
  };
}

const districtInfo = "abcdefghijklmnopqrstuvwx";

/** Items beyond the specification's are not for sale. */
function unloaded(table: BenchTable, key: BenchKey): BenchItem | undefined {
  if (table.name === items.name) {
    const i = Number(key["i"]);
    const some = { image: i % 10_000, name: `Item ${i.toString()}`, price: 100 + (i % 9_900) };
    return i > itemsCount ? undefined : { i, ...some, data: districtInfo };
  }
  if (table.name !== stocks.name) return undefined;
  return {
    ...{ stock: key["stock"], quantity: 55, ytd: 0, orderCount: 0, remoteCount: 0 },
    districtInfos: Array.from({ length: 10 }, () => districtInfo),
    data: `${districtInfo}${districtInfo}`,
  };
}

/** The specification's. */
export const itemsCount = 100_000;
