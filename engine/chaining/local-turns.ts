/**
 * Transactions of one process that want the same contended item read it one after another, each
 * what the one before is about to write (chained-reads.ts): otherwise all would read the same
 * version, and all but one would run again.
 *
 * A turn is a courtesy, not a lock. Nothing relies on it; a taker that has waited long enough, or
 * would wait in a circle, goes on without. An item on which no conflict was met takes no turns.
 *
 * Who waits for whom is a graph that is looked through at every wait, so it has to be true at every
 * moment: a turn that is passed on ends its new holder's wait in that very step, not when the
 * holder's own code gets to run, and a taker that has ended waits for nothing and holds nothing.
 * Then nobody is ever part of a circle:
 *
 *   - a wait begins only where the way from holder to holder ends, elsewhere than at its taker;
 *   - a turn gets a new holder only from among its waiters, which waits for nothing from then on.
 */
import { assert } from "../../core/assert.ts";
import type { Clock } from "../../core/ports.ts";
import type { KeyHash } from "../../core/types.ts";
import * as limits from "../../core/limits.ts";
import { ignore, orAborted } from "../concurrency.ts";

type Turn = {
  holder: TurnTaker;
  readonly waiting: Set<Wait>;
  /** Called when it is passed on to nobody. */
  readonly onFree: (() => void)[];
};

type Wait = {
  readonly taker: TurnTaker;
  readonly hash: KeyHash;
  readonly turn: Turn;
  readonly stop: () => void;
};

/** One attempt's turns. */
export class TurnTaker {
  readonly held = new Set<KeyHash>();
  waitsFor: Wait | undefined;
  hasEnded = false;
  /** Monotonic time at which the call of which it is an attempt began. */
  readonly sinceMs: number;

  constructor(sinceMs: number) {
    this.sinceMs = sinceMs;
  }
}

export class LocalTurns {
  readonly #clock: Clock;
  readonly #turns = new Map<KeyHash, Turn>();
  /**
   * Items on which a conflict was met lately, with the monotonic time of the last; oldest first.
   */
  readonly #contended = new Map<KeyHash, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether nobody holds a turn: so it must be once every attempt has ended. */
  get isIdle(): boolean {
    return this.#turns.size === 0;
  }

  isHeld(hash: KeyHash): boolean {
    return this.#turns.has(hash);
  }

  /** Resolves when nobody holds a turn there. */
  async free(hash: KeyHash): Promise<void> {
    const turn = this.#turns.get(hash);
    if (turn !== undefined) await new Promise<void>((resolve) => turn.onFree.push(resolve));
  }

  /** Notes a conflict on the item. */
  mark(hash: KeyHash): void {
    this.#contended.delete(hash);
    this.#contended.set(hash, this.#clock.monotonicMs());
    if (this.#contended.size <= limits.contendedKeysMax) return;
    for (const oldest of this.#contended.keys()) {
      this.#contended.delete(oldest);
      break;
    }
  }

  isContended(hash: KeyHash): boolean {
    if (this.#turns.has(hash)) return true;
    const markedMs = this.#contended.get(hash);
    if (markedMs === undefined) return false;
    if (this.#clock.monotonicMs() - markedMs <= limits.contendedMsMax) return true;
    this.#contended.delete(hash);
    return false;
  }

  /** Resolves when it is the taker's turn, or when it is of no use to wait for it. */
  async take(taker: TurnTaker, hash: KeyHash, signal: AbortSignal | undefined): Promise<void> {
    if (taker.hasEnded || taker.held.has(hash)) return;
    const turn = this.#turns.get(hash);
    if (turn === undefined) {
      this.#turns.set(hash, { holder: taker, waiting: new Set(), onFree: [] });
      taker.held.add(hash);
      return;
    }
    // One wait at a time: reads of one transaction side by side do not queue for several turns.
    if (taker.waitsFor !== undefined || !leadsElsewhere(turn, taker)) {
      // probe: turn-not-waited-for
      return;
    }
    await this.#wait(taker, { hash, turn, signal });
  }

  async #wait(
    taker: TurnTaker,
    {
      hash,
      turn,
      signal,
    }: {
      readonly hash: KeyHash;
      readonly turn: Turn;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<void> {
    let stop: () => void = ignore;
    const called = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const wait: Wait = { taker, hash, turn, stop };
    taker.waitsFor = wait;
    turn.waiting.add(wait);
    const over = new AbortController();
    const patience = this.#clock.sleep(limits.turnWaitMsMax, over.signal).catch(ignore);
    try {
      await orAborted(Promise.race([called, patience]), signal);
    } finally {
      over.abort();
      leave(wait);
    }
  }

  /** Passes all the taker's turns on, and gives it none any more. */
  end(taker: TurnTaker): void {
    taker.hasEnded = true;
    if (taker.waitsFor !== undefined) leave(taker.waitsFor);
    // mutant: turns-kept
    for (const hash of taker.held) this.#passOn(hash);
    taker.held.clear();
  }

  #passOn(hash: KeyHash): void {
    const turn = this.#turns.get(hash);
    assert(turn !== undefined, "a turn is there as long as it is held");
    const next = longestUnderWay(turn.waiting);
    if (next === undefined) {
      this.#turns.delete(hash);
      for (const free of turn.onFree) free();
      return;
    }
    leave(next);
    turn.holder = next.taker;
    next.taker.held.add(hash);
  }
}

/**
 * Conflicts have made its call run again and again, most likely, and its deadline is the nearest.
 * In the order of coming it would stand behind all who have just begun, after each conflict anew.
 */
function longestUnderWay(waiting: Iterable<Wait>): Wait | undefined {
  let first: Wait | undefined;
  for (const wait of waiting) {
    if (first === undefined || wait.taker.sinceMs < first.taker.sinceMs) first = wait;
  }
  return first;
}

/** The wait is over, however it ends; of no effect when it was over before. */
function leave(wait: Wait): void {
  wait.turn.waiting.delete(wait);
  // The taker may wait for something else by now.
  if (wait.taker.waitsFor === wait) wait.taker.waitsFor = undefined;
  wait.stop();
}

/**
 * Whether the way from holder to holder ends, and not at the taker. A way that is longer than a
 * courtesy deserves is not followed to its end.
 */
function leadsElsewhere(turn: Turn, taker: TurnTaker): boolean {
  let { holder } = turn;
  for (let steps = 0; steps < limits.turnChainMax; steps += 1) {
    if (holder === taker) return false;
    if (holder.waitsFor === undefined) return true;
    ({ holder } = holder.waitsFor.turn);
  }
  return false;
}
