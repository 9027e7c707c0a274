/**
 * Virtual time: a queue of events, run one at a time in the order of their moments, each after all
 * consequences of the one before have run. Time stands still while code runs and jumps to the next
 * event when all of it waits, so hours pass in seconds, and a run is a function of its seed.
 *
 * Code under simulation may use promises freely. It must not wait for anything that is outside this
 * queue: real timers, sockets, files, worker threads.
 */
import { microtasksDone } from "./macrotask.ts";

/** Cancels an event; nothing happens if it has run. */
export type Cancel = () => void;

type Event = { readonly at: number; readonly order: number; run: (() => void) | undefined };

/** Nothing is left that could ever wake the code that is waited for. */
export class DeadlockError extends Error {
  override readonly name = "DeadlockError";
}

/** The body took longer, in virtual time, than it was given. */
export class VirtualTimeoutError extends Error {
  override readonly name = "VirtualTimeoutError";
}

/**
 * More happened than was allowed for: most likely something tries again and again, in no time or in
 * hardly any.
 */
export class TooManyEventsError extends Error {
  override readonly name = "TooManyEventsError";
}

export class VirtualTime {
  #now: number;
  #order = 0;
  #events = 0;
  #eventsMax = Number.POSITIVE_INFINITY;
  readonly #heap: Event[] = [];
  #running = false;
  #runs = 0;

  /** @param startMs milliseconds since the epoch at which time begins. */
  constructor(startMs: number) {
    this.#now = startMs;
  }

  /** Milliseconds since the epoch, with a fraction. */
  get nowMs(): number {
    return this.#now;
  }

  /** Whether a `runUntil` is under way, so that what waits will be woken. */
  get isRunning(): boolean {
    return this.#running;
  }

  /** How often time has begun to pass. */
  get runs(): number {
    return this.#runs;
  }

  /** Events run so far. */
  get eventCount(): number {
    return this.#events;
  }

  /**
   * Allows for so many events in all. What livelocks is found so in every run alike, however fast
   * the machine is; by real time it could be told from nothing that merely takes long.
   */
  limitEvents(max: number): void {
    this.#eventsMax = max;
  }

  /**
   * Runs `run` after `delayMs` of virtual time. Events of the same moment run in the order of their
   * making.
   */
  after(delayMs: number, run: () => void): Cancel {
    const event: Event = { at: this.#now + Math.max(0, delayMs), order: this.#order, run };
    this.#order += 1;
    this.#push(event);
    return () => {
      event.run = undefined;
    };
  }

  /** A pause of the simulation itself, which no fault touches. */
  sleep(durationMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(durationMs, resolve);
    });
  }

  /**
   * Lets time pass until the promise is settled, and returns what it resolves to.
   * @throws DeadlockError when nothing is left to happen; VirtualTimeoutError after `limitMs`;
   *   TooManyEventsError beyond what `limitEvents` has allowed for.
   */
  async runUntil<Result>(promise: Promise<Result>, limitMs: number): Promise<Result> {
    if (this.#running) throw new Error("virtual time is running already: `run` does not nest");
    this.#running = true;
    this.#runs += 1;
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    const until = this.#now + limitMs;
    try {
      for (;;) {
        await microtasksDone();
        if (settled as boolean) return await promise;
        const event = this.#pop();
        if (event === undefined) {
          throw new DeadlockError("everything waits and no event is left that could wake it");
        }
        if (event.at > until) {
          this.#push(event);
          throw new VirtualTimeoutError(`not done within ${limitMs.toString()} ms of virtual time`);
        }
        if (this.#events >= this.#eventsMax) {
          this.#push(event);
          const so = `${this.#events.toString()} events, and not done`;
          throw new TooManyEventsError(`${so}: something goes on without end`);
        }
        this.#now = event.at;
        this.#events += 1;
        event.run?.();
      }
    } finally {
      this.#running = false;
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(event, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    for (;;) {
      const top = this.#takeTop();
      if (top === undefined || top.run !== undefined) return top;
    }
  }

  #takeTop(): Event | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const leftChild = heap[left];
      if (leftChild === undefined) break;
      const rightChild = heap[left + 1];
      const right = rightChild !== undefined && isBefore(rightChild, leftChild);
      const child = right ? rightChild : leftChild;
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = right ? left + 1 : left;
    }
    heap[at] = last;
    return top;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
