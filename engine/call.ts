/** One call of the engine: its deadline, its caller's signal, what it consumes, how long its phases take. */
import { InvalidRequestError, UnavailableError } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { CallOptions, Clock, Consumption } from "../core/ports.ts";
import { ignore } from "./concurrency.ts";

export const deadlineMsDefault = 30_000;

export class Call {
  /** Aborts when the caller gives up or the deadline passes. */
  readonly signal: AbortSignal;
  readonly consumption: Consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
  readonly beganMs: number;
  readonly deadlineMs: number;
  readonly #ended = new AbortController();

  constructor(
    clock: Clock,
    options: { readonly deadlineMs?: number; readonly signal?: AbortSignal },
  ) {
    const deadlineMs = options.deadlineMs ?? deadlineMsDefault;
    if (!(deadlineMs > 0 && deadlineMs <= limits.transactionAgeMsMax)) {
      throw new InvalidRequestError(
        "deadlineMs",
        `deadlineMs must lie in (0, ${limits.transactionAgeMsMax}]; got ${deadlineMs}`,
      );
    }
    this.deadlineMs = deadlineMs;
    this.beganMs = clock.monotonicMs();
    const deadline = new AbortController();
    clock.sleep(deadlineMs, this.#ended.signal).then(() => {
      deadline.abort(new UnavailableError(`the deadline of ${deadlineMs} ms has passed`));
    }, ignore);
    this.signal =
      options.signal === undefined
        ? deadline.signal
        : AbortSignal.any([options.signal, deadline.signal]);
  }

  get options(): CallOptions {
    return { signal: this.signal, consumption: this.consumption };
  }

  /** Stops the deadline's clock. */
  end(): void {
    this.#ended.abort(new Error("the call has ended"));
  }
}
