/**
 * One call of the engine: its deadline, its caller's signal, what it consumes, how long its phases
 * take.
 */
import { setMaxListeners } from "node:events";
import { assert } from "../core/assert.ts";
import { type CallPhase, StoreError, UnavailableError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, Clock, Consumption } from "../core/ports.ts";
import type { Timestamp } from "../core/types.ts";
import { follow, ignore, noLongerNeeded } from "./concurrency.ts";

let calls = 0;

export class Call {
  /** Among the calls of this process. */
  readonly id = (calls += 1);
  /** Aborts when the caller gives up or the deadline passes. */
  readonly signal: AbortSignal;
  readonly consumption: Consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
  readonly beganMs: number;
  readonly deadlineMs: number;
  /** What the call is at; said when its deadline passes. */
  phase: CallPhase = "connecting";
  /** Begun so far. */
  attempts = 0;
  /** Sessions whose tails show all that was acknowledged before the call began. */
  readonly completeTails = new Set<object>();
  /** What runs of it that were certified over several shards had all seen of their logs. */
  seen = Number.MAX_SAFE_INTEGER as Timestamp;
  /** Random: by whom items were kept free for it. Undefined: none were. */
  reservedBy: string | undefined;
  /** What the last attempt that has ended failed with. */
  lastFailure: unknown;
  readonly #ended = new AbortController();
  readonly #abort = new AbortController();
  #unfollow: () => void = ignore;

  constructor(
    clock: Clock,
    options: { readonly deadlineMs?: number; readonly signal?: AbortSignal },
  ) {
    const deadlineMs = options.deadlineMs ?? limits.deadlineMsDefault;
    assert(
      deadlineMs > 0 && deadlineMs <= limits.transactionAgeMsMax,
      "a call's deadline is checked where it comes in",
    );
    this.deadlineMs = deadlineMs;
    this.beganMs = clock.monotonicMs();
    this.signal = this.#abort.signal;
    // Every read and store call under way listens to it; many at once are no leak, which Node would
    // warn of.
    setMaxListeners(0, this.signal);
    const ended = this.#ended.signal;
    clock
      .sleep(deadlineMs, ended)
      // A process that was busy meanwhile hears first what has arrived: a failure to name, or even
      // what it waits for.
      .then(() => clock.sleep(0, ended))
      .then(() => {
        this.#abort.abort(this.passed());
      }, ignore);
    this.follow(options.signal);
  }

  /** What is told when the deadline has passed. */
  passed(): UnavailableError {
    const { deadlineMs, phase, attempts, lastFailure } = this;
    const at = attempts === 0 ? phase : `${phase}, attempt ${attempts}`;
    // Who has not even reached the deployment looks for its address first; who has reached it, and
    // is not answered, for what is the matter with it.
    const isWhy =
      lastFailure instanceof StoreError ||
      lastFailure instanceof UnavailableError ||
      (phase === "connecting" && lastFailure instanceof Error);
    const why = isWhy ? `: ${lastFailure.message}` : "";
    const wholeMs = Math.round(deadlineMs);
    return new UnavailableError(`the deadline of ${wholeMs} ms has passed (${at})${why}`, {
      ...(lastFailure === undefined ? {} : { cause: lastFailure }),
      deadline: { deadlineMs, phase, attempts },
    });
  }

  /** Lets the caller's signal abort this call's, until `end`. */
  follow(signal: AbortSignal | undefined): void {
    this.#unfollow();
    if (signal !== undefined) this.#unfollow = follow(this.#abort, signal);
  }

  get options(): CallOptions {
    return { signal: this.signal, consumption: this.consumption };
  }

  /** Stops the deadline's clock, and no longer follows the caller's signal. */
  end(): void {
    this.#unfollow();
    this.#ended.abort(noLongerNeeded);
  }
}
