/** `npm run demo` as a user runs it, and what it reports. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";

const script = fileURLToPath(new URL("../../demo/main.ts", import.meta.url));
/** A run of some seconds. */
export const small = ["--clients", "2", "--concurrency", "4", "--accounts", "30", "--json"];

type Demo = { readonly code: number | null; readonly output: string; readonly errors: string };

export function runDemo(...parameters: readonly string[]): Promise<Demo> {
  const child = spawn(process.execPath, ["--import", "tsx", script, ...parameters], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  return new Promise((resolve) =>
    child.once("close", (code) => {
      resolve({ code, output, errors });
    }),
  );
}

const percentiles = z.strictObject({
  p50: z.number(),
  p90: z.number(),
  p99: z.number(),
  p999: z.number(),
  max: z.number(),
});
const counts = z.strictObject({ done: z.int(), refused: z.int() });

/** The documented fields, all of them and no others. */
const reportSchema = z.strictObject({
  ok: z.boolean(),
  options: z.looseObject({ seed: z.int(), chaos: z.boolean() }),
  seconds: z.number(),
  commits: z.int(),
  commitsPerSecond: z.number(),
  operations: z.strictObject({
    transfer: counts,
    purchase: counts,
    cancellation: counts,
    report: counts,
  }),
  conflicts: z.int(),
  retries: z.int(),
  shardChanges: z.strictObject({ splits: z.int(), joins: z.int() }).optional(),
  counters: z.strictObject({
    earlyConflicts: z.int(),
    oracleConflicts: z.int(),
    otherAborts: z.int(),
    resends: z.int(),
    unknowns: z.int(),
    abortedOperations: z.int(),
    helped: z.int(),
    installsLeft: z.int(),
  }),
  latencyMs: z.strictObject({
    total: percentiles,
    body: percentiles,
    certify: percentiles,
    install: percentiles,
  }),
  reportLatencyMs: percentiles,
  kills: z.array(
    z.strictObject({
      atMs: z.int(),
      kind: z.string(),
      target: z.string(),
      pid: z.int(),
      afterSendingMs: z.int().optional(),
    }),
  ),
  killed: z.record(z.string(), z.int()),
  missed: z.array(z.string()),
  native: z
    .strictObject({
      sold: z.int(),
      unheard: z.int(),
      refused: z.int(),
      restocks: z.int(),
      kills: z.int(),
    })
    .optional(),
  base: z
    .strictObject({
      given: z.int(),
      givenBack: z.int(),
      takenOver: z.int(),
      atOnce: z.int(),
      refused: z.int(),
      audits: z.strictObject({ acid: z.int(), snapshot: z.int(), givenUp: z.int() }),
      kills: z.record(z.string(), z.int()),
    })
    .optional(),
  lastLines: z.record(z.string(), z.array(z.string())).optional(),
  audit: z.strictObject({
    faults: z.array(z.string()),
    operations: z.int(),
    acknowledged: z.int(),
    settled: z.strictObject({ committed: z.int(), aborted: z.int() }),
    orphaned: z.int(),
    outcomesSampled: z.int(),
    liveSnapshots: z.strictObject({ balanced: z.int(), givenUp: z.int() }),
    journals: z.string().optional(),
  }),
});

export function reportOf({ output, errors }: Demo): z.infer<typeof reportSchema> {
  if (output === "") throw new Error(`the demo has not reported:\n${errors}`);
  return reportSchema.parse(JSON.parse(output));
}

const errorLinesShown = 60;

/**
 * A failure says what the audit found and what each process said last: it may not happen again
 * soon.
 */
export function expectGreen(demo: Demo): z.infer<typeof reportSchema> {
  const { code, errors } = demo;
  const report = reportOf(demo);
  const { faults } = report.audit;
  const evidence = JSON.stringify({ code, faults, lastLines: report.lastLines }, undefined, 2);
  const lastErrors = errors.split("\n").slice(-errorLinesShown).join("\n");
  expect(report.ok && code === 0, `${evidence}\n${lastErrors}`).toBe(true);
  expect(faults).toEqual([]);
  return report;
}
