/**
 * The newest events of the live stream, numbered, for all who watch. Each watcher has a place in it
 * and no queue of its own: who reads slowly costs nothing, and once what it has not read is gone it
 * begins anew. Pure but for waiting.
 */
import * as limits from "../limits.ts";

export type RingEvent = { readonly number: number; readonly data: string };

export class EventRing {
  /** Tells this run's numbers from those of another. */
  readonly #run: string;
  #events: RingEvent[] = [];
  #bytes = 0;
  #next = 1;
  #wake: (() => void)[] = [];

  constructor(run: string) {
    this.#run = run;
  }

  /** @param data of one line. */
  push(data: string): void {
    this.#events.push({ number: this.#next, data });
    this.#next += 1;
    this.#bytes += data.length;
    let dropped = 0;
    while (
      this.#events.length - dropped > limits.eventsKept ||
      this.#bytes > limits.eventBytesKept
    ) {
      this.#bytes -= this.#events[dropped]?.data.length ?? 0;
      dropped += 1;
    }
    if (dropped > 0) this.#events = this.#events.slice(dropped);
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** The number of the newest event; 0: there was none. */
  get newest(): number {
    return this.#next - 1;
  }

  /** As the stream names its events. */
  idOf(number: number): string {
    return `${this.#run}-${number}`;
  }

  /** Undefined: it is none of this run's. */
  numberOf(id: string | undefined): number | undefined {
    const [, run, digits] = /^(.+)-(\d{1,15})$/.exec(id ?? "") ?? [];
    const number = Number(digits);
    return run === this.#run && number <= this.newest ? number : undefined;
  }

  /** What came after that one; undefined: some of it is gone. */
  after(number: number): readonly RingEvent[] | undefined {
    if (number >= this.newest) return [];
    const [oldest] = this.#events;
    if (oldest === undefined || oldest.number > number + 1) return undefined;
    return this.#events.slice(number + 1 - oldest.number);
  }

  /** Resolves when something is there after that one, or the signal is aborted. */
  async changed(after: number, signal: AbortSignal): Promise<void> {
    if (this.newest > after || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const stop = (): void => {
        this.#wake = this.#wake.filter((each) => each !== done);
        done();
      };
      signal.addEventListener("abort", stop, { once: true });
      this.#wake.push(done);
    });
  }
}
