/**
 * What a sweep says of its failures at its very end, and to whoever sums up many steps: logs are
 * clipped at their head, and a seed whose number is lost is a bug that nobody finds again.
 */
import { kindOf } from "./minimize.ts";
import type { SweepFailure } from "./sweep.ts";

/** A finding may quote a whole history. */
const findingLengthMax = 300;

/** One failure, and how to run it again as it was: the seed gives the plan, but for the changes. */
export function summaryOf({ order, findings }: SweepFailure): string {
  const { seed, changes = {} } = order;
  const isPlanned = Object.keys(changes).length > 0;
  const plan = isPlanned ? ` --plan '${JSON.stringify(changes)}'` : "";
  const [first = "no finding"] = findings;
  return (
    `seed ${seed.toString()} FAILED: ${first.slice(0, findingLengthMax)}\n` +
    `  npm run sim -- --seeds ${seed.toString()}${plan}`
  );
}

/** The last lines: every seed that failed, and the command that runs it again. */
export function lastLines(failures: readonly SweepFailure[]): readonly string[] {
  if (failures.length === 0) return [];
  const kinds = new Set(failures.map(({ findings }) => kindOf(findings[0] ?? "")));
  const count = failures.length === 1 ? "1 seed" : `${failures.length.toString()} seeds`;
  return [`\n${count} FAILED (${[...kinds].join(", ")}):`, ...failures.map(summaryOf)];
}

/**
 * The sweep as a test report, in the shape that `scripts/test-summary.ts` reads: so the last lines
 * of a CI run name the seeds.
 */
export function testReport(of: {
  readonly failures: readonly SweepFailure[];
  /** Faults, probes and allowed anomalies that were to be met, and were not. */
  readonly unreached: readonly string[];
}): string {
  const failed = of.failures.map((failure) => ({
    status: "failed",
    fullName: `seed ${failure.order.seed.toString()}`,
    failureMessages: [summaryOf(failure)],
  }));
  const coverage = {
    status: of.unreached.length > 0 ? "failed" : "passed",
    fullName: "reaches every fault, probe and allowed anomaly",
    failureMessages: of.unreached.map((name) => `never reached: ${name}`),
  };
  const tests = [...failed, coverage];
  const status = tests.some((test) => test.status === "failed") ? "failed" : "passed";
  return JSON.stringify({
    testResults: [{ name: "simulation", status, assertionResults: tests }],
  });
}
