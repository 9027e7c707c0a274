/**
 * `npm run demo`: many clients in several processes, optionally with kills, and then the audit. The report goes to
 * standard output, everything else to standard error. Exit code 1 when the audit finds a fault.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StackError } from "../../localstack/stack-error.ts";
import { TransactionError } from "../../sdk/index.ts";
import { runDemo } from "./demo-run.ts";
import { parseOptions } from "./options.ts";
import { reportText } from "./report.ts";

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const options = parseOptions(process.argv.slice(2));
const folder = mkdtempSync(join(tmpdir(), "tidemark-demo-"));
let keepsJournals = false;
try {
  const report = await runDemo(options, {
    folder,
    say: (line) => process.stderr.write(`${line}\n`),
  });
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : reportText(report));
  keepsJournals = !report.ok;
  if (!report.ok) process.exitCode = 1;
} catch (error) {
  // What a user can mend, in one line; anything else is a defect and shows where it happened.
  const expected = error instanceof StackError || error instanceof TransactionError;
  if (!(error instanceof Error)) throw error;
  process.stderr.write(`demo: ${expected ? error.message : (error.stack ?? error.message)}\n`);
  process.exitCode = 1;
}
if (!keepsJournals) rmSync(folder, { recursive: true });
process.exit();
