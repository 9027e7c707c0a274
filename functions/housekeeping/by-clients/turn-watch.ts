/**
 * Whose turn it is to keep house, as one of many clients sees it. The control table holds the
 * newest turn; who finds it unchanged for long enough takes the next one, by a conditional put.
 * Each measures by its own monotonic clock from when it first saw the turn, so nobody's wall clock
 * counts. Turns bound work and nothing else: two at once do the same work twice, safely.
 *
 *   over, of another   taken after a pause
 *   over, of mine      taken after three times that: others who live come first, although they
 *                      may have slept through a pause before they saw it end
 *   under way          taken after the longest that its holder may work, and more: it has died
 */
import * as limits from "../../../core/limits.ts";
import type { HouseTurn } from "../../../core/ports.ts";

/** Between a turn's end and the next; chance adds up to half. */
export const housePauseMs = 10_000;

export class TurnWatch {
  readonly #random: () => number;
  #seen: HouseTurn | undefined;
  /** Monotonic. */
  #dueMs = 0;
  #mine: number | undefined;

  /** @param random uniform in [0, 1). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Milliseconds until the next turn may be taken, if nobody else takes it; 0: now. */
  restMs(stored: HouseTurn | undefined, monotonicMs: number): number {
    if (stored === undefined) return 0;
    if (this.#seen?.turn !== stored.turn || this.#seen.isOver !== stored.isOver) {
      this.#seen = stored;
      this.#dueMs = monotonicMs + this.#patienceMs(stored);
    }
    return Math.max(0, this.#dueMs - monotonicMs);
  }

  took(turn: number): void {
    this.#mine = turn;
  }

  /** Random, so that many who have seen the same do not all come at once. */
  #patienceMs({ turn, isOver }: HouseTurn): number {
    const lucky = 1 + this.#random() / 2;
    // mutant: house-left-to-the-dead
    if (!isOver) return limits.houseTurnMsMax * 2 * lucky;
    return housePauseMs * (turn === this.#mine ? 3 : 1) * lucky;
  }
}
