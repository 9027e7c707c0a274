/** What an invocation has left, as its service sees it. */
import type { CallOptions } from "../../core/ports.ts";

export type InvocationBudget = {
  readonly remainingMs: () => number;
  /**
   * Aborted at the deadline (before-deadline.ts). Every call carries it: one that went on would do
   * so beside the next invocation of the same process.
   */
  readonly signal?: AbortSignal;
};

export function callOptions({ signal }: InvocationBudget): Pick<CallOptions, "signal"> {
  return signal === undefined ? {} : { signal };
}
