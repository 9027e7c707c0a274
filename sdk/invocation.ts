/** Work inside of one invocation of a Lambda function. */
import { InvalidRequestError } from "../core/errors.ts";
import type { Clock } from "../core/ports.ts";

/** What of Lambda's context it needs. */
export type InvocationContext = {
  getRemainingTimeInMillis(): number;
  /** Of the function, by which its metrics are told from those of others. */
  readonly functionName?: string;
};

/** Runs a task whose signal is aborted so long before the invocation's time is up. */
export async function inTime(
  { context, marginMs }: { readonly context: InvocationContext; readonly marginMs: number },
  clock: Pick<Clock, "sleep">,
  task: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  // Called by hand, or by a wrapper that passes the event alone.
  if (
    typeof (context as Partial<InvocationContext> | undefined)?.getRemainingTimeInMillis !==
    "function"
  ) {
    throw new InvalidRequestError(
      "context",
      "the handler is called with Lambda's context, which has `getRemainingTimeInMillis`",
    );
  }
  const expired = new AbortController();
  const finished = new AbortController();
  const allowedMs = Math.max(0, context.getRemainingTimeInMillis() - marginMs);
  clock.sleep(allowedMs, finished.signal).then(
    () => {
      expired.abort(new Error("the invocation's time is up; the next one goes on"));
    },
    () => undefined,
  );
  try {
    await task(expired.signal);
  } finally {
    finished.abort();
  }
}
