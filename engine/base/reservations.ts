/**
 * Whose reservation of an item stands, and for how long who meets one waits for it. It says who has
 * made it, and until when by his clock; no other machine goes by that moment. Whoever meets it
 * measures by a clock of his own, from when he first saw it so: one that is not renewed is over
 * once it has stood unchanged for as long as it lasts, wherever it is looked at.
 *
 *     reserver    renews ──────▶ renews ──────▶ dies
 *     who meets       sees ────────▶ sees anew ─────── baseReserveMs ──────▶ over
 *
 * The moment alone tells what is so far away that no two honest clocks can be that far apart.
 */
import * as limits from "../../core/limits.ts";
import type { Clock } from "../../core/ports.ts";
import { placeName, type LockPlace, type Reservation } from "./saline-locks.ts";

/** Two clients' clocks may be wrong in opposite directions. */
const clockMarginMs = 2 * limits.clientClockErrorMsMax;

type Seen = { readonly by: string; readonly untilMs: number; readonly sinceMs: number };

/** Those that one process has seen. */
export class SeenReservations {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the item is to be left alone by others. */
  stands(at: LockPlace, { by, untilMs }: Reservation): boolean {
    if (untilMs === 0) return false;
    const apartMs = untilMs - this.#clock.nowMs();
    if (apartMs < -clockMarginMs || apartMs > limits.baseReserveMs + clockMarginMs) return false;
    const nowMs = this.#clock.monotonicMs();
    const place = placeName(at);
    const seen = this.#seen.get(place);
    if (seen?.by === by && seen.untilMs === untilMs) {
      return nowMs - seen.sinceMs < limits.baseReserveMs;
    }
    this.#seen.delete(place);
    this.#seen.set(place, { by, untilMs, sinceMs: nowMs });
    // What is forgotten is waited for once more.
    for (const first of this.#seen.keys()) {
      if (this.#seen.size <= limits.baseReservationsSeenMax) break;
      this.#seen.delete(first);
    }
    return true;
  }
}

/**
 * How long one step waits: for each that has reserved items on his own, so that nobody loses them
 * to a step that has waited for others; and in all, so that the step gets on.
 */
export class Patience {
  readonly #clock: Clock;
  readonly #beganMs: number;
  readonly #metMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
  }

  waitsFor(by: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#beganMs >= limits.baseStepPatienceInAllMs) return false;
    const metMs = this.#metMs.get(by) ?? nowMs;
    this.#metMs.set(by, metMs);
    return nowMs - metMs < limits.baseStepPatienceMs;
  }
}
