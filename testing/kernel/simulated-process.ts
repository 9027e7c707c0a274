/**
 * A process of the simulated world: an application server, or one instance of a function. It meets
 * the world only through what is delivered to it (answers to its calls, ends of its pauses), so the
 * simulator can stop it at any await, for a while or for good, and its code cannot tell. Between
 * two deliveries its code has no effect on anything outside, so stopping at deliveries is stopping
 * anywhere.
 */
import type { Clock } from "../../core/ports.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { VirtualTime } from "./virtual-time.ts";

export type ClockError = {
  /** Added to the wall clock. */
  readonly offsetMs: number;
  /** Seconds gained per second. */
  readonly drift: number;
};

export const exactClock: ClockError = { offsetMs: 0, drift: 0 };

/** Moments that lie closer together are the same: sums of fractions are not exact. */
const clockStepMs = 0.001;

export class SimulatedProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly random: SeededRandom;
  /** An instance of a function, and no client. */
  readonly isAws: boolean;
  readonly #time: VirtualTime;
  #state: "running" | "frozen" | "dead" = "running";
  /** Deliveries that wait for the end of a freeze. */
  #held: (() => void)[] = [];
  #thawing: (() => void) | undefined;
  /** Since when the machine is suspended, and how long it has been before. */
  #suspendedAtMs: number | undefined;
  #suspendedMs = 0;
  readonly #onCrash: (() => void)[] = [];

  constructor(parts: {
    readonly name: string;
    readonly time: VirtualTime;
    readonly random: SeededRandom;
    readonly clockError: ClockError;
    /** Default false. */
    readonly isAws?: boolean;
  }) {
    this.name = parts.name;
    this.isAws = parts.isAws ?? false;
    this.random = parts.random;
    this.#time = parts.time;
    this.clock = this.#clockWith(parts.clockError);
  }

  get state(): "running" | "frozen" | "dead" {
    return this.#state;
  }

  /** Lets `react` run in the process: now, at the end of its freeze, or never. */
  deliver(react: () => void): void {
    if (this.#state === "running") react();
    else if (this.#state === "frozen") this.#held.push(react);
  }

  /** The process stops for good; what waits in it waits for ever. */
  crash(): void {
    if (this.#state === "dead") return;
    this.#state = "dead";
    this.#held = [];
    this.#thawing?.();
    for (const react of this.#onCrash.splice(0)) react();
  }

  /** @param react runs outside of the process, when it crashes. */
  onCrash(react: () => void): void {
    if (this.#state === "dead") react();
    else this.#onCrash.push(react);
  }

  /**
   * Until `thaw`, or for a time. Freezing a frozen process anew sets the new end.
   * @param clocks `stand`: as on a suspended machine, timers and the monotonic clock stand still
   * meanwhile.
   */
  freeze(durationMs?: number, clocks: "run" | "stand" = "run"): void {
    if (this.#state === "dead") return;
    this.#state = "frozen";
    if (clocks === "stand") this.#suspendedAtMs ??= this.#time.nowMs;
    this.#thawing?.();
    this.#thawing = undefined;
    if (durationMs === undefined) return;
    this.#thawing = this.#time.after(durationMs, () => {
      this.thaw();
    });
  }

  /** What was held runs now, in the order in which it came. */
  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#state = "running";
    if (this.#suspendedAtMs !== undefined) {
      this.#suspendedMs += this.#time.nowMs - this.#suspendedAtMs;
      this.#suspendedAtMs = undefined;
    }
    this.#thawing?.();
    this.#thawing = undefined;
    const held = this.#held;
    this.#held = [];
    // One event each, since each may freeze or end the process again.
    for (const react of held) {
      this.#time.after(0, () => {
        this.deliver(react);
      });
    }
  }

  #clockWith({ offsetMs, drift }: ClockError): Clock {
    const time = this.#time;
    const startMs = time.nowMs;
    const elapsedMs = (): number => (time.nowMs - startMs) * (1 + drift);
    return {
      nowMs: () => Math.floor(startMs + offsetMs + elapsedMs()),
      monotonicMs: () => elapsedMs() - this.#suspendedMs * (1 + drift),
      sleep: (durationMs, signal) => this.#sleep(durationMs / (1 + drift), signal),
    };
  }

  #sleep(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(reasonOf(signal));
        return;
      }
      let cancel: () => void = () => undefined;
      const fail = (): void => {
        cancel();
        reject(reasonOf(signal));
      };
      const beganMs = this.#time.nowMs;
      const suspendedBeforeMs = this.#suspendedMs;
      const wait = (restMs: number): void => {
        cancel = this.#time.after(restMs, () => {
          this.deliver(() => {
            // What the machine slept since does not count.
            const endMs = beganMs + durationMs + this.#suspendedMs - suspendedBeforeMs;
            const leftMs = endMs - this.#time.nowMs;
            if (leftMs > clockStepMs) {
              wait(leftMs);
              return;
            }
            signal?.removeEventListener("abort", fail);
            resolve();
          });
        });
      };
      wait(durationMs);
      signal?.addEventListener("abort", fail, { once: true });
    });
  }
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error("aborted", { cause: reason });
}
