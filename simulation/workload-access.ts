/** Whether a run's workload has mixed tables. */
import { mixedTable } from "./mixed-tables.ts";
import type { SeedPlan } from "./seed-plan.ts";
import type { Workload } from "./workloads/workload.ts";

/** A workload that transactions have to themselves runs on mixed tables where that is asked. */
export function withAccess(workload: Workload, { mixed }: SeedPlan): Workload {
  if (!mixed || workload.native !== undefined) return workload;
  const tables = workload.tables.map((table) => mixedTable(table));
  return Object.assign(workload, { tables });
}
