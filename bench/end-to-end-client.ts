/**
 * The client process of bench/end-to-end.ts: an application with the SDK, that runs what the
 * benchmark tells it, and for comparison the same reads and writes by the AWS SDK alone.
 */
import { createAwsClients } from "../aws/clients.ts";
import { createClient, defineTable } from "../sdk/index.ts";
import type { Client, Phases, Receipt } from "../sdk/index.ts";
import { accountId, benchAccounts, benchTable } from "./bench-table.ts";
import { seededWords } from "./measure.ts";

export type Task = {
  readonly kind: "transactions" | "native";
  readonly concurrency: number;
  readonly durationMs: number;
  readonly seed: number;
};

export type TaskResult = {
  readonly elapsedMs: number;
  /** Processor time of this process. */
  readonly cpuMs: number;
  readonly latenciesMs: readonly number[];
  /** Of transactions: one for each. */
  readonly phases: readonly Phases[];
  /** Attempts beyond the first. */
  readonly retries: number;
};

type Account = {
  readonly balanceCents: number;
  readonly owner: string;
  readonly currency: string;
  readonly updatedAt: string;
};

const accounts = defineTable<Account, { readonly id: string }>(benchTable.name);

/** Two distinct accounts, uniformly drawn. */
function drawPair(words: () => number): readonly [string, string] {
  const first = words() % benchAccounts;
  const second = (first + 1 + (words() % (benchAccounts - 1))) % benchAccounts;
  return [accountId(first), accountId(second)];
}

/** The generator's first words show the seed; neighbours would draw neighbouring accounts and conflict. */
function workerWords(seed: number): () => number {
  const words = seededWords(seed);
  for (let n = 0; n < 64; n += 1) words();
  return words;
}

/** One transfer; returns its receipt, where there is one. */
type Transfer = (source: string, target: string) => Promise<Receipt | undefined>;

function transactionalTransfer(client: Client): Transfer {
  return async (source, target) => {
    const { receipt } = await client.transact(async (tx) => {
      const [from, to] = await Promise.all([tx.get(accounts, source), tx.get(accounts, target)]);
      if (from === undefined || to === undefined) throw new Error("an account is missing");
      tx.put(accounts, { ...from, balanceCents: from.balanceCents - 1 });
      tx.put(accounts, { ...to, balanceCents: to.balanceCents + 1 });
    });
    return receipt;
  };
}

async function nativeTransfer(aws: ReturnType<typeof createAwsClients>): Promise<Transfer> {
  const { client, sdk } = await aws.dynamodb();
  const TableName = benchTable.name;
  const read = async (id: string): Promise<Record<string, never>> => {
    const { Item } = await client.send(
      new sdk.GetItemCommand({ TableName, Key: { id: { S: id } }, ConsistentRead: true }),
    );
    if (Item === undefined) throw new Error("an account is missing");
    return Item as Record<string, never>;
  };
  const write = async (item: Record<string, never>, cents: number): Promise<void> => {
    const balance = (item["balanceCents"] as unknown as { readonly N: string }).N;
    const balanceCents = { N: (Number(balance) + cents).toString() };
    await client.send(new sdk.PutItemCommand({ TableName, Item: { ...item, balanceCents } }));
  };
  return async (source, target) => {
    const [from, to] = await Promise.all([read(source), read(target)]);
    await Promise.all([write(from, -1), write(to, 1)]);
    return undefined;
  };
}

async function run(task: Task, transfer: Transfer): Promise<TaskResult> {
  const latenciesMs: number[] = [];
  const phases: Phases[] = [];
  let retries = 0;
  const cpuStart = process.cpuUsage();
  const startMs = performance.now();
  const work = async (worker: number): Promise<void> => {
    const words = workerWords(task.seed * 1_000 + worker);
    while (performance.now() - startMs < task.durationMs) {
      const beganMs = performance.now();
      const receipt = await transfer(...drawPair(words));
      latenciesMs.push(performance.now() - beganMs);
      if (receipt === undefined) continue;
      phases.push(receipt.phases);
      retries += receipt.attempts - 1;
    }
  };
  await Promise.all(Array.from({ length: task.concurrency }, (_, worker) => work(worker)));
  const elapsedMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpuStart);
  return { elapsedMs, cpuMs: (user + system) / 1000, latenciesMs, phases, retries };
}

async function main(endpoint: string, endpoints: { dynamodb: string; kinesis: string }) {
  const client = createClient({ endpoint });
  const aws = createAwsClients({ endpoint: endpoints });
  const transfers = {
    transactions: transactionalTransfer(client),
    native: await nativeTransfer(aws),
  };
  process.on("message", (message) => {
    if (message === "stop") {
      void Promise.all([client.close(), aws.close()]).then(() => {
        process.disconnect();
      });
      return;
    }
    const task = message as Task;
    run(task, transfers[task.kind]).then(
      (result) => process.send?.(result),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.on("disconnect", () => process.exit(0));
  process.send?.("ready");
}

const [endpoint = "", dynamodb = "", kinesis = ""] = process.argv.slice(2);
await main(endpoint, { dynamodb, kinesis });
