/**
 * The files of the last run. The repository keeps what was measured and projected, not the report:
 * `npm run bench:report` draws it from these.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { BenchResults } from "../harness/results.ts";
import { storedMediator } from "../mediator/result.ts";
import type { BenchStore } from "../options.ts";
import { storedProjection } from "../projection/stored-projection.ts";
import { storedSalt } from "../salt/results.ts";
import { storedShards } from "../shards/stored-shards.ts";
import { reportOf } from "./report.ts";

function inResults(name: string): string {
  return fileURLToPath(new URL(`../results/${name}`, import.meta.url));
}

/** What was measured on one store never stands beside what was measured on another. */
export const resultFiles = {
  results: (store: BenchStore) => inResults(`${store}.json`),
  report: (store: BenchStore) => inResults(`${store}.html`),
  projection: inResults("projection.json"),
  mediator: inResults("mediator.json"),
  shards: inResults("shards.json"),
  salt: inResults("salt.json"),
} as const;

export function writeResults(results: BenchResults, store: BenchStore): void {
  const file = resultFiles.results(store);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, undefined, 1)}\n`);
}

/**
 * With the last run of Mediator's evaluation, the last projection and the last figures of several
 * shards and of BASE transactions, if there are any.
 */
export async function writeReport(results: BenchResults, store: BenchStore): Promise<void> {
  writeFileSync(
    resultFiles.report(store),
    await reportOf(results, [
      ...storedMediator(resultFiles.mediator),
      ...storedProjection(resultFiles.projection),
      ...storedShards(resultFiles.shards),
      ...storedSalt(resultFiles.salt),
    ]),
  );
}
