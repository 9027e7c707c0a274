/**
 * The two ways to put load on a contestant. *Closed*: each worker begins its next operation when
 * its last one has ended, so a slow store is asked less. *Open*: operations are due at a fixed rate
 * whatever the store does, and latency counts from when an operation was *due*, not from when a
 * worker was free for it (coordinated omission): a stall shows in every operation that it delayed.
 */
export type Loop =
  | { readonly kind: "closed" }
  | { readonly kind: "open"; readonly ratePerSecond: number };

export type LoadClock = {
  /** Of a clock that never goes back. */
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
};

export type Load<Operated> = {
  readonly loop: Loop;
  readonly workers: number;
  readonly durationMs: number;
  /**
   * Closed loop: a worker ends after so many operations, however long they take; undefined: after
   * `durationMs`.
   */
  readonly operationsEach?: number | undefined;
  readonly clock: LoadClock;
  /** One operation, by the worker of that index; must not reject unless all is to end. */
  readonly operate: (worker: number) => Promise<Operated>;
  readonly record: (operated: Operated, latencyMs: number) => void;
};

export type LoadReport = {
  readonly elapsedMs: number;
  /** Open loop: operations that were due and never begun, since the workers were too far behind. */
  readonly unstarted: number;
};

/**
 * After the last operation was due, an open loop is given so much of its duration again to catch
 * up.
 */
const catchUpShare = 0.5;

export async function runLoad<Operated>(load: Load<Operated>): Promise<LoadReport> {
  const { loop, workers, clock } = load;
  const startMs = clock.nowMs();
  const arrivals =
    loop.kind === "open" ? new Arrivals(load, loop.ratePerSecond, startMs) : undefined;
  const work = async (worker: number): Promise<void> => {
    await (arrivals === undefined ? closed(load, worker, startMs) : arrivals.work(worker));
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  return { elapsedMs: clock.nowMs() - startMs, unstarted: arrivals?.unstarted ?? 0 };
}

async function closed<Operated>(
  { clock, durationMs, operationsEach, operate, record }: Load<Operated>,
  worker: number,
  startMs: number,
): Promise<void> {
  let beganMs = startMs;
  for (let count = 0; ; count += 1) {
    const done =
      operationsEach === undefined ? beganMs - startMs >= durationMs : count >= operationsEach;
    if (done) return;
    const operated = await operate(worker);
    const endMs = clock.nowMs();
    record(operated, endMs - beganMs);
    beganMs = endMs;
  }
}

/** Operations at even distances; whichever worker is free takes the next. */
class Arrivals<Operated> {
  readonly #load: Load<Operated>;
  readonly #startMs: number;
  readonly #intervalMs: number;
  readonly #count: number;
  #next = 0;

  constructor(load: Load<Operated>, ratePerSecond: number, startMs: number) {
    this.#load = load;
    this.#startMs = startMs;
    this.#intervalMs = 1_000 / ratePerSecond;
    this.#count = Math.floor(load.durationMs / this.#intervalMs);
  }

  get unstarted(): number {
    return this.#count - this.#next;
  }

  async work(worker: number): Promise<void> {
    const { clock, durationMs, operate, record } = this.#load;
    const giveUpMs = this.#startMs + durationMs * (1 + catchUpShare);
    while (this.#next < this.#count && clock.nowMs() < giveUpMs) {
      const dueMs = this.#startMs + this.#next * this.#intervalMs;
      this.#next += 1;
      const waitMs = dueMs - clock.nowMs();
      if (waitMs > 0) await clock.sleep(waitMs);
      const operated = await operate(worker);
      record(operated, clock.nowMs() - dueMs);
    }
  }
}
