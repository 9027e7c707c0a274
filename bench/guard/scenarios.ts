/**
 * The transactions whose calls and units the guard counts, on items of about 100 bytes. *Alone*:
 * each begins when replay has finished the one before, so nothing is shared. *64 at a time*: of one
 * process, on different items unless it says otherwise.
 */
import { createEngine } from "../../engine/engine.ts";
import { createApi } from "../../functions/api/service.ts";
import { timeLimitMs } from "../../functions/shared/settings.ts";
import { defineTable, type Client } from "../../sdk/index.ts";
import { testTable, type TestCloud } from "../../testing/index.ts";
import { type CloudUsage, createMeteredCloud } from "./metered-cloud.ts";

const concurrency = 64;
const aloneTransactions = 10;
/** So that nothing of one is left in the next. */
const apartMs = 2_000;
const rowsQueried = 20;
const accountsCount = { alone: 250, "64 at a time": 6_400 };
/** Somewhat longer than the pause between a tail's looks at the watermark. */
const watermarkLookMs = 1_200;

type Account = { readonly balanceCents: number; readonly owner: string };
const accounts = defineTable<Account, { readonly id: string }>("accounts", { key: "id" });
type Line = { readonly text: string };
const lines = defineTable<Line, { readonly list: string; readonly n: number }, "list">("lines");
const tables = [
  testTable("accounts", { partitionKey: "id" }),
  testTable("lines", { partitionKey: "list", sortKey: { name: "n", type: "N" } }),
];

type Run = { readonly cloud: TestCloud; readonly client: Client };

export type Scenario = {
  readonly name: string;
  /** Small items that one transaction writes; with `reads`, the same are read before. */
  readonly writes: number;
  readonly reads: number;
  /**
   * Least calls that read and write the same without Tidemark: one for all that is read, one for
   * each write.
   */
  readonly nativeCalls: number;
  readonly load: "alone" | "64 at a time";
  /** Always said: what the SDK does unless it is told is not the guard's subject. */
  readonly commit: "stream" | "express";
  /** Runs the transactions in a cloud that has come to rest. @returns how many. */
  readonly run: (run: Run) => Promise<number>;
};

export type ScenarioUsage = {
  readonly scenario: Scenario;
  readonly transactions: number;
  readonly usage: CloudUsage;
};

const accountRow = (n: number): Account & { readonly id: string } => ({
  id: `account-${n.toString().padStart(5, "0")}`,
  balanceCents: 100_000,
  owner: `Customer ${n.toString().padStart(5, "0")} of the bank`,
});

const times = <T>(count: number, run: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => run(i)));

async function readAndWrite(client: Client, ids: readonly string[]): Promise<void> {
  await client.transact({ attemptsMax: 100 }, async (tx) => {
    const rows = await tx.batchGet(accounts, ids);
    for (const [i, id] of ids.entries()) {
      const { balanceCents, owner } = rows[i] ?? { balanceCents: 0, owner: "" };
      tx.put(accounts, { id, balanceCents: balanceCents + 1, owner });
    }
  });
}

async function writeOnly(client: Client, ids: readonly string[]): Promise<void> {
  await client.transact((tx) => {
    for (const id of ids) tx.put(accounts, { id, balanceCents: 1, owner: "a new customer" });
    return Promise.resolve();
  });
}

/** The ids of the n-th transaction: nobody else's. */
function idsOf(n: number, items: number): readonly string[] {
  return Array.from({ length: items }, (_, i) => accountRow(n * items + i).id);
}

async function runAlone({ cloud }: Run, one: (n: number) => Promise<unknown>): Promise<number> {
  for (let n = 0; n < aloneTransactions; n++) {
    await one(n);
    await cloud.settled();
  }
  return aloneTransactions;
}

async function runApart({ cloud }: Run, one: (n: number) => Promise<unknown>): Promise<number> {
  for (let n = 0; n < aloneTransactions; n++) {
    await one(n);
    await cloud.clock.sleep(apartMs);
  }
  return aloneTransactions;
}

/**
 * 64 workers, each one transaction after the other. Replay begins when they are done, as its window
 * on AWS makes it: beside them it would sometimes overtake a slow client, and both pay for the same
 * installs.
 */
async function runAtATime(
  { cloud }: Run,
  { each, one }: { readonly each: number; readonly one: (n: number) => Promise<unknown> },
): Promise<number> {
  cloud.pauseReplay();
  await times(concurrency, async (worker) => {
    for (let i = 0; i < each; i++) await one(worker * each + i);
  });
  cloud.resumeReplay();
  return concurrency * each;
}

function items(load: Scenario["load"], count: number): Scenario {
  return {
    name: `${load}, ${count.toString()} items read and written`,
    ...{ writes: count, reads: count, nativeCalls: 1 + count, load, commit: "stream" },
    run: (run) => {
      const one = (n: number): Promise<void> => readAndWrite(run.client, idsOf(n, count));
      return load === "alone" ? runAlone(run, one) : runAtATime(run, { each: 4, one });
    },
  };
}

/**
 * The same, by blocks of the client's own. No record wakes replay for them: its schedule, which
 * belongs to no transaction, finds what is left.
 */
function expressItems(load: Scenario["load"], count: number): Scenario {
  const { name, ...scenario } = items(load, count);
  return {
    ...{ ...scenario, name: `${name}, express`, commit: "express" },
    run: (run) => {
      const one = (n: number): Promise<void> => readAndWrite(run.client, idsOf(n, count));
      return load === "alone" ? runApart(run, one) : runAtATime(run, { each: 4, one });
    },
  };
}

const readOnly = { writes: 0, nativeCalls: 1, load: "alone", commit: "stream" } as const;

export const scenarios: readonly Scenario[] = [
  ...[2, 5, 25].map((count) => items("alone", count)),
  ...[2, 5, 25].map((count) => items("64 at a time", count)),
  ...[2, 5, 25].map((count) => expressItems("alone", count)),
  expressItems("64 at a time", 5),
  {
    name: "64 at a time, 5 items written only",
    ...{ writes: 5, reads: 0, nativeCalls: 5, load: "64 at a time", commit: "stream" },
    run: (run) => runAtATime(run, { each: 4, one: (n) => writeOnly(run.client, idsOf(n, 5)) }),
  },
  {
    name: "64 at a time, one item incremented by all",
    ...{ writes: 1, reads: 1, nativeCalls: 2, load: "64 at a time", commit: "stream" },
    run: incrementedByAll,
  },
  {
    name: "64 at a time, one item incremented by all, express",
    ...{ writes: 1, reads: 1, nativeCalls: 2, load: "64 at a time", commit: "express" },
    run: incrementedByAll,
  },
  {
    name: "alone, snapshot of 5 items",
    ...{ ...readOnly, reads: 5 },
    run: (run) =>
      runAlone(run, (n) =>
        run.client.snapshot((snapshot) => snapshot.batchGet(accounts, idsOf(n, 5))),
      ),
  },
  {
    name: "alone, transaction that reads 5 items",
    ...{ ...readOnly, reads: 5 },
    run: (run) =>
      runAlone(run, (n) => run.client.transact((tx) => tx.batchGet(accounts, idsOf(n, 5)))),
  },
  {
    name: "alone, snapshot query of 20 rows",
    // 20 rows of about 100 bytes are read as one unit.
    ...{ ...readOnly, reads: 1 },
    run: (run) =>
      runAlone(run, () =>
        run.client.snapshot((snapshot) => queried(snapshot.query(lines, firstList))),
      ),
  },
  {
    name: "alone, query of 20 rows and 1 of them written",
    ...{ writes: 1, reads: 1, nativeCalls: 2, load: "alone", commit: "stream" },
    run: (run) =>
      runAlone(run, () =>
        run.client.transact(async (tx) => {
          const [first] = await queried(tx.query(lines, firstList));
          if (first !== undefined) tx.put(lines, { ...first, text: "changed" });
        }),
      ),
  },
  {
    name: "alone, REST: 2 items updated in one request",
    ...{ writes: 2, reads: 2, nativeCalls: 3, load: "alone", commit: "stream" },
    run: runRest,
  },
];

function incrementedByAll(run: Run): Promise<number> {
  const one = (): Promise<void> => readAndWrite(run.client, [accountRow(0).id]);
  return runAtATime(run, { each: 12, one });
}

const firstList = { where: { list: "list-0" } };

async function queried<Row>(rows: AsyncIterable<Row>): Promise<readonly Row[]> {
  const found: Row[] = [];
  for await (const row of rows) found.push(row);
  if (found.length !== rowsQueried) throw new Error(`${found.length.toString()} rows were found`);
  return found;
}

/** Straight at the service: what is in front of it makes no calls to the stores. */
async function runRest(run: Run): Promise<number> {
  const { deployment, world } = run.cloud;
  const ports = deployment.portsOf(world.startProcess("api.1"));
  const ignore = (): void => undefined;
  const api = createApi({
    engine: createEngine(ports, { commit: "stream" }),
    control: ports.control,
    clock: ports.clock,
    random: ports.random,
    logger: { info: ignore, error: ignore },
  });
  return runAlone(run, async (n) => {
    const writes = idsOf(n, 2).map((id) => ({
      ...{ op: "update", table: "accounts", key: { id }, add: { balanceCents: 1 } },
    }));
    const response = await api.fetch(
      new Request("https://api.invalid/v1/transactions", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ writes }),
      }),
      { remainingMs: timeLimitMs("api") },
    );
    if (response.status !== 200) throw new Error(`REST answers ${await response.text()}`);
  });
}

/** Runs a scenario in a cloud of its own, which has been used before and is at rest. */
export async function runScenario(scenario: Scenario, seed: number): Promise<ScenarioUsage> {
  const metered = await createMeteredCloud(seed, tables);
  const { cloud } = metered;
  cloud.seed(
    accounts,
    Array.from({ length: accountsCount[scenario.load] }, (_, n) => accountRow(n)),
  );
  const rows = Array.from({ length: rowsQueried }, (_, n) => ({
    ...{ list: "list-0", n, text: "a line of no great length, and yet of some" },
  }));
  cloud.seed(lines, rows);
  const { commit } = scenario;
  const client = cloud.createClient(undefined, { commit });
  return cloud.run(async () => {
    await readAndWrite(client, ["warm-up"]);
    if (commit === "stream") await cloud.settled();
    else await cloud.clock.sleep(apartMs);
    // The process learns the newest watermark: reads under way when it rises are made again, few in
    // a steady load, and here all of them, where all begin at that moment.
    await cloud.clock.sleep(watermarkLookMs);
    await client.snapshot(() => Promise.resolve());
    await cloud.clock.sleep(watermarkLookMs / 10);
    metered.reset();
    const transactions = await scenario.run({ cloud, client });
    return {
      scenario,
      transactions,
      usage: await metered.usage({ settled: commit === "stream" }),
    };
  });
}
