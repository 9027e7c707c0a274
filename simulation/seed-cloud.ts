/** The simulated cloud of a seed: its workload's tables, and its plan's faults and deployment. */
import * as limits from "../core/limits.ts";
import { nobodysTable } from "../testing/kernel/overwritten-commits.ts";
import { createTestCloud, type TestCloud } from "../testing/test-cloud.ts";
import { testTable } from "../testing/test-tables.ts";
import type { TestTable } from "../testing/deployment-options.ts";
import { consumerTables } from "./feeds/consumer-tables.ts";
import { eventsMax } from "./run-bounds.ts";
import { hashBitsMax, type SeedPlan } from "./seed-plan.ts";
import { withAccess } from "./workload-access.ts";
import { workloads } from "./workloads/catalogue.ts";
import type { Workload } from "./workloads/workload.ts";

export type SeedCloud = {
  readonly cloud: TestCloud;
  readonly workload: Workload;
  /** Tables in which nobody writes but transactions. */
  readonly judged: readonly TestTable[];
};

export async function createSeedCloud(
  plan: SeedPlan,
  { keepTrace = false }: { readonly keepTrace?: boolean },
): Promise<SeedCloud> {
  const { keys, history, isolation } = plan;
  const workload = withAccess(workloads[plan.workload]({ keys, history, isolation }), plan);
  const judged = [...workload.tables, ...tablesOfNobody(plan), ...consumerTables(plan)];
  const tables = [...judged, ...(workload.plainTables ?? [])];
  const cloud = await createTestCloud({
    seed: `run ${plan.seed.toString()}`,
    tables,
    faults: plan.faults,
    ...(plan.strikesMax === undefined ? {} : { strikesMax: plan.strikesMax }),
    // As short as it may be, so that a run sees versions and tombstones go.
    historyRetentionMs: workload.historyRetentionMs ?? limits.historyRetentionMsMin,
    tablesOnly: plan.tablesOnly,
    shards: plan.shards,
    housekeeping: plan.housekeeping !== "clients",
    oracleConsumer: plan.oracleConsumer,
    functionTimeLimitMs: plan.functionTimeLimitMs,
    oracle: {
      timeLimitMs: plan.oracleTimeLimitMs,
      rebuildBlocksMax: plan.rebuildBlocksMax,
      rebuildPageBlocksMax: plan.rebuildPageBlocksMax,
    },
    ...(plan.hashBits === hashBitsMax ? {} : { hashBits: plan.hashBits }),
    keepTrace,
  });
  cloud.world.time.limitEvents(eventsMax);
  return { cloud, workload, judged };
}

/** Where a hostile producer commits rows: in a workload's tables its judge would wonder at them. */
function tablesOfNobody({ faults, history }: SeedPlan): readonly TestTable[] {
  if (faults["hostile-record"] === undefined) return [];
  return [testTable(nobodysTable, { partitionKey: "id", history })];
}
