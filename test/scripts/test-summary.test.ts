/**
 * The line that a CI run ends with: nothing that failed, crashed or said nothing may look green.
 */
import { expect, test } from "vitest";
import { summaryLine, totalsOfReport, totalsOfStep } from "../../scripts/test-summary.ts";

function report(files: readonly { status: string; tests: readonly string[] }[]): string {
  return JSON.stringify({
    testResults: files.map(({ status, tests }, index) => ({
      name: `file-${index}`,
      status,
      assertionResults: tests.map((result) => ({ status: result, fullName: result })),
    })),
  });
}

test("counts passed, failed and every other state as skipped", () => {
  const text = report([
    { status: "failed", tests: ["passed", "passed", "failed"] },
    { status: "passed", tests: ["passed", "skipped", "todo", "pending"] },
  ]);
  expect(totalsOfReport(text)).toMatchObject({ passed: 3, failed: 1, skipped: 3 });
});

test("counts a file that failed to load as one failure", () => {
  expect(totalsOfReport(report([{ status: "failed", tests: [] }]))).toMatchObject({
    failed: 1,
    notes: ["failed: file-0 as a whole"],
  });
});

test.each([
  ["a step that failed without a report", "1", false, undefined, { passed: 0, failed: 1 }],
  ["a step that passed without a report", "0", false, undefined, { passed: 0, failed: 0 }],
  ["a report that is missing", "0", true, undefined, { passed: 0, failed: 1 }],
  ["a report without a test", "0", true, report([]), { passed: 0, failed: 1 }],
  [
    "an error outside of every test",
    "1",
    true,
    report([{ status: "passed", tests: ["passed"] }]),
    { passed: 1, failed: 1 },
  ],
  [
    "a failed test, which is counted once",
    "1",
    true,
    report([{ status: "failed", tests: ["failed"] }]),
    { passed: 0, failed: 1 },
  ],
  ["a step that was skipped", "skipped", false, undefined, { failed: 0, skipped: 1 }],
])("judges %s", (_title, result, reportExpected, text, expected) => {
  expect(totalsOfStep({ name: "step", result, reportExpected, report: text })).toMatchObject(
    expected,
  );
});

test("names the skipped only where there are some", () => {
  expect(summaryLine({ passed: 2, failed: 0, skipped: 0 })).toBe("2 passed, 0 failed");
  expect(summaryLine({ passed: 2, failed: 1, skipped: 3 })).toBe("2 passed, 1 failed, 3 skipped");
});

test("says why a test failed, in few lines", () => {
  const failureMessages = [`expected 1 to be 2\n${"    at somewhere\n".repeat(40)}`];
  const assertionResults = [{ status: "failed", fullName: "adds", failureMessages }];
  const text = JSON.stringify({
    testResults: [{ name: "sum.test.ts", status: "failed", assertionResults }],
  });
  const [note] = totalsOfReport(text).notes;
  expect(note).toContain("failed: sum.test.ts: adds\n    expected 1 to be 2\n");
  expect(note?.split("\n")).toHaveLength(13);
});

test("says what struck outside of every test", () => {
  const passed = report([{ status: "passed", tests: ["passed"] }]);
  expect(
    totalsOfStep({
      name: "test",
      result: "1",
      reportExpected: true,
      report: passed,
      strayErrors: ["beside a.test.ts: Error: nobody awaited this"],
    }).notes,
  ).toEqual(["failed: test: exit code 1\n    beside a.test.ts: Error: nobody awaited this"]);
});
