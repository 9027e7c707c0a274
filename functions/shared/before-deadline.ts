/**
 * Ends an invocation before Lambda would. A service looks at its budget between calls; a call that
 * hangs it cannot look behind. Lambda's own end would kill the process, lose its logs and metrics,
 * and cost the next invocation a cold start; an error delivers the same batch again without that.
 * What was under way may still have its effect later, as after any lost answer (docs/failures.md).
 */
import { setMaxListeners } from "node:events";
import type { Clock } from "../../core/ports.ts";

/** The invocation's time is up; what it was given has to be delivered again. */
class InvocationDeadlineError extends Error {
  override readonly name = "InvocationDeadlineError";
}

export type DeadlineOptions = {
  readonly clock: Pick<Clock, "sleep">;
  readonly remainingMs: number;
  /** Time kept for handing the error to the runtime. */
  readonly marginMs: number;
};

/**
 * @param work gets a signal that is aborted at the deadline, for calls that can be given up.
 * @throws InvocationDeadlineError when the work is not done `marginMs` before the end.
 */
export async function beforeDeadline<Result>(
  { clock, remainingMs, marginMs }: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const expired = new AbortController();
  // Every call under way listens to it; many at once are no leak, which Node would warn of.
  setMaxListeners(0, expired.signal);
  const finished = new AbortController();
  const allowedMs = Math.max(0, remainingMs - marginMs);
  const deadline = clock.sleep(allowedMs, finished.signal).then(() => {
    const error = new InvocationDeadlineError(
      `not finished ${marginMs.toString()} ms before the function's timeout`,
    );
    expired.abort(error);
    throw error;
  });
  try {
    return await Promise.race([work(expired.signal), deadline]);
  } finally {
    finished.abort();
    deadline.catch(() => undefined);
  }
}
