/**
 * Transactions of one process that want the same contended item read it one after another, each
 * what the one before is about to write (chained-reads.ts): otherwise all would read the same
 * version, and all but one would run again.
 *
 * A turn is a courtesy, not a lock. Nothing relies on it; whoever has waited long enough, or would
 * wait in a circle, goes on without. An item that nobody has met a conflict on takes no turns at
 * all.
 */
import type { Clock } from "../../core/ports.ts";
import type { KeyHash } from "../../core/types.ts";
import * as limits from "../../core/limits.ts";
import { ignore, orAborted } from "../concurrency.ts";

/** One attempt's turns. */
export type TurnTaker = {
  readonly held: Set<KeyHash>;
  waitsFor: KeyHash | undefined;
};

type Turn = { holder: TurnTaker; readonly waiting: { taker: TurnTaker; go: () => void }[] };

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
    if (taker.held.has(hash)) return;
    const turn = this.#turns.get(hash);
    if (turn === undefined) {
      this.#turns.set(hash, { holder: taker, waiting: [] });
      taker.held.add(hash);
      return;
    }
    // One wait at a time: reads of one transaction side by side do not queue for several turns.
    if (taker.waitsFor !== undefined || this.#isCircle(taker, turn)) {
      // probe: turn-not-waited-for
      return;
    }
    await this.#wait(taker, { hash, turn, signal });
  }

  #isCircle(taker: TurnTaker, turn: Turn): boolean {
    for (let holder = turn.holder; ;) {
      if (holder === taker) return true;
      const next = holder.waitsFor === undefined ? undefined : this.#turns.get(holder.waitsFor);
      if (next === undefined) return false;
      holder = next.holder;
    }
  }

  async #wait(
    taker: TurnTaker,
    wait: {
      readonly hash: KeyHash;
      readonly turn: Turn;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<void> {
    const { hash, turn, signal } = wait;
    taker.waitsFor = hash;
    const ended = new AbortController();
    const entry = { taker, go: ignore };
    const called = new Promise<void>((resolve) => {
      entry.go = resolve;
    });
    turn.waiting.push(entry);
    const patience = this.#clock.sleep(limits.turnWaitMsMax, ended.signal).catch(ignore);
    try {
      await orAborted(Promise.race([called, patience]), signal);
    } finally {
      taker.waitsFor = undefined;
      ended.abort();
      const at = turn.waiting.indexOf(entry);
      // Whoever gives up leaves the queue; whoever was called has left it already.
      if (at >= 0) turn.waiting.splice(at, 1);
    }
  }

  /** Passes all the taker's turns on. */
  release(taker: TurnTaker): void {
    for (const hash of taker.held) {
      const turn = this.#turns.get(hash);
      const next = turn?.waiting.shift();
      if (turn === undefined || next === undefined) {
        this.#turns.delete(hash);
        continue;
      }
      turn.holder = next.taker;
      next.taker.held.add(hash);
      next.go();
    }
    taker.held.clear();
  }
}
