/**
 * What a transaction of n small items costs in calls, read units, write units and dollars, by each
 * way to commit and every part counted: the application's own calls, its process's tail, the
 * oracle, replay, the stream. Units are as the store reports them, from meters inside the AWS SDK
 * clients (bench/metered-clients.ts).
 *
 * *Alone* means that nothing is shared: each transaction begins when replay has finished the one
 * before. *In turn*, one begins when the one before has ended, and replay has one turn for all of
 * them, as its schedule gives it where no record of the stream wakes it. *×64* means 64 at a time,
 * and replay once for all of them.
 *
 * Beside it: the same items natively, by plain calls and by TransactWriteItems
 * (bench/native-calls.ts), computed from DynamoDB's documented rule. dynalite does not know
 * transactions; DynamoDB Local does, and what it reports for both is printed beside the rule.
 * Ratios are to the rule: bench/README.md says what is wrong with the report.
 *
 * Not counted: Lambda's time and the shard's hours, which are no transaction's own.
 *
 *     npm run bench:cost [-- --json] [--store dynamodb-local] [--commit stream,auto,express]
 *                        [--access mixed]
 */
import { loadavg } from "node:os";
import { startDynamoDbLocal } from "../localstack/dynamodb-local.ts";
import type { TableAccess } from "../core/types.ts";
import type { CommitPreference } from "../engine/types.ts";
import { defineTable, type Receipt } from "../sdk/index.ts";
import { accountId, benchAccounts, benchTable } from "./bench-table.ts";
import { add, type Cost, priced, prices } from "./cost.ts";
import { type CostRow, type NativeRow, printCosts } from "./cost-tables.ts";
import type { MeteredClients } from "./metered-clients.ts";
import { startMeteredDeployment, type MeteredDeployment } from "./metered-deployment.ts";
import { nativeAsReported, nativeByRule } from "./native-calls.ts";
import { costOptions } from "./options.ts";

const sizes = [1, 2, 5, 25, 100] as const;
const shapes = ["read and write", "write only"] as const;
const aloneTransactions = 6;
/** What comes between two turns of replay's schedule, at a commit a second. */
const inTurnTransactions = 60;
const concurrency = 64;
const concurrentTransactions = { 1: 256, 2: 256, 5: 128, 25: 64, 100: 64 } as const;

type Task = Pick<CostRow, "shape" | "load"> & { readonly items: (typeof sizes)[number] };

type Account = { readonly balanceCents: number };
const accounts = defineTable<Account, { readonly id: string }>(benchTable.name);

async function transact(
  { client }: MeteredDeployment,
  task: Pick<Task, "shape" | "items"> & { readonly first: number },
): Promise<Receipt> {
  const ids = Array.from({ length: task.items }, (_, n) =>
    accountId((task.first + n) % benchAccounts),
  );
  const { receipt } = await client.transact(async (tx) => {
    const rows =
      task.shape === "read and write"
        ? await tx.batchGet(ids.map((id) => [accounts, id] as const))
        : [];
    for (const [n, id] of ids.entries()) {
      tx.put(accounts, { id, balanceCents: (rows[n]?.balanceCents ?? 0) + 1 });
    }
  });
  return receipt;
}

function countOf({ load, items }: Task): number {
  switch (load) {
    case "alone":
      return aloneTransactions;
    case "in turn":
      return inTurnTransactions;
    case "×64":
      return concurrentTransactions[items];
  }
}

/** With disjoint items. */
async function run(deployment: MeteredDeployment, task: Task): Promise<CostRow> {
  const { shape, items, load } = task;
  const count = countOf(task);
  const width = load === "×64" ? concurrency : 1;
  if (load !== "alone") await deployment.settle();
  deployment.reset();
  const receipts: Receipt[] = [];
  let begun = 0;
  const work = async (): Promise<void> => {
    for (let n = begun++; n < count; n = begun++) {
      const receipt = await transact(deployment, { shape, items, first: n * items });
      receipts.push(receipt);
      if (load === "alone") await deployment.replay(receipt.commitTimestamp ?? 0);
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  const newest = Math.max(...receipts.map(({ commitTimestamp }) => commitTimestamp ?? 0));
  await deployment.replay(newest);
  return rowOf(deployment, task, receipts);
}

function rowOf(
  { commit, meters, invocations }: MeteredDeployment,
  task: Task,
  receipts: readonly Receipt[],
): CostRow {
  const count = receipts.length;
  const sum = (of: (receipt: Receipt) => number): number =>
    receipts.reduce((total, receipt) => total + of(receipt), 0) / count;
  const { usage } = meters.client;
  const transaction: Cost = {
    calls: sum(({ consumed }) => consumed.calls) + usage.streamCalls / count,
    readUnits: sum(({ consumed }) => consumed.readUnits),
    writeUnits: sum(({ consumed }) => consumed.writeUnits),
    streamUnits: usage.streamUnits / count,
    invocations: 0,
  };
  const tail: Cost = {
    calls: (usage.calls + usage.streamCalls) / count - transaction.calls,
    readUnits: usage.readUnits / count - transaction.readUnits,
    writeUnits: usage.writeUnits / count - transaction.writeUnits,
    streamUnits: 0,
    invocations: 0,
  };
  const functionCost = (role: "oracle" | "replay"): Cost => {
    const { calls, readUnits, writeUnits, streamCalls } = meters[role].usage;
    return {
      calls: (calls + streamCalls) / count,
      readUnits: readUnits / count,
      writeUnits: writeUnits / count,
      streamUnits: 0,
      invocations: invocations[role] / count,
    };
  };
  const parts = {
    transaction,
    tail,
    oracle: functionCost("oracle"),
    replay: functionCost("replay"),
  };
  return { commit, ...task, parts, total: priced(Object.values(parts).reduce(add)) };
}

/** One item first: by it the report can be compared with the rule, whatever it makes of several. */
async function native(meter: MeteredClients, asks: boolean): Promise<NativeRow[]> {
  const tasks = shapes.flatMap((shape) => sizes.map((items) => ({ shape, items })));
  const rows: NativeRow[] = [];
  for (const task of tasks) {
    const reported = asks ? await nativeAsReported(meter, task) : undefined;
    rows.push({ ...task, rule: nativeByRule(task), reported });
  }
  return rows;
}

type Costs = { readonly rows: readonly CostRow[]; readonly natives: readonly NativeRow[] };

/** 6,400 fences at once are more than one local store answers before they would come too late. */
function sizesAt(load: CostRow["load"], access: TableAccess): readonly Task["items"][] {
  return load === "×64" && access === "mixed" ? sizes.filter((items) => items <= 25) : sizes;
}

/** In a deployment of its own, on the store at an address, or on dynalite. */
async function measure(
  commit: CommitPreference,
  on: { readonly access: TableAccess; readonly dynamodb: string | undefined },
): Promise<Costs> {
  // Records of the stream wake replay for every lone commit: it has nothing to do in turn.
  const loads = (["alone", "in turn", "×64"] as const).filter(
    (load) => load !== "in turn" || commit !== "stream",
  );
  const rows: CostRow[] = [];
  const deployment = await startMeteredDeployment({ commit, ...on });
  try {
    const warmUp = await transact(deployment, { shape: "write only", items: 2, first: 0 });
    await deployment.replay(warmUp.commitTimestamp ?? 0);
    for (const load of loads) {
      for (const shape of shapes) {
        for (const items of sizesAt(load, on.access)) {
          rows.push(await run(deployment, { shape, items, load }));
        }
      }
    }
    return { rows, natives: await native(deployment.meters.native, on.dynamodb !== undefined) };
  } finally {
    await deployment.stop();
  }
}

const { json, store, commits, access } = costOptions(process.argv.slice(2));
const load = loadavg();
const rows: CostRow[] = [];
let natives: readonly NativeRow[] = [];
for (const commit of commits) {
  // A store for each way: the deployments have one name.
  const local =
    store === "dynamodb-local"
      ? await startDynamoDbLocal((line) => process.stderr.write(`${line}\n`))
      : undefined;
  try {
    const measured = await measure(commit, { access, dynamodb: local?.endpoint });
    rows.push(...measured.rows);
    natives = measured.natives;
  } finally {
    await local?.stop();
  }
}
if (json) {
  console.log(
    JSON.stringify({ bench: "transaction-cost", store, access, load, prices, rows, natives }),
  );
} else printCosts(rows, natives);
