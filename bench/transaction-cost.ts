/**
 * What a transaction of n small items costs in calls, read units, write units and dollars, every part counted: the
 * application's own calls, its process's tail, the oracle, replay, the stream. Units are as the store reports them, from
 * meters inside the AWS SDK clients (bench/metered-clients.ts). *Alone* means that nothing is shared: each transaction
 * begins when replay has finished the one before. *×64* means 64 at a time, and replay once for all of them.
 *
 * Beside it: the same items by plain calls (BatchGetItem and n PutItem), and by the least that gives the same
 * guarantee natively, a consistent BatchGetItem and a TransactWriteItems whose conditions name the versions read. The
 * stand-ins do not know the latter, so it is computed from DynamoDB's documented rule: each item written in a transaction
 * costs two write units per KB.
 *
 * Not counted: Lambda's time and the shard's hours, which are no transaction's own.
 *
 *     npm run bench:cost [-- --json]
 */
import { loadavg } from "node:os";
import { defineTable, type Receipt } from "../sdk/index.ts";
import { accountId, benchAccounts, benchTable } from "./bench-table.ts";
import { startMeteredDeployment, type MeteredDeployment } from "./metered-deployment.ts";
import { benchOptions } from "./options.ts";

/** us-east-1, dollars per million. */
const prices = { readUnit: 0.125, writeUnit: 0.625, streamUnit: 0.014, invocation: 0.2 };

const sizes = [2, 5, 25, 100] as const;
const shapes = ["read and write", "write only"] as const;
const aloneTransactions = 6;
const concurrency = 64;
const concurrentTransactions = { 2: 256, 5: 128, 25: 64, 100: 64 } as const;

type Shape = (typeof shapes)[number];
type Size = (typeof sizes)[number];

/** Per transaction. */
type Cost = {
  readonly calls: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  readonly streamUnits: number;
  readonly invocations: number;
};

type Part = "transaction" | "tail" | "oracle" | "replay";

type Row = {
  readonly shape: Shape;
  readonly items: Size;
  readonly load: "alone" | "×64";
  readonly parts: Readonly<Record<Part, Cost>>;
  readonly total: Cost;
  readonly dollarsPerMillion: number;
  readonly plain: Cost & { readonly dollarsPerMillion: number };
  readonly native: Cost & { readonly dollarsPerMillion: number };
};

type Account = { readonly balanceCents: number };
const accounts = defineTable<Account, { readonly id: string }>(benchTable.name);

function dollars(cost: Cost): number {
  return (
    cost.readUnits * prices.readUnit +
    cost.writeUnits * prices.writeUnit +
    cost.streamUnits * prices.streamUnit +
    cost.invocations * prices.invocation
  );
}

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

/** Runs `count` transactions with disjoint items, `width` at a time; `alone` runs replay after each. */
async function run(
  deployment: MeteredDeployment,
  task: { readonly shape: Shape; readonly items: Size; readonly load: Row["load"] },
): Promise<Row> {
  const { shape, items, load } = task;
  const alone = load === "alone";
  const count = alone ? aloneTransactions : concurrentTransactions[items];
  const width = alone ? 1 : concurrency;
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
  const total = Object.values(parts).reduce(add);
  return {
    ...task,
    parts,
    total,
    dollarsPerMillion: dollars(total),
    plain: priced(comparison(task, 1)),
    native: priced(comparison(task, 2)),
  };
}

/** Items are below 1 KB, so an item is a unit; TransactWriteItems counts each write twice. */
function comparison(
  { shape, items }: { readonly shape: Shape; readonly items: number },
  unitsPerWrite: 1 | 2,
): Cost {
  const readCalls = shape === "read and write" ? Math.ceil(items / 100) : 0;
  return {
    calls: readCalls + (unitsPerWrite === 1 ? items : 1),
    readUnits: shape === "read and write" ? items : 0,
    writeUnits: items * unitsPerWrite,
    streamUnits: 0,
    invocations: 0,
  };
}

function priced(cost: Cost): Cost & { readonly dollarsPerMillion: number } {
  return { ...cost, dollarsPerMillion: dollars(cost) };
}

function add(left: Cost, right: Cost): Cost {
  return {
    calls: left.calls + right.calls,
    readUnits: left.readUnits + right.readUnits,
    writeUnits: left.writeUnits + right.writeUnits,
    streamUnits: left.streamUnits + right.streamUnits,
    invocations: left.invocations + right.invocations,
  };
}

function print(rows: readonly Row[]): void {
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
  for (const row of rows) {
    const parts = [...Object.values(row.parts), row.total];
    console.log(
      line([
        `${row.shape}, ${row.items.toString()} items, ${row.load}`,
        ...parts.map(({ readUnits, writeUnits, calls }) =>
          [readUnits, writeUnits, calls].map((value) => short(value)).join(" / "),
        ),
        row.dollarsPerMillion.toFixed(2),
        (row.dollarsPerMillion / row.plain.dollarsPerMillion).toFixed(2),
        (row.dollarsPerMillion / row.native.dollarsPerMillion).toFixed(2),
      ]),
    );
  }
  console.log("\ncompared with, computed from DynamoDB's rules (items below 1 KB)");
  for (const { shape, items, plain, native } of rows.filter(({ load }) => load === "alone")) {
    const text = (cost: Row["plain"]): string =>
      `${[cost.readUnits, cost.writeUnits, cost.calls].map((value) => short(value)).join(" / ")} = $${cost.dollarsPerMillion.toFixed(2)}`;
    console.log(
      `  ${`${shape}, ${items.toString()} items`.padEnd(26)} plain calls ${text(plain).padEnd(26)} TransactWriteItems ${text(native)}`,
    );
  }
}

function short(value: number): string {
  return value < 9.95 ? Number(value.toFixed(2)).toString() : Math.round(value).toString();
}

const { json } = benchOptions();
const load = loadavg();
const rows: Row[] = [];
const deployment = await startMeteredDeployment();
try {
  const warmUp = await transact(deployment, { shape: "write only", items: 1, first: 0 });
  await deployment.replay(warmUp.commitTimestamp ?? 0);
  for (const load of ["alone", "×64"] as const) {
    for (const shape of shapes) {
      for (const items of sizes) rows.push(await run(deployment, { shape, items, load }));
    }
  }
} finally {
  await deployment.stop();
}
if (json) console.log(JSON.stringify({ bench: "transaction-cost", load, prices, rows }));
else print(rows);
