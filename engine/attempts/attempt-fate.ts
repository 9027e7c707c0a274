/**
 * Whether an attempt goes on: the same for all that it reads, in whichever shard. The first
 * conflict ends it, and so does its commit; nothing is read or written from then on.
 */
import { TransactionClosedError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, Clock } from "../../core/ports.ts";

export class AttemptFate {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #call: CallOptions;
  /** Wall clock: unlike timers and the monotonic clock it goes on while a machine is suspended. */
  #startedMs: number;
  /** Why, once it is. An error is made only for whoever comes too late: its stack takes time. */
  #closed: string | undefined;
  /** First conflict found; nothing that is read afterwards may be committed. */
  #doomed: Error | undefined;
  /** Identities of items read in their tables with a version, tombstones excepted. */
  readonly versioned = new Set<string>();

  constructor(clock: Pick<Clock, "nowMs">, startedMs: number, call: CallOptions) {
    this.#clock = clock;
    this.#startedMs = startedMs;
    this.#call = call;
  }

  /** What it goes by is as old as that. */
  goesBy(startedMs: number): void {
    this.#startedMs = Math.min(this.#startedMs, startedMs);
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  get doomed(): Error | undefined {
    return this.#doomed;
  }

  /** The first reason stands. */
  close(why: string): void {
    this.#closed ??= why;
  }

  /** Ends the attempt: whatever the body makes of the error, it cannot commit. */
  doom(error: Error): Error {
    this.#doomed ??= error;
    return this.#doomed;
  }

  /** @throws TransactionClosedError, or the conflict that ended the attempt. */
  assertOpen(): void {
    this.#call.signal?.throwIfAborted();
    if (this.#closed !== undefined) throw new TransactionClosedError(this.#closed);
    if (this.#doomed !== undefined) throw this.#doomed;
    this.#assertAge();
  }

  /**
   * I8 needs that a reader ends before the tombstones that it may have to meet are removed: one
   * that slept with its machine would take an item that was deleted meanwhile for one that never
   * was.
   */
  #assertAge(): void {
    const ageMs = this.#clock.nowMs() - this.#startedMs;
    // mutant: sleepers-read-on
    if (ageMs <= limits.transactionAgeMsMax) return;
    // probe: reader-slept-too-long
    throw this.doom(
      new UnavailableError(
        `the transaction began ${ageMs} ms ago, above the limit transactionAgeMsMax of ` +
          `${limits.transactionAgeMsMax}`,
      ),
    );
  }
}
