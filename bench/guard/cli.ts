/**
 * Counts that are the same on every machine, against the budgets of budgets.json: a regression
 * fails with its name and figure. What is counted, and how to change a budget, stands in
 * bench/README.md.
 *
 *     npm run bench:guard
 *     npm run bench:guard -- --tighten     # lowers budgets to what is reached
 */
import { parseArgs } from "node:util";
import { readBudgets, writeBudgets } from "./budgets.ts";
import { byteCounts } from "./byte-counts.ts";
import { judge, tightened, verdictOf } from "./judge.ts";
import { oracleCounts } from "./oracle-counts.ts";
import { sizeCounts } from "./size-counts.ts";
import { transactionCounts } from "./transaction-counts.ts";

const { values } = parseArgs({ options: { tighten: { type: "boolean", default: false } } });
const counts = [
  ...(await transactionCounts()),
  ...(await oracleCounts()),
  ...(await byteCounts()),
  ...(await sizeCounts()),
];
let budgets = readBudgets();
if (values.tighten) {
  budgets = tightened(judge(counts, budgets), budgets);
  writeBudgets(budgets);
}
const { lines, failures, exitCode } = verdictOf(counts, budgets);
console.log(lines.join("\n"));
for (const failure of failures) console.error(`  ${failure}`);
process.exitCode = exitCode;
