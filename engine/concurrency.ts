/**
 * Small tools for promises: a bounded number at once, and giving up on one without cancelling it.
 */
import { assert } from "../core/assert.ts";

/** At most `max` tasks at once; the others wait their turn in order. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(max: number) {
    assert(max >= 1, "a semaphore admits at least one");
    this.#free = max;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      // The place is handed over, not freed: a newcomer must not overtake those who wait.
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/**
 * The promise's result, or the signal's reason as soon as it aborts. The promise itself goes on.
 */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => {
      reject(asError(signal.reason));
    };
    if (signal.aborted) {
      promise.catch(ignore);
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", abort);
    });
  });
}

/**
 * Lets a signal abort the controller, too, until what this returns is called. Not by
 * `AbortSignal.any`: a signal that lives long keeps something of each that ever followed it so, and
 * Node itself keeps each that somebody listens to, with all that waits for it, for as long as it is
 * not aborted. Whoever stops half-way, as a process that crashes in a simulation, never does that.
 */
export function follow(controller: AbortController, signal: AbortSignal): () => void {
  const abort = (): void => {
    controller.abort(signal.reason);
  };
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return () => {
    signal.removeEventListener("abort", abort);
  };
}

/**
 * Why a wait is given up that nobody needs any more. One for all: nobody reads it, and an error's
 * stack takes time.
 */
export const noLongerNeeded = new Error("no longer needed");

export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** For a promise whose failure is reported elsewhere. */
export function ignore(): void {
  return undefined;
}
