/** What the workload of jobs under idempotency keys gives its clients to do. */
import { expect, test } from "vitest";
import { planOf } from "../../simulation/seed-plan.ts";
import { runSeed } from "../../simulation/seed-run.ts";

/** As many as a plan may have. */
const steps = 400;
const triesOfJob = 12;

/** `receipts["job-7",3]`: the job, of any key in a history. */
function jobOf(key: string): string | undefined {
  return /^receipts\["(job-\d+)",\d+\]$/u.exec(key)?.[1];
}

test("there is a new job as long as clients come, and the judge looks for each try", async () => {
  const { report, history } = await runSeed({
    ...planOf(1),
    ...{ workload: "idempotency", transactions: steps, clients: 1, lanes: 1, pauseMs: 1 },
    // Alone at the log, so that nobody asks for conflicts.
    ...{ hotLog: true, hurried: 0, faults: {}, commit: "stream", tablesOnly: false, closings: 0 },
    housekeeping: "functions",
  });
  expect(report.findings).toEqual([]);
  expect(report.fleet.begun).toBe(steps);

  const done = new Set<string>();
  const lookedFor = new Map<string, Set<string>>();
  for (const { ops } of history.transactions) {
    for (const [kind, key] of ops) {
      const job = jobOf(key);
      if (job === undefined) continue;
      if (kind === "w") done.add(job);
      else lookedFor.set(job, (lookedFor.get(job) ?? new Set()).add(key));
    }
  }
  // Two in five steps are at a new one, to the last.
  expect(done.size).toBeGreaterThan(steps * 0.3);
  expect([...lookedFor.values()].map(({ size }) => size)).toEqual([...done].map(() => triesOfJob));
});
