/**
 * The process that runs seeds: one at a time, each told by a message, each answered by its report.
 * Bundled with what it runs (instrumented-build.ts), so that nothing of it waits for a module
 * loader while virtual time runs.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { historyFiles, type History } from "../testing/history/types.ts";
import {
  serializeFinalState,
  serializeLines,
  serializeTransaction,
  serializeVersionOrder,
} from "../testing/history/serialize.ts";
import { beat, beatMs } from "./heartbeat.ts";
import { planOf, type SeedPlan } from "./seed-plan.ts";
import { runSeed, type SeedReport } from "./seed-run.ts";

export type SeedOrder = {
  readonly seed: number;
  /** Changes to the plan that the seed gives. */
  readonly changes?: Partial<SeedPlan>;
  /** Folder for the run's history; none is written without it. */
  readonly historyFolder?: string;
  readonly traceFile?: string;
};

export type SeedAnswer = {
  readonly report: SeedReport;
  readonly probes: Readonly<Record<string, number>>;
  readonly realMs: number;
};

const orderSchema = z.object({
  seed: z.number(),
  changes: z.record(z.string(), z.unknown()).optional(),
  historyFolder: z.string().optional(),
  traceFile: z.string().optional(),
});

const probes = new Map<string, number>();
Object.assign(globalThis, {
  tidemarkProbe: (name: string) => {
    probes.set(name, (probes.get(name) ?? 0) + 1);
  },
});

/** What no promise of the run has caught: a bug, whatever else the run shows. */
const uncaught: string[] = [];
process.on("unhandledRejection", (error) => {
  uncaught.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
});

setInterval(() => process.send?.(beat), beatMs);

process.on("message", (message) => {
  void answer(message).then((reply) => process.send?.(reply));
});

async function answer(message: unknown): Promise<SeedAnswer> {
  const order = orderSchema.parse(message);
  const plan: SeedPlan = { ...planOf(order.seed), ...order.changes };
  probes.clear();
  uncaught.length = 0;
  const startedMs = performance.now();
  const { report, history, trace } = await runOrFail(plan, order.traceFile !== undefined);
  if (order.historyFolder !== undefined) writeHistory(order.historyFolder, history);
  if (order.traceFile !== undefined) writeFileSync(order.traceFile, `${trace.join("\n")}\n`);
  const findings = [...report.findings, ...uncaught.map((each) => `uncaught: ${each}`)];
  return {
    report: { ...report, findings },
    probes: Object.fromEntries(probes),
    realMs: performance.now() - startedMs,
  };
}

async function runOrFail(plan: SeedPlan, keepTrace: boolean): ReturnType<typeof runSeed> {
  try {
    return await runSeed(plan, { keepTrace });
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return {
      report: {
        seed: plan.seed,
        workload: plan.workload,
        findings: [`the run itself failed: ${text}`],
        ...{ commits: 0, aborts: 0, unknown: 0, conflicts: 0, virtualMs: 0, calls: 0, events: 0 },
        fleet: { begun: 0, done: 0, errors: {}, crashed: 0 },
        ...{ struck: {}, metrics: {}, allowed: {}, sought: {}, digest: "" },
      },
      history: { transactions: [] },
      trace: [],
    };
  }
}

function writeHistory(folder: string, history: History): void {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string): void => {
    writeFileSync(join(folder, name), text);
  };
  write(historyFiles.transactions, serializeLines(history.transactions, serializeTransaction));
  write(
    historyFiles.versionOrder,
    serializeLines(history.versionOrder ?? [], serializeVersionOrder),
  );
  write(historyFiles.finalState, serializeLines(history.finalState ?? [], serializeFinalState));
}
