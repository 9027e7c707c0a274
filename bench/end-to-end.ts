/**
 * Throughput and latency on the embedded stack at 1, 8 and 64 concurrent transactions of 2 reads and 2 writes on
 * 10,000 accounts, from a client in a process of its own; beside them the same reads and writes done
 * natively (2 GetItem, then 2 PutItem), in the same run, repetitions interleaved. Everything shares one machine:
 * client, stores, oracle and replay; so the ratios and the processor time per transaction say more than the
 * figures themselves.
 *
 *     npm run bench:e2e [-- --json]
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { createAwsClients } from "../aws/clients.ts";
import { createTables, registerTables } from "../aws/provision.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../localstack/embedded-stack.ts";
import { benchTable, fillAccounts } from "./bench-table.ts";
import type { Task, TaskResult } from "./end-to-end-client.ts";
import { benchOptions } from "./options.ts";
import { whileMeasuring } from "./process-time.ts";

const concurrencies = [1, 8, 64] as const;
const kinds = ["transactions", "native"] as const;
const repetitions = 3;
const runMs = 2_500;
const warmUpMs = 1_500;

type Run = { readonly result: TaskResult; readonly spentMs: Readonly<Record<string, number>> };

type Summary = {
  readonly kind: Task["kind"];
  readonly concurrency: number;
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly retries: number;
  /** Medians; of transactions only. */
  readonly phasesMs: { readonly body: number; readonly certify: number; readonly install: number };
  /** Processor time per transaction, by process. */
  readonly cpuMs: Readonly<Record<string, number>>;
};

class ClientProcess {
  readonly #child;
  constructor(stack: EmbeddedStack) {
    const script = fileURLToPath(new URL("end-to-end-client.ts", import.meta.url));
    const { dynamodb, kinesis } = stack.endpoints;
    this.#child = fork(script, [stack.endpoint, dynamodb, kinesis], {
      execArgv: ["--import", "tsx"],
      env: { ...process.env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" },
    });
  }

  async ready(): Promise<void> {
    await this.#answer();
  }

  async run(task: Task): Promise<TaskResult> {
    this.#child.send(task);
    return (await this.#answer()) as TaskResult;
  }

  async #answer(): Promise<unknown> {
    const ended = new AbortController();
    const { signal } = ended;
    try {
      return await Promise.race([
        once(this.#child, "message", { signal }).then(([message]) => message as unknown),
        once(this.#child, "exit", { signal }).then(() => {
          throw new Error("the client process has ended before its time");
        }),
      ]);
    } finally {
      ended.abort();
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.send("stop", () => undefined);
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 10_000);
    await exited;
    clearTimeout(timer);
  }
}

async function prepare(stack: EmbeddedStack): Promise<void> {
  const { region, deployment, endpoints: endpoint } = stack;
  const options = { region, endpoint };
  await createTables(options, [benchTable]);
  await registerTables({ ...options, deployment }, [benchTable]);
  const clients = createAwsClients(options);
  await fillAccounts(await clients.dynamodb());
  await clients.close();
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((left, right) => left - right),
    0.5,
  );
}

function summarize(kind: Task["kind"], concurrency: number, runs: readonly Run[]): Summary {
  const results = runs.map(({ result }) => result);
  const latencies = results
    .flatMap(({ latenciesMs }) => latenciesMs)
    .sort((left, right) => left - right);
  const phases = results.flatMap((result) => result.phases);
  const count = latencies.length;
  const cpuMs: Record<string, number> = {};
  for (const { result, spentMs } of runs) {
    for (const [name, ms] of Object.entries({ client: result.cpuMs, ...spentMs })) {
      cpuMs[name] = (cpuMs[name] ?? 0) + ms / count;
    }
  }
  return {
    kind,
    concurrency,
    count,
    perSecond: median(
      results.map((result) => (result.latenciesMs.length / result.elapsedMs) * 1000),
    ),
    p50Ms: percentile(latencies, 0.5),
    p95Ms: percentile(latencies, 0.95),
    p99Ms: percentile(latencies, 0.99),
    retries: results.reduce((sum, { retries }) => sum + retries, 0),
    phasesMs: {
      body: median(phases.map(({ bodyMs }) => bodyMs)),
      certify: median(phases.map(({ certifyMs }) => certifyMs)),
      install: median(phases.map(({ installMs }) => installMs)),
    },
    cpuMs,
  };
}

async function measure(stack: EmbeddedStack, client: ClientProcess): Promise<readonly Summary[]> {
  for (const kind of kinds) {
    await client.run({ kind, concurrency: 16, durationMs: warmUpMs, seed: 0 });
  }
  const runs = new Map<string, Run[]>();
  for (let seed = 1; seed <= repetitions; seed += 1) {
    for (const concurrency of concurrencies) {
      for (const kind of kinds) {
        const task = { kind, concurrency, durationMs: runMs, seed };
        const run = await whileMeasuring(stack.processes, () => client.run(task));
        const key = `${kind} ${concurrency.toString()}`;
        runs.set(key, [...(runs.get(key) ?? []), run]);
      }
    }
  }
  return concurrencies.flatMap((concurrency) =>
    kinds.map((kind) =>
      summarize(kind, concurrency, runs.get(`${kind} ${concurrency.toString()}`) ?? []),
    ),
  );
}

function print(summaries: readonly Summary[], load: readonly number[]): void {
  const row = (cells: readonly string[]): string =>
    cells.map((cell, n) => (n === 0 ? cell.padEnd(18) : cell.padStart(9))).join("");
  console.log("embedded stack: 2 reads + 2 writes on 10,000 accounts; ms unless named otherwise");
  console.log(row(["", "per s", "p50", "p95", "p99", "body", "certify", "install", "retries"]));
  for (const summary of summaries) {
    const { kind, concurrency, perSecond, phasesMs } = summary;
    const times = [summary.p50Ms, summary.p95Ms, summary.p99Ms];
    const phases =
      kind === "native"
        ? ["", "", "", ""]
        : [phasesMs.body, phasesMs.certify, phasesMs.install]
            .map((ms) => ms.toFixed(2))
            .concat(summary.retries.toString());
    console.log(
      row([
        `${kind} ×${concurrency.toString()}`,
        perSecond.toFixed(0),
        ...times.map((ms) => ms.toFixed(2)),
        ...phases,
      ]),
    );
  }
  console.log("\nratio to native, same concurrency");
  for (const { transactions, native } of pairs(summaries)) {
    console.log(
      `  ×${transactions.concurrency.toString().padEnd(4)} throughput ${(transactions.perSecond / native.perSecond).toFixed(2)}` +
        `   p50 ${(transactions.p50Ms / native.p50Ms).toFixed(2)}   p99 ${(transactions.p99Ms / native.p99Ms).toFixed(2)}`,
    );
  }
  console.log("\nprocessor time per transaction, ms");
  for (const { kind, concurrency, cpuMs } of summaries) {
    const parts = Object.entries(cpuMs).map(([name, ms]) => `${name} ${ms.toFixed(2)}`);
    console.log(`  ${`${kind} ×${concurrency.toString()}`.padEnd(18)} ${parts.join("  ")}`);
  }
  console.log(`\nload average ${load.map((value) => value.toFixed(1)).join(", ")}`);
}

function pairs(
  summaries: readonly Summary[],
): readonly { readonly transactions: Summary; readonly native: Summary }[] {
  return concurrencies.flatMap((concurrency) => {
    const [transactions, native] = summaries.filter((one) => one.concurrency === concurrency);
    return transactions === undefined || native === undefined ? [] : [{ transactions, native }];
  });
}

const { json } = benchOptions();
const load = loadavg();
const stack = await startEmbeddedStack({ sampleTables: false });
const client = new ClientProcess(stack);
try {
  await Promise.all([client.ready(), prepare(stack)]);
  const summaries = await measure(stack, client);
  if (json) console.log(JSON.stringify({ bench: "end-to-end", load, summaries }, undefined, 2));
  else print(summaries, load);
} finally {
  await client.stop();
  await stack.stop();
}
