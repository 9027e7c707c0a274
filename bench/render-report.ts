/**
 * Draws the report of the last run on each store, with the last projection, into bench/results,
 * without running anything.
 *
 *     npm run bench:report
 */
import { existsSync, readFileSync } from "node:fs";
import { parseResults } from "./harness/results.ts";
import { benchStores } from "./options.ts";
import { resultFiles, writeReport } from "./report/result-files.ts";

for (const store of benchStores) {
  const file = resultFiles.results(store);
  if (!existsSync(file)) continue;
  const results = parseResults(JSON.parse(readFileSync(file, "utf8")));
  await writeReport(results, store);
  console.log(`drawn: ${resultFiles.report(store)}, ${results.name} of ${results.startedAt}`);
}
