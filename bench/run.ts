/**
 * Runs a workload, or a group of them, and prints what it finds: throughput, latency, conflicts,
 * and what a committed transaction costs, per contestant, with ratios to native.
 *
 *     npm run bench -- <name> [--contestants tidemark,native] [--store dynamodb-local] [--help]
 */
import { writeFileSync } from "node:fs";
import { readCommandLine } from "./harness/command-line.ts";
import { cellLine, cellsHeader, printSummary } from "./harness/print.ts";
import { runPlan } from "./harness/run-plan.ts";
import { reportOf } from "./report/report.ts";

// It would be said by every process; CONTRIBUTING.md says which Node to use.
process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";

const { plan, json, html } = await readCommandLine(process.argv.slice(2));
console.log(cellsHeader);
const results = await runPlan(plan, {
  say: (line) => process.stderr.write(`${line}\n`),
  onCell: (cell) => {
    console.log(cellLine(cell));
  },
});
printSummary(results);
if (json !== undefined) writeFileSync(json, `${JSON.stringify(results, undefined, 1)}\n`);
if (html !== undefined) writeFileSync(html, await reportOf(results));
