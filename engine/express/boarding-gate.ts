/**
 * Where commits wait for the next block while it cannot be put yet: until they are called they stay
 * open for others of their process that chain themselves to them (docs/protocol.md §9). Those who
 * would have had a block each, one after another, stand in one.
 */
import { asError, ignore } from "../concurrency.ts";

export class BoardingGate {
  readonly #waiting = new Set<(leave: () => void) => void>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /**
   * Resolves when the next block is about to be made, with what to call once the caller has made
   * its bid, or has given up: the block waits for that.
   */
  wait(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const called = (leave: () => void): void => {
        signal.removeEventListener("abort", abort);
        resolve(leave);
      };
      const abort = (): void => {
        this.#waiting.delete(called);
        reject(asError(signal.reason));
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#waiting.add(called);
    });
  }

  /** Calls all who wait; resolves when each of them has left. */
  async call(): Promise<void> {
    const calls = Array.from(this.#waiting, (called) => new Promise<void>(called));
    this.#waiting.clear();
    await Promise.all(calls);
  }

  /** No block is made: all who wait go on, and nobody waits for them. */
  open(): void {
    for (const called of this.#waiting) called(ignore);
    this.#waiting.clear();
  }
}
