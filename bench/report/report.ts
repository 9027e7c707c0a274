/** The report of a run. */
import type { BenchResults } from "../harness/results.ts";
import type { Section } from "./chart-spec.ts";
import { pageOf } from "./page.ts";
import { sectionsOf } from "./sections.ts";

/** @param more sections of others, after those of the results. */
export function reportOf(results: BenchResults, more: readonly Section[] = []): Promise<string> {
  const { machine, settings, startedAt, minutes } = results;
  const { seconds, repetitions, processes, store, seed } = settings;
  return pageOf({
    title: `Tidemark, measured: ${results.name}`,
    summary: [
      `${startedAt.slice(0, 16).replace("T", " ")} UTC, ${minutes.toFixed(0)} minutes on ` +
        `${machine.cores} cores (${machine.processor}), ` +
        `${machine.memoryGb} GB, Node.js ${machine.node}, load average at start ` +
        `${machine.loadAverage.map((load) => load.toFixed(1)).join(", ")}.`,
      `DynamoDB: ${store}. ${repetitions} repetitions of ${seconds} s each, contestants ` +
        `interleaved, ${processes} client ` +
        `${processes === 1 ? "process" : "processes"} each, seed ${seed}.`,
    ],
    sections: [...sectionsOf(results), ...more],
  });
}
