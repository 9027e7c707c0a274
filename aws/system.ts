/** What a machine gives, as ports: its clock and its randomness. */
import * as limits from "../core/limits.ts";
import type { Clock, Random } from "../core/ports.ts";

/** Wall-clock time never orders commits (docs/protocol.md §2). */
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

/** Cheap numbers for jitter, strong bytes for identifiers. */
export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => {
    const bytes = new Uint8Array(length);
    for (let start = 0; start < length; start += limits.randomBytesPerCallMax) {
      globalThis.crypto.getRandomValues(
        bytes.subarray(start, start + limits.randomBytesPerCallMax),
      );
    }
    return bytes;
  },
};

/** Standard output, where Lambda finds lines for its log, as they are. */
export function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
