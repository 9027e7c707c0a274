/** New orders and payments 1:1, as Centiman measures with them; terminals at home in warehouses. */
import { tpccCentiman } from "../workloads/tpcc/tpcc.ts";
import { tpccRows } from "../workloads/tpcc/population.ts";
import {
  customerNames,
  customers,
  districts,
  warehouses as warehouseTable,
} from "../workloads/tpcc/schema.ts";
import { itemsCount, overSplitTables, splitTables } from "./tpcc-split.ts";
import { tasksOf, type WorkloadTasks } from "./workload-tasks.ts";

const loaded: ReadonlySet<string> = new Set(
  [warehouseTable, districts, customers, customerNames].map(({ name }) => name),
);
/** Of the specification's 3,000, so that hundreds of warehouses load within seconds. */
const customersPerDistrict = 30;

export function tpccTasks({ warehouses }: { readonly warehouses: number }): WorkloadTasks {
  const { next } = tpccCentiman({ warehouses, customersPerDistrict, items: itemsCount });
  return tasksOf({
    tables: splitTables,
    *rows() {
      const few = { warehouses, customersPerDistrict, items: 20 };
      for (const row of tpccRows(few)) if (loaded.has(row.table.name)) yield row;
    },
    next,
    adapt: overSplitTables,
  });
}
