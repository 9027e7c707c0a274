/**
 * Capped exponential backoff with full jitter, the one way in which anything here waits and tries
 * again.
 */
import type { Clock, Random } from "../core/ports.ts";

export type Backoff = { readonly baseMs: number; readonly capMs: number };

/** Uniform in `[0, min(cap, base · 2^attempt))`; `attempt` counts from 0. */
function backoffMs(backoff: Backoff, attempt: number, random: Random): number {
  const ceiling = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(attempt, 30));
  return random.next() * ceiling;
}

export async function waitBackoff(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  wait: {
    readonly backoff: Backoff;
    readonly attempt: number;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<void> {
  await clock.sleep(backoffMs(wait.backoff, wait.attempt, random), wait.signal);
}
