/**
 * The command `npm run demo`: many clients in several processes, optionally with kills, and then
 * the audit. The report goes to standard output, everything else to standard error. Exit code 1
 * when the audit finds a fault.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StackError } from "../localstack/stack-error.ts";
import { TransactionError } from "../sdk/index.ts";
import { runDemo } from "./demo-run.ts";
import { parseOptions, type DemoOptions } from "./options.ts";
import { ProcessLogs } from "./process-logs.ts";
import { reportText } from "./report.ts";
import type { DemoScripts } from "./snapshot.ts";

/**
 * Sets the process's exit code. Ends the process itself only for options that cannot be understood.
 */
export async function runCommand(
  parameters: readonly string[],
  scripts: DemoScripts,
): Promise<void> {
  await runWith(parseOptions(parameters), scripts);
}

/** The same with options that are parsed already: of the package's command. */
export async function runWith(options: DemoOptions, scripts: DemoScripts): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-demo-"));
  const say = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };
  const logs = new ProcessLogs(say);
  let keepsJournals = false;
  try {
    const report = await runDemo(options, { folder, say, logs, scripts });
    process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : reportText(report));
    keepsJournals = !report.ok;
    if (!report.ok) {
      process.stderr.write(logs.text());
      process.exitCode = 1;
    }
  } catch (error) {
    // What a user can mend, in one line; anything else is a defect and shows where it happened.
    const expected = error instanceof StackError || error instanceof TransactionError;
    if (!(error instanceof Error)) throw error;
    say(`demo: ${expected ? error.message : (error.stack ?? error.message)}`);
    process.stderr.write(logs.text());
    process.exitCode = 1;
  }
  if (!keepsJournals) rmSync(folder, { recursive: true });
}
