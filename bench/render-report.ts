/**
 * Draws bench/results/report.html from the last run and the last projection, without running
 * anything.
 *
 *     npm run bench:report
 */
import { readFileSync } from "node:fs";
import { parseResults } from "./harness/results.ts";
import { resultFiles, writeReport } from "./report/result-files.ts";

const results = parseResults(JSON.parse(readFileSync(resultFiles.results, "utf8")));
await writeReport(results);
console.log(`drawn: ${results.name} of ${results.startedAt}`);
