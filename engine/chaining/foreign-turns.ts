/**
 * Lets other processes go first where it is their turn (courtesy.ts): before a transaction reads a
 * contended item, so that it does not read in vain, and before a group is sent. While anybody
 * waits, the tail is kept up to date: the others' commits show there.
 */
import { isDecision } from "../../core/decision.ts";
import * as limits from "../../core/limits.ts";
import type { Clock } from "../../core/ports.ts";
import type { KeyHash, TransactionId, Verdict } from "../../core/types.ts";
import { ignore, orAborted } from "../concurrency.ts";
import { Courtesy } from "./courtesy.ts";

/** Looks at the log while a caller waits: often enough to lose little of a round trip. */
const looksPerPatience = 16;
const lookMsMin = 2;
/** A round trip moves the average by so much. */
const weight = 0.2;

export class ForeignTurns {
  readonly #clock: Clock;
  readonly #refresh: () => Promise<void>;
  readonly #courtesy = new Courtesy();
  /** From sending a request to its verdict, on average; undefined before the first one. */
  #roundTripMs: number | undefined;
  #looking: Promise<void> | undefined;
  /**
   * Requests of this process that it has not seen decided, the oldest first. Whether a caller waits
   * for the verdict says something else: one may have given up on it, and one who asks for an
   * outcome waits for another process's.
   */
  readonly #sent = new Set<TransactionId>();

  constructor(clock: Clock, refresh: () => Promise<void>) {
    this.#clock = clock;
    this.#refresh = refresh;
  }

  /** The request of a transaction of this process is on its way. */
  noteSent(id: TransactionId): void {
    this.#sent.add(id);
    if (this.#sent.size <= limits.sentRequestsMax) return;
    for (const oldest of this.#sent) {
      this.#sent.delete(oldest);
      return;
    }
  }

  fold(verdict: Verdict): void {
    if (!isDecision(verdict)) return;
    const isOwn = this.#sent.delete(verdict.id);
    this.#courtesy.fold(verdict, { isOwn, nowMs: this.#clock.monotonicMs() });
  }

  noteRoundTrip(durationMs: number): void {
    const averageMs = this.#roundTripMs ?? durationMs;
    this.#roundTripMs = averageMs + weight * (durationMs - averageMs);
  }

  get #patienceMs(): number {
    const roundTripMs = this.#roundTripMs ?? limits.courtesyMsMax;
    return Math.min(limits.courtesyMsMax, limits.courtesyRoundTripsMax * roundTripMs);
  }

  /** Whether others go first there. */
  isTaken(key: KeyHash): boolean {
    return this.#waitMs([key]) > 0;
  }

  #waitMs(keys: Iterable<KeyHash>): number {
    // mutant: no-courtesy
    if (this.#courtesy.isIdle) return 0;
    const now = { nowMs: this.#clock.monotonicMs(), patienceMs: this.#patienceMs };
    let waitMs = 0;
    for (const key of keys) waitMs = Math.max(waitMs, this.#courtesy.waitMs(key, now));
    return waitMs;
  }

  /** Resolves when no other process goes first at any of the items, or waiting is of no use. */
  async awaitOurTurn(
    keys: () => Iterable<KeyHash>,
    options: { readonly signal: AbortSignal | undefined; readonly isOver?: () => boolean },
  ): Promise<void> {
    for (;;) {
      const waitMs = this.#waitMs(keys());
      if (waitMs === 0 || options.isOver?.() === true) return;
      // probe: let-another-process-go-first
      await orAborted(this.#look(waitMs), options.signal);
    }
  }

  /** One look for all who wait. */
  #look(waitMs: number): Promise<void> {
    const stepMs = Math.min(waitMs, Math.max(lookMsMin, this.#patienceMs / looksPerPatience));
    // A log that cannot be read at the moment shows nobody's commits: patience ends by the clock.
    this.#looking ??= this.#clock
      .sleep(stepMs)
      .then(() => this.#refresh())
      .catch(ignore)
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }
}
