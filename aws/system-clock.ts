/** The machine's clock as a port. Wall-clock time never orders commits (docs/protocol.md §2). */
import type { Clock } from "../core/ports.ts";

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (durationMs, signal) =>
    new Promise((resolve, reject) => {
      const fail = (): void => {
        clearTimeout(timer);
        // A rejection carries an Error: a reason that is none becomes the cause of one.
        reject(reasonOf(signal));
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", fail);
          resolve();
        },
        Math.max(0, durationMs),
      );
      if (signal === undefined) return;
      if (signal.aborted) fail();
      else signal.addEventListener("abort", fail, { once: true });
    }),
};

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error("aborted", { cause: reason });
}
