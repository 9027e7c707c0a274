/**
 * Sums the results of all steps of a run and prints, as the last line, `N passed, N failed` with
 * `, N skipped` where something was skipped. Exits with 1 if anything failed.
 *
 *     tsx scripts/test-summary.ts <name>=<exit code | skipped>[=<vitest JSON report>] …
 *
 * A step that failed without a failed test in its report (lint, a crash, an unhandled error) counts
 * as one failure; a report that is missing or empty is a failure too, so silence is never success.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { strayErrorsPath } from "./stray-errors-reporter.ts";

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          status: z.string(),
          fullName: z.string(),
          failureMessages: z.array(z.string()).optional(),
        }),
      ),
    }),
  ),
});

export type Totals = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What a reader must know of each failure and skip: its name, and why if that is known. */
  readonly notes: readonly string[];
};

/** Enough to see what broke: a message and the frames nearest to it. */
const reasonLinesMax = 12;

function withReason(name: string, messages: readonly (string | undefined)[]): string {
  const lines = messages.flatMap((message) => message?.trim().split("\n") ?? []);
  return [name, ...lines.slice(0, reasonLinesMax).map((line) => `    ${line}`)].join("\n");
}

/** What one vitest JSON report says. A file that failed to load counts as one failure. */
export function totalsOfReport(text: string): Totals {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  const notes: string[] = [];
  for (const file of reportSchema.parse(JSON.parse(text)).testResults) {
    let failedHere = 0;
    for (const result of file.assertionResults) {
      if (result.status === "passed") passed += 1;
      else if (result.status === "failed") {
        failedHere += 1;
        notes.push(
          withReason(`failed: ${file.name}: ${result.fullName}`, result.failureMessages ?? []),
        );
      } else {
        skipped += 1;
        notes.push(`skipped: ${file.name}: ${result.fullName}`);
      }
    }
    if (failedHere === 0 && file.status === "failed") {
      failedHere = 1;
      notes.push(withReason(`failed: ${file.name} as a whole`, [file.message]));
    }
    failed += failedHere;
  }
  return { passed, failed, skipped, notes };
}

/**
 * What one step adds. `report` is the text of its report; undefined if it wrote none. `strayErrors`
 * are those that struck outside of every test.
 */
export function totalsOfStep(step: {
  readonly name: string;
  readonly result: string;
  readonly reportExpected: boolean;
  readonly report: string | undefined;
  readonly strayErrors?: readonly string[];
}): Totals {
  if (step.result === "skipped") {
    return { passed: 0, failed: 0, skipped: 1, notes: [`skipped: ${step.name}`] };
  }
  const totals =
    step.report === undefined
      ? { passed: 0, failed: 0, skipped: 0, notes: [] }
      : totalsOfReport(step.report);
  const silent = step.reportExpected && totals.passed + totals.failed === 0;
  if (totals.failed === 0 && (step.result !== "0" || silent)) {
    const reason = silent ? "reported no test" : `exit code ${step.result}`;
    const note = withReason(`failed: ${step.name}: ${reason}`, step.strayErrors ?? []);
    return { ...totals, failed: 1, notes: [...totals.notes, note] };
  }
  return totals;
}

/** The line that ends a run. */
export function summaryLine(totals: Omit<Totals, "notes">): string {
  const line = `${totals.passed.toString()} passed, ${totals.failed.toString()} failed`;
  return totals.skipped === 0 ? line : `${line}, ${totals.skipped.toString()} skipped`;
}

function readStrayErrors(reportPath: string): readonly string[] {
  const path = strayErrorsPath(reportPath);
  return existsSync(path) ? z.array(z.string()).parse(JSON.parse(readFileSync(path, "utf8"))) : [];
}

function main(): void {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for (const argument of process.argv.slice(2)) {
    const [name = "", result = "", path] = argument.split("=");
    const report = path !== undefined && existsSync(path) ? readFileSync(path, "utf8") : undefined;
    const totals = totalsOfStep({
      name,
      result,
      reportExpected: path !== undefined,
      report,
      strayErrors: path === undefined ? [] : readStrayErrors(path),
    });
    passed += totals.passed;
    failed += totals.failed;
    skipped += totals.skipped;
    for (const note of totals.notes) {
      process.stdout.write(`${note.replaceAll(`${process.cwd()}/`, "")}\n`);
    }
  }
  if (passed + failed + skipped === 0) failed = 1;
  process.stdout.write(`${summaryLine({ passed, failed, skipped })}\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
