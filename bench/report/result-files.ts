/**
 * The files of the last run. The repository keeps what was measured and projected, not the report:
 * `npm run bench:report` draws it from these.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { BenchResults } from "../harness/results.ts";
import { storedProjection } from "../projection/stored-projection.ts";
import { reportOf } from "./report.ts";

function inResults(name: string): string {
  return fileURLToPath(new URL(`../results/${name}`, import.meta.url));
}

export const resultFiles = {
  results: inResults("last.json"),
  projection: inResults("projection.json"),
  report: inResults("report.html"),
} as const;

export function writeResults(results: BenchResults): void {
  mkdirSync(dirname(resultFiles.results), { recursive: true });
  writeFileSync(resultFiles.results, `${JSON.stringify(results, undefined, 1)}\n`);
}

/** With the last projection, if there is one. */
export async function writeReport(results: BenchResults): Promise<void> {
  writeFileSync(
    resultFiles.report,
    await reportOf(results, storedProjection(resultFiles.projection)),
  );
}
