/**
 * How long ago something was, for code that relies on what it knew then. The monotonic clock stands
 * still while a machine sleeps, and the wall clock may be set: the one that shows more is believed.
 */
import type { Clock } from "../core/ports.ts";

type WallAndMonotonic = Pick<Clock, "nowMs" | "monotonicMs">;
export type Instant = { readonly monotonicMs: number; readonly wallMs: number };

export function instantOf(clock: WallAndMonotonic): Instant {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
}

/** Infinite for what never was. */
export function elapsedMs(clock: WallAndMonotonic, since: Instant | undefined): number {
  if (since === undefined) return Infinity;
  return Math.max(clock.monotonicMs() - since.monotonicMs, clock.nowMs() - since.wallMs);
}
