/**
 * The store's clock, as far as the `Date` of its answers tells (docs/adr/0013-express-commit.md).
 * An answer that was sent for at `sentMs` and received at `receivedMs` was dated in between, in
 * whole seconds: so the store's clock is ahead of this one by at least `date − receivedMs`, and by
 * less than `date + 1 s − sentMs`. What several answers allow narrows that. The lower bound is
 * taken: a clock that is never ahead of the store's.
 *
 * Local times are monotonic, so that nobody who sets a clock moves this one. Drift widens the
 * bounds with age. An answer that contradicts them (a process that slept, a machine of the store
 * whose clock differs) begins anew.
 */
import * as limits from "../../core/limits.ts";
import type { DatedAnswer } from "../../core/ports.ts";

/** By how much the store's clock is ahead, as of a local moment: in `[lowMs, highMs)`. */
type Bounds = { readonly atMs: number; readonly lowMs: number; readonly highMs: number };

/** HTTP dates are cut to whole seconds. */
const resolutionMs = 1_000;
/**
 * Of two machines' clocks against each other: a quartz keeps to a tenth of it, and who sets a clock
 * by the network may let it gain or lose half of it until it is right.
 */
const driftRate = 0.001;

export class StoreClock {
  #bounds: Bounds | undefined;

  /** An answer that says nothing (no date, or one before it was sent for) is left out. */
  observe({ sentMs, receivedMs, dateMs }: DatedAnswer): void {
    if (!Number.isFinite(dateMs) || !(receivedMs >= sentMs)) return;
    const own = {
      atMs: receivedMs,
      lowMs: dateMs - receivedMs,
      highMs: dateMs + resolutionMs - sentMs,
    };
    const known = this.#at(receivedMs);
    if (known === undefined || own.lowMs >= known.highMs || own.highMs <= known.lowMs) {
      this.#bounds = own;
      return;
    }
    this.#bounds = {
      // An answer may be told after a later one.
      atMs: Math.max(receivedMs, known.atMs),
      lowMs: Math.max(own.lowMs, known.lowMs),
      highMs: Math.min(own.highMs, known.highMs),
    };
  }

  /**
   * Milliseconds since the epoch, not ahead of the store's clock; undefined where no answer was
   * dated, or none so that it is known within `limits.storeClockErrorMsMax`.
   */
  nowMs(monotonicMs: number): number | undefined {
    const bounds = this.#at(monotonicMs);
    if (bounds === undefined) return undefined;
    if (bounds.highMs - bounds.lowMs > limits.storeClockErrorMsMax) return undefined;
    // mutant: express-clock-ahead
    return monotonicMs + bounds.lowMs;
  }

  /** The bounds as they are by then. */
  #at(monotonicMs: number): Bounds | undefined {
    const bounds = this.#bounds;
    if (bounds === undefined) return undefined;
    const driftMs = driftRate * Math.max(0, monotonicMs - bounds.atMs);
    return {
      atMs: Math.max(monotonicMs, bounds.atMs),
      lowMs: bounds.lowMs - driftMs,
      highMs: bounds.highMs + driftMs,
    };
  }
}
