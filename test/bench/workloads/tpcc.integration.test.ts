/**
 * TPC-C and ticket sales through the SDK, on real protocols with the real oracle and replay:
 * workers at the same time keep every condition, which they would not without transactions.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BenchTarget, type ContestantClient } from "../../../bench/harness/contestant.ts";
import { openTidemark } from "../../../bench/contestants/tidemark.ts";
import { loadTables } from "../../../bench/harness/load-tables.ts";
import { type Workload } from "../../../bench/harness/workload.ts";
import { namedRandom } from "../../../bench/workloads/draws.ts";
import { tatp } from "../../../bench/workloads/tatp.ts";
import { ticketing } from "../../../bench/workloads/ticketing/ticketing.ts";
import { tpcc } from "../../../bench/workloads/tpcc/tpcc.ts";
import { startLocalDeployment, type LocalDeployment } from "../../harness/local-deployment.ts";

let deployment: LocalDeployment;
let target: BenchTarget;
let client: ContestantClient;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { deployment: name, clientOptions } = deployment.stores;
  target = { deployment: name, region: clientOptions.region, endpoints: clientOptions.endpoint };
  client = await openTidemark("tidemark-auto")(target);
});

afterAll(async () => {
  await client.close();
  await deployment.stop();
});

test.each<[string, Workload]>([
  ["TPC-C", tpcc({ warehouses: 2, customersPerDistrict: 10, items: 40 })],
  ["TATP", tatp({ subscribers: 20 })],
  ["ticketing", ticketing({ events: 2, categories: 2, seats: 20 })],
])("%s keeps its conditions under workers at the same time", async (_, workload) => {
  await loadTables(target, "tidemark-auto", workload);
  const committed = new Map<string, number>();
  const work = async (worker: number): Promise<void> => {
    const random = namedRandom(`worker ${worker}`);
    for (let i = 0; i < 12; i += 1) {
      const operation = workload.next(random, worker);
      const outcome = await client.run(operation);
      if (outcome.kind === "rolled-back") continue;
      committed.set(operation.name, (committed.get(operation.name) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 4 }, (_unused, worker) => work(worker)));
  expect(await client.read(workload.violations!)).toEqual([]);
  expect(committed.size).toBeGreaterThanOrEqual(3);
});
