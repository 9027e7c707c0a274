/**
 * The contestants on real protocols: Tidemark with oracle and replay, beside native and, where the
 * store knows it, TransactWriteItems. Each does the same reads and writes and leaves the same rows.
 */
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openContestant } from "../../bench/contestants/catalogue.ts";
import {
  type BenchTarget,
  type ContestantClient,
  type InProcessContestant,
  mixedContestants,
  physicalName,
  tidemarkContestants,
} from "../../bench/harness/contestant.ts";
import { loadTables } from "../../bench/harness/load-tables.ts";
import { benchRandom } from "../../bench/harness/random.ts";
import type { BenchTable, Workload } from "../../bench/harness/workload.ts";
import { hotRow } from "../../bench/workloads/counters.ts";
import { createAwsClients } from "../../aws/clients.ts";
import { mediator } from "../../bench/workloads/mediator.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { sharedDynamoDb } from "../harness/local-servers.ts";
import { sweep } from "../harness/sweep.ts";
import { playSample, playScript, samples, script } from "./contestants.ts";

const everyTidemark = [...tidemarkContestants, "tidemark-snapshot", ...mixedContestants] as const;

let deployment: LocalDeployment;
let target: BenchTarget;
const clients = new Map<InProcessContestant, ContestantClient>();

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { deployment: name, clientOptions, servers } = deployment.stores;
  target = { deployment: name, region: clientOptions.region, endpoints: clientOptions.endpoint };
  const contestants: readonly InProcessContestant[] = servers.dynamoDbLocal
    ? [...everyTidemark, "native", "native-in-turn", "transact-write-items"]
    : [...everyTidemark, "native", "native-in-turn"];
  for (const contestant of contestants) {
    clients.set(contestant, await openContestant[contestant](target));
  }
});

afterAll(async () => {
  for (const client of clients.values()) await client.close();
  await deployment.stop();
});

/** Whatever differs between these from the others, the first test sees. */
const ofEachKind = new Set<InProcessContestant>([
  "tidemark-auto",
  "tidemark-mixed",
  "native",
  "transact-write-items",
]);

async function played(
  workload: Workload,
  play: (client: ContestantClient) => Promise<unknown>,
  by: (contestant: InProcessContestant) => boolean = () => true,
): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (const [contestant, client] of clients) {
    if (!by(contestant)) continue;
    await loadTables(target, contestant, workload);
    found.push(await play(client));
  }
  return found;
}

function expectAlike(found: readonly unknown[]): void {
  expect(found.length).toBeGreaterThanOrEqual(2);
  for (const one of found) expect(one).toEqual(found[0]);
}

test("each sees and leaves the same", async () => {
  expectAlike(await played(script, playScript));
});

/** In memory all are tried (contestants.test.ts), and on DynamoDB Local, which is faster. */
const scans = samples.filter(([name]) => name.includes("scans"));
const samplesTried = sharedDynamoDb() === undefined ? sweep(scans, samples) : samples;

// Rows are loaded for each contestant anew, which takes a slow machine its time.
test.each([...samplesTried])(
  "each does the same reads and writes of %s",
  async (_, make) => {
    const play = (client: ContestantClient) => playSample(client, make(), 40);
    expectAlike(await played(make(), play, (contestant) => ofEachKind.has(contestant)));
  },
  180_000,
);

test.each(mixedContestants)(
  "%s has its native operations beside its transactions",
  async (name) => {
    const mix = { accessesMax: 4, readShare: 0, nativeShare: 1 };
    const workload = { ...mediator(mix), rows: () => [] };
    await loadTables(target, name, workload);
    // One that was there before the table was registered knows of it some seconds later.
    const client = await openContestant[name](target);
    const write = workload.next(benchRandom(1, 0), 0);
    expect(write).toMatchObject({ name: "native write", native: true });
    expect(await client.run(write)).toEqual({ kind: "committed", attempts: 1 });
    await client.close();
    const reserved = await rowAsStored(name, workload.tables[0]!);
    expect(Object.keys(reserved ?? {}).sort()).toEqual(["_n", "content", "id"]);
  },
);

async function rowAsStored(name: InProcessContestant, table: BenchTable) {
  const aws = createAwsClients({ region: target.region, endpoint: target.endpoints });
  const { client } = await aws.dynamodb();
  const { Items } = await client.send(
    new ScanCommand({ TableName: physicalName(name, table), ConsistentRead: true }),
  );
  await aws.close();
  expect(Items).toHaveLength(1);
  return Items?.[0];
}

describe("on a hot row", () => {
  test("whoever has transactions loses no update", async () => {
    const workload = hotRow();
    const [table] = workload.tables;
    const counts = await played(workload, async (client) => {
      const operation = workload.next({ fraction: () => 0, below: () => 0 }, 0);
      await Promise.all(Array.from({ length: 20 }, () => client.run(operation)));
      const row = await client.read((read) => read.get(table!, { id: 0 }));
      return row?.["count"];
    });
    const byName = new Map(Array.from(clients.keys(), (name, n) => [name, counts[n]]));
    for (const name of everyTidemark) expect(byName.get(name), name).toBe(20);
    if (byName.has("transact-write-items")) expect(byName.get("transact-write-items")).toBe(20);
    // Native is the price's other side: it may lose some, and is not asked not to.
    expect(byName.get("native")).toBeLessThanOrEqual(20);
  });
});
