/** A sweep's last lines, and its report to the summary of all steps, name each seed that failed. */
import { expect, test } from "vitest";
import { totalsOfReport } from "../../scripts/test-summary.ts";
import { lastLines, testReport } from "../../simulation/failure-summary.ts";

const failures = [
  { order: { seed: 7, changes: {} }, findings: ["I8: torn", "I9: lost"] },
  { order: { seed: 61, changes: { workload: "bank" } }, findings: ["lost-update: x"] },
] as const;

test("the last lines name each seed, its first finding and the command that runs it again", () => {
  expect(lastLines(failures).join("\n").split("\n")).toEqual([
    "",
    "2 seeds FAILED (I#, lost-update):",
    "seed 7 FAILED: I8: torn",
    "  npm run sim -- --seeds 7",
    "seed 61 FAILED: lost-update: x",
    `  npm run sim -- --seeds 61 --plan '{"workload":"bank"}'`,
  ]);
});

test("a sweep without failures ends without a word of them", () => {
  expect(lastLines([])).toEqual([]);
});

test("the summary of all steps names each seed and what was never reached", () => {
  const { passed, failed, notes } = totalsOfReport(
    testReport({ failures, unreached: ["probe express-denied"] }),
  );
  expect({ passed, failed }).toEqual({ passed: 0, failed: 3 });
  expect(notes.join("\n")).toContain("npm run sim -- --seeds 61 --plan");
  expect(notes.join("\n")).toContain("never reached: probe express-denied");
});

test("a sweep that found nothing is one test that passed", () => {
  const totals = totalsOfReport(testReport({ failures: [], unreached: [] }));
  expect(totals).toMatchObject({ passed: 1, failed: 0, notes: [] });
});
