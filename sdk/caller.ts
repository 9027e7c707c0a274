/**
 * Who waits for what has failed. An error that is made after a wait has frames of Tidemark in its
 * stack only; but who awaits the call, V8 knows when it ends: a call that succeeds pays nothing.
 */
import { TransactionError } from "../core/errors.ts";

/**
 * To be called by the async function that the caller awaits, after its first wait.
 * @param error a `TransactionError` gets the caller's frames below its own; others are
 *   left alone.
 * @returns the same error.
 */
export function withCaller(error: unknown): unknown {
  if (!(error instanceof TransactionError)) return error;
  const { stack = "" } = error;
  // The first two lines are of this function.
  const frames = `${new Error().stack}`.split("\n").slice(2);
  error.stack = [stack, ...frames.filter((frame) => !stack.includes(frame))].join("\n");
  return error;
}
