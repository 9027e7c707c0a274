/**
 * Every request is answered, whatever the engine does: first its signal is aborted, so that it can
 * say what it knows (an unknown commit names its id); a little later the request ends without it.
 */
import { UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Clock } from "../../core/ports.ts";
import { ApiProblem } from "./problem.ts";

export type Allowance = {
  /** For the engine: ends before the request's own deadline. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
};

export type DeadlineOptions = {
  readonly clock: Clock;
  /** From now to the answer. */
  readonly budgetMs: number;
  /** What to tell a caller whose request ended unanswered by the engine. */
  readonly outcome: "aborted" | "unknown";
};

/** @throws what `work` throws, or ApiProblem `unavailable` once the budget is spent. */
export async function withDeadline<Result>(
  { clock, budgetMs, outcome }: DeadlineOptions,
  work: (allowance: Allowance) => Promise<Result>,
): Promise<Result> {
  const deadlineMs = Math.max(1, budgetMs - limits.restDeadlineMarginMs);
  const engine = new AbortController();
  const finished = new AbortController();
  const overdue = async (): Promise<never> => {
    await clock.sleep(deadlineMs, finished.signal);
    // As the engine's own deadline, so that it tells what it has waited for.
    const deadline = { deadlineMs, phase: "body", attempts: 0 } as const;
    engine.abort(new UnavailableError("the request's deadline has passed", { deadline }));
    await clock.sleep(Math.max(0, budgetMs - deadlineMs), finished.signal);
    const known =
      outcome === "unknown" ? "it may or may not have committed" : "nothing was written";
    const detail = `the request's deadline has passed; ${known}`;
    throw new ApiProblem("unavailable", detail, { outcome }, { "Retry-After": "2" });
  };
  try {
    return await Promise.race([work({ deadlineMs, signal: engine.signal }), overdue()]);
  } finally {
    finished.abort();
  }
}
