/**
 * What a transaction of n small items costs in calls, read units, write units and dollars, every
 * part counted: the application's own calls, its process's tail, the oracle, replay, the stream.
 * Units are as the store reports them, from meters inside the AWS SDK clients
 * (bench/metered-clients.ts). *Alone* means that nothing is shared: each transaction begins when
 * replay has finished the one before. *×64* means 64 at a time, and replay once for all of them.
 *
 * Beside it: the same items natively, by plain calls and by TransactWriteItems
 * (bench/native-calls.ts), computed from DynamoDB's documented rule. dynalite does not know
 * transactions; DynamoDB Local does, and what it reports for both is printed beside the rule.
 * Ratios are to the rule: bench/README.md says what is wrong with the report.
 *
 * Not counted: Lambda's time and the shard's hours, which are no transaction's own.
 *
 *     npm run bench:cost [-- --json] [--store dynamodb-local]
 */
import { loadavg } from "node:os";
import { startDynamoDbLocal } from "../localstack/dynamodb-local.ts";
import { defineTable, type Receipt } from "../sdk/index.ts";
import { accountId, benchAccounts, benchTable } from "./bench-table.ts";
import { add, type Cost, priced, type PricedCost, prices, short, unitsText } from "./cost.ts";
import { startMeteredDeployment, type MeteredDeployment } from "./metered-deployment.ts";
import {
  nativeAsReported,
  nativeByRule,
  type NativeCosts,
  type NativeTask,
} from "./native-calls.ts";
import { costOptions } from "./options.ts";

const sizes = [2, 5, 25, 100] as const;
const shapes = ["read and write", "write only"] as const;
const aloneTransactions = 6;
const concurrency = 64;
const concurrentTransactions = { 2: 256, 5: 128, 25: 64, 100: 64 } as const;

type Shape = (typeof shapes)[number];
type Size = (typeof sizes)[number];

type Part = "transaction" | "tail" | "oracle" | "replay";

type Row = {
  readonly shape: Shape;
  readonly items: Size;
  readonly load: "alone" | "×64";
  readonly parts: Readonly<Record<Part, Cost>>;
  readonly total: PricedCost;
};

type NativeRow = NativeTask & {
  readonly rule: NativeCosts;
  /** Undefined where the store knows no transactions. */
  readonly reported: NativeCosts | undefined;
};

type Account = { readonly balanceCents: number };
const accounts = defineTable<Account, { readonly id: string }>(benchTable.name);

async function transact(
  { client }: MeteredDeployment,
  task: { readonly shape: Shape; readonly items: number; readonly first: number },
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

/**
 * Runs `count` transactions with disjoint items, `width` at a time; `alone` runs replay after each.
 */
async function run(
  deployment: MeteredDeployment,
  task: { readonly shape: Shape; readonly items: Size; readonly load: Row["load"] },
): Promise<Row> {
  const { shape, items, load } = task;
  const alone = load === "alone";
  const count = alone ? aloneTransactions : concurrentTransactions[items];
  const width = alone ? 1 : concurrency;
  if (!alone) await deployment.settle();
  deployment.reset();
  const receipts: Receipt[] = [];
  let begun = 0;
  const work = async (): Promise<void> => {
    for (let n = begun++; n < count; n = begun++) {
      const receipt = await transact(deployment, { shape, items, first: n * items });
      receipts.push(receipt);
      if (alone) await deployment.replay(receipt.commitTimestamp ?? 0);
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  const newest = Math.max(...receipts.map(({ commitTimestamp }) => commitTimestamp ?? 0));
  await deployment.replay(newest);
  return rowOf(deployment, task, receipts);
}

function rowOf(
  { meters, invocations }: MeteredDeployment,
  task: { readonly shape: Shape; readonly items: Size; readonly load: Row["load"] },
  receipts: readonly Receipt[],
): Row {
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
  return { ...task, parts, total: priced(Object.values(parts).reduce(add)) };
}

/** One item first: by it the report can be compared with the rule, whatever it makes of several. */
async function native(deployment: MeteredDeployment, asks: boolean): Promise<NativeRow[]> {
  const tasks = shapes.flatMap((shape) => [1, ...sizes].map((items) => ({ shape, items })));
  const rows: NativeRow[] = [];
  for (const task of tasks) {
    const reported = asks ? await nativeAsReported(deployment.meters.native, task) : undefined;
    rows.push({ ...task, rule: nativeByRule(task), reported });
  }
  return rows;
}

function print(rows: readonly Row[], natives: readonly NativeRow[]): void {
  const line = (cells: readonly string[]): string =>
    cells.map((cell, n) => (n === 0 ? cell.padEnd(33) : cell.padStart(n < 6 ? 19 : 12))).join("");
  console.log("per transaction; each part as read units / write units / calls\n");
  console.log(
    line([
      "",
      ...["transaction", "tail", "oracle", "replay", "total"],
      ...["$/million", "× plain", "× Transact"],
    ]),
  );
  for (const { shape, items, load, parts, total } of rows) {
    const { plain, transact } = nativeByRule({ shape, items });
    const { dollarsPerMillion } = total;
    console.log(
      line([
        `${shape}, ${items.toString()} items, ${load}`,
        ...[...Object.values(parts), total].map(unitsText),
        dollarsPerMillion.toFixed(2),
        (dollarsPerMillion / plain.dollarsPerMillion).toFixed(2),
        (dollarsPerMillion / transact.dollarsPerMillion).toFixed(2),
      ]),
    );
  }
  printNative(natives);
}

function printNative(rows: readonly NativeRow[]): void {
  const line = (cells: readonly string[]): string =>
    cells.map((cell, n) => (n === 0 ? cell.padEnd(33) : cell.padStart(26))).join("");
  const text = (cost: PricedCost | undefined): string =>
    cost === undefined ? "–" : `${unitsText(cost)} = $${cost.dollarsPerMillion.toFixed(2)}`;
  console.log("\nthe same items (below 1 KB) natively\n");
  const [plain, transact] = ["plain calls", "TransactWriteItems"];
  console.log(line(["", plain, plain, transact, transact, transact]));
  console.log(line(["", "reported", "rule", "reported", "rule", "write units reported/rule"]));
  for (const { shape, items, rule, reported } of rows) {
    const factor =
      reported === undefined ? "–" : short(reported.transact.writeUnits / rule.transact.writeUnits);
    console.log(
      line([
        `${shape}, ${items.toString()} ${items === 1 ? "item" : "items"}`,
        ...[text(reported?.plain), text(rule.plain)],
        ...[text(reported?.transact), text(rule.transact), factor],
      ]),
    );
  }
  const one = rows.find(({ items, reported }) => items === 1 && reported !== undefined);
  if (one?.reported === undefined) return;
  const { writeUnits } = one.reported.transact;
  console.log(
    `\nDynamoDB Local reports ${short(writeUnits)} write units for one item put by ` +
      "TransactWriteItems, " +
      `${short(writeUnits / one.rule.transact.writeUnits)} times what DynamoDB charges,\n` +
      "and of several items in one table it counts only one: its figures for transactions are " +
      "not a price.",
  );
}

/** Runs everything on the store at an address, or on dynalite. */
async function measureAll(dynamodb: string | undefined): Promise<{
  readonly rows: readonly Row[];
  readonly natives: readonly NativeRow[];
}> {
  const rows: Row[] = [];
  const deployment = await startMeteredDeployment(dynamodb === undefined ? {} : { dynamodb });
  try {
    const warmUp = await transact(deployment, { shape: "write only", items: 1, first: 0 });
    await deployment.replay(warmUp.commitTimestamp ?? 0);
    for (const load of ["alone", "×64"] as const) {
      for (const shape of shapes) {
        for (const items of sizes) rows.push(await run(deployment, { shape, items, load }));
      }
    }
    return { rows, natives: await native(deployment, dynamodb !== undefined) };
  } finally {
    await deployment.stop();
  }
}

const { json, store } = costOptions();
const load = loadavg();
const local =
  store === "dynamodb-local"
    ? await startDynamoDbLocal((line) => process.stderr.write(`${line}\n`))
    : undefined;
try {
  const { rows, natives } = await measureAll(local?.endpoint);
  const result = { bench: "transaction-cost", store, load, prices, rows, natives };
  if (json) console.log(JSON.stringify(result));
  else print(rows, natives);
} finally {
  await local?.stop();
}
