/** What counts as having noticed a mutant, and what proves nothing. */
import { describe, expect, test } from "vitest";
import { noticed } from "../../simulation/mutants/noticed.ts";
import type { SeedResult } from "../../simulation/seed-pool.ts";
import type { SeedReport } from "../../simulation/seed-run.ts";

const order = { seed: 1 };

function answered(findings: readonly string[]): SeedResult {
  const report = { findings } as SeedReport;
  return { kind: "answered", order, answer: { report, probes: {}, realMs: 1 } };
}

describe("a mutant", () => {
  test.each([
    "the run itself failed: TypeError: Cannot read properties of undefined (reading 'key')",
    "uncaught: ReferenceError: verdict is not defined",
    "client-1/3: an error that is not of ours: SyntaxError: Unexpected token",
    "an error in a function: oracle: TypeError: verdicts is not iterable",
  ])("that merely crashes proves nothing: %s", (finding) => {
    expect(noticed(answered([finding]))).toEqual({ kind: "crashed", finding });
  });

  test("whose crash comes with other findings proves nothing: they may follow from it", () => {
    const finding = "an error in a function: replay: TypeError: undefined";
    const findings = ["liveness: the stream is not done", finding];
    expect(noticed(answered(findings))).toEqual({ kind: "crashed", finding });
  });

  test.each([
    "client-1/3: its own request was refused: InvalidRequestError: attribute n has no value",
    "client-1/3: its own request was refused: TransactionTooLargeError: more than 10000 keys",
    "the run itself failed: InvalidRequestError: attribute n has no value",
  ])("that makes the workload's own requests invalid proves nothing: %s", (finding) => {
    expect(noticed(answered([finding]))).toEqual({ kind: "refused", finding });
    const findings = ["liveness: the stream is not done", finding];
    expect(noticed(answered(findings))).toEqual({ kind: "refused", finding });
  });

  test("whose process dies proves nothing", () => {
    const reason = "its process ended: 1";
    expect(noticed({ kind: "lost", order, reason })).toEqual({ kind: "crashed", finding: reason });
  });

  test.each([
    "it did not end in real time",
    "its event loop stands still: something never gives its turn back",
  ])("that is given up in real time proves nothing, as the machine may be busy: %s", (reason) => {
    expect(noticed({ kind: "lost", order, reason })).toEqual({ kind: "lost", finding: reason });
  });

  test.each([
    "G1c: t1 and t2 saw each other",
    "an error in a function: oracle: InvariantViolation: I2: timestamps grow",
    "an error in a function: replay: InvalidRequestError: the store refused the request",
    "client-1/3: CorruptDataError: stored bytes do not decode: malformed",
    "client-1/3: IdempotencyKeyReusedError: the key has answered another request",
    "the run itself failed: TooManyEventsError: 9 events, and not done: something goes on",
    "the run itself failed: VirtualTimeoutError: not done within 43200000 ms of virtual time",
  ])("that breaks a promise is caught: %s", (finding) => {
    expect(noticed(answered(["vacuous: 2.0 % met a conflict", finding]))).toEqual({
      kind: "caught",
      finding,
    });
  });

  test("of which nothing shows is not, nor by a run that says little", () => {
    expect(noticed(answered([]))).toEqual({ kind: "unnoticed" });
    const vacuous = "vacuous: 12.0 % of the attempts committed";
    expect(noticed(answered([vacuous]))).toEqual({ kind: "unnoticed" });
  });
});
