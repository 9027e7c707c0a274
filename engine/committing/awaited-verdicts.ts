/**
 * Who waits for a verdict of the log, and when the log is looked at for them: one poller, whatever
 * their number.
 */
import type { Clock } from "../../core/ports.ts";
import type { TransactionId, Verdict } from "../../core/types.ts";
import { asError, ignore } from "../concurrency.ts";

export type PollOptions = {
  /** Shortest and longest pause between two polls while a caller waits for a decision. */
  readonly pollMsMin: number;
  readonly pollMsMax: number;
};

export type AwaitedIds = { has(id: TransactionId): boolean };

type Waiter = {
  readonly sinceMs: number;
  /** How long after `sinceMs` the last refresh began that did not bring the verdict. */
  missedMs: number | undefined;
  readonly resolve: (verdict: Verdict) => void;
};

export class AwaitedVerdicts implements AwaitedIds {
  readonly #clock: Clock;
  readonly #options: PollOptions;
  readonly #refresh: () => Promise<void>;
  readonly #waiters = new Map<TransactionId, Set<Waiter>>();
  #polling = false;
  #napping: { readonly wake: AbortController; readonly untilMs: number } | undefined;
  #closed = false;
  /**
   * When to look for a verdict first, after its request is sent: where a look or two most often
   * suffice.
   */
  #firstPollMs = 10;
  /**
   * What the last refresh took. Polling pauses as long, so that a busy process does not poll all
   * the time.
   */
  #refreshMs = 0;

  constructor(clock: Clock, options: PollOptions, refresh: () => Promise<void>) {
    this.#clock = clock;
    this.#options = options;
    this.#refresh = refresh;
  }

  has(id: TransactionId): boolean {
    return this.#waiters.has(id);
  }

  /** The next verdict on an id. Polls while anybody waits. `signal` ends the wait. */
  async next(id: TransactionId, signal: AbortSignal): Promise<Verdict> {
    signal.throwIfAborted();
    return new Promise<Verdict>((resolve, reject) => {
      const sinceMs = this.#clock.monotonicMs();
      const waiter: Waiter = { sinceMs, missedMs: undefined, resolve: settle };
      const waiters = this.#waiters.get(id) ?? new Set();
      const abort = (): void => {
        waiters.delete(waiter);
        if (waiters.size === 0 && this.#waiters.get(id) === waiters) this.#waiters.delete(id);
        reject(asError(signal.reason));
      };
      function settle(found: Verdict): void {
        signal.removeEventListener("abort", abort);
        resolve(found);
      }
      signal.addEventListener("abort", abort, { once: true });
      waiters.add(waiter);
      this.#waiters.set(id, waiters);
      if (!this.#polling) void this.#poll();
      else this.#shortenNap();
    });
  }

  /** The log has this verdict. */
  tell(verdict: Verdict): void {
    const waiters = this.#waiters.get(verdict.id);
    if (waiters === undefined) return;
    this.#waiters.delete(verdict.id);
    for (const waiter of waiters) {
      this.#learnDelay(waiter);
      waiter.resolve(verdict);
    }
  }

  /** The log may hold the verdicts where nobody here has looked. */
  tellStale(): void {
    for (const [id, waiters] of this.#waiters) {
      for (const waiter of waiters) waiter.resolve({ kind: "stale", id });
    }
    this.#waiters.clear();
  }

  /** A refresh has ended that began at `beganMs`, monotonic. */
  looked(beganMs: number): void {
    this.#refreshMs = this.#clock.monotonicMs() - beganMs;
    for (const waiters of this.#waiters.values()) {
      for (const waiter of waiters) {
        if (beganMs >= waiter.sinceMs) waiter.missedMs = beganMs - waiter.sinceMs;
      }
    }
  }

  /**
   * The first look at its time found the verdict: it may have been there long before, so look
   * earlier next time; but not so early as others have looked in vain, who came along meanwhile for
   * reasons of their own. Looks after the first one were in vain: look later. How long the verdict
   * took in all must not count, since that contains the wait for the first look, and a guess that
   * feeds on itself never shrinks.
   */
  #learnDelay({ missedMs = 0 }: Waiter): void {
    const guessMs = this.#firstPollMs;
    if (missedMs > guessMs) this.#firstPollMs = guessMs + 0.2 * (missedMs - guessMs);
    else this.#firstPollMs = Math.max(0.9 * guessMs, missedMs);
    this.#firstPollMs = Math.min(this.#firstPollMs, this.#options.pollMsMax);
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    let failures = 0;
    try {
      while (this.#waiters.size > 0 && !this.#closed) {
        await this.#nap(this.#pauseMs(failures));
        if (this.#waiters.size === 0) break;
        try {
          await this.#refresh();
          failures = 0;
        } catch {
          // Every caller has a deadline; a log that cannot be read now may be readable before it.
          failures += 1;
        }
      }
    } finally {
      this.#polling = false;
    }
  }

  async #nap(pauseMs: number): Promise<void> {
    const wake = new AbortController();
    this.#napping = { wake, untilMs: this.#clock.monotonicMs() + pauseMs };
    await this.#clock.sleep(pauseMs, wake.signal).catch(ignore);
    this.#napping = undefined;
  }

  /** A newcomer must not wait for the long pause that another's overdue verdict has earned. */
  #shortenNap(): void {
    const napping = this.#napping;
    if (napping === undefined) return;
    const dueMs = this.#clock.monotonicMs() + Math.max(this.#firstPollMs, this.#options.pollMsMin);
    if (napping.untilMs > dueMs) napping.wake.abort();
  }

  /**
   * Sleep until the first waiter's verdict is due, then look often; ever more rarely the longer it
   * is overdue.
   */
  #pauseMs(failures: number): number {
    const nowMs = this.#clock.monotonicMs();
    let dueMs = Number.POSITIVE_INFINITY;
    let waitedMs = Number.POSITIVE_INFINITY;
    for (const waiters of this.#waiters.values()) {
      for (const { sinceMs } of waiters) {
        dueMs = Math.min(dueMs, sinceMs + this.#firstPollMs - nowMs);
        waitedMs = Math.min(waitedMs, nowMs - sinceMs);
      }
    }
    const { pollMsMin, pollMsMax } = this.#options;
    const stepMs = Math.max(
      pollMsMin,
      0.1 * waitedMs,
      Math.min(this.#refreshMs, 20),
      failures > 0 ? 10 * 2 ** failures : 0,
    );
    return Math.min(Math.max(stepMs, dueMs), pollMsMax);
  }

  /** Ends the polling; waiters are left to their own signals. */
  close(): void {
    this.#closed = true;
  }
}
