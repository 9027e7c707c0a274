/**
 * Keeps what went wrong outside of every test (a rejection that nobody awaited, a worker that died)
 * in a file beside the JSON report, which has no place for it: such an error fails the run, and
 * must not do so without a word.
 */
import { writeFileSync } from "node:fs";
import type { Reporter } from "vitest/node";

/** The file of stray errors that belongs to a report. */
export function strayErrorsPath(reportPath: string): string {
  return `${reportPath}.stray-errors.json`;
}

/**
 * A vitest reporter that writes one string per stray error: where it struck, if known, and its
 * stack.
 */
export function strayErrorsReporter(reportPath: string): Reporter {
  return {
    onTestRunEnd(_modules, strayErrors) {
      const texts = strayErrors.map((error) => {
        const during: unknown = error["VITEST_TEST_PATH"];
        const stack = error.stack ?? error.message;
        return typeof during === "string" ? `beside ${during}: ${stack}` : stack;
      });
      writeFileSync(strayErrorsPath(reportPath), JSON.stringify(texts));
    },
  };
}
