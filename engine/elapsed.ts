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

/** More than by which two clocks of one machine drift apart between two looks. */
const sleepMsMin = 1_000;

/**
 * The monotonic clock, and what the machine has slept: for what is left alone for some seconds.
 * Never runs back; a wall clock that is set ahead counts as a sleep.
 */
export class WakefulClock {
  readonly #clock: WallAndMonotonic;
  #last: Instant;
  #sleptMs = 0;

  constructor(clock: WallAndMonotonic) {
    this.#clock = clock;
    this.#last = instantOf(clock);
  }

  nowMs(): number {
    const now = instantOf(this.#clock);
    const { wallMs, monotonicMs } = this.#last;
    this.#last = now;
    const sleptMs = now.wallMs - wallMs - (now.monotonicMs - monotonicMs);
    if (sleptMs > sleepMsMin) this.#sleptMs += sleptMs;
    return now.monotonicMs + this.#sleptMs;
  }
}
