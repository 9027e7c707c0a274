/** Runs a body until its transaction commits, or until that is of no more use. */
import {
  CommitUnknownError,
  ConflictError,
  InvalidRequestError,
  SnapshotTooOldError,
  StoreError,
  UnavailableError,
} from "../../core/errors.ts";
import { keyNamesOf } from "../../core/attributes.ts";
import * as limits from "../../core/limits.ts";
import { OnDemand } from "../../core/on-demand.ts";
import type { KeyHash } from "../../core/types.ts";
import {
  beginAttempt,
  finishAttempt,
  inAttempt,
  type Attempt,
  type AttemptTimes,
  type FinishOptions,
} from "./attempt.ts";
import type { AttemptServices } from "./attempt-services.ts";
import type { Guard, RunsTransactions, TransactTask } from "./guard.ts";
import { HeldError } from "../base/held.ts";
import type { TransactionContext } from "./transaction-context.ts";
import { waitBackoff } from "../backoff.ts";
import type { Call } from "../call.ts";
import { isRetryableAttempt } from "../committing/commit.ts";
import { orAborted } from "../concurrency.ts";
import { RangeMovedError } from "../conflict-error.ts";
import type { EngineCore } from "../engine-core.ts";
import type { TryEnd } from "../express-way.ts";
import { publicError } from "../public-error.ts";
import { ItemTurns } from "./item-turns.ts";
import { TableRefusedError, UnknownTableError } from "../table-registry.ts";
import type {
  BodyTransaction,
  CallEvent,
  Reader,
  Receipt,
  ResultCodec,
  SnapshotOptions,
} from "../types.ts";

const past = new OnDemand("reads in the past", () => import("../reading/reads-at.ts"));
const basing = new OnDemand("BASE transactions", () => import("../base/isolation.ts"));
const idempotency = new OnDemand("idempotency", () => import("../idempotency.ts"));

/** Short: whose turn it is at a contended item must not sleep through it (courtesy.ts). */
const retryBackoff = { baseMs: 5, capMs: 50 };

type Told = Omit<Extract<CallEvent, { readonly kind: "call-started" }>, "kind">;

type Finished<Result> = { readonly result: Result; readonly receipt: Receipt };

export class AttemptRunner implements RunsTransactions {
  readonly #core: EngineCore;
  /** At items of mixed tables that others were faster at. */
  readonly #turns = new ItemTurns();

  constructor(core: EngineCore) {
    this.#core = core;
  }

  async transact<Result>(call: Call, task: TransactTask<Result>): Promise<Finished<Result>> {
    const { options, body, codec } = task;
    const isolation = options.isolation ?? "serializable";
    const operation = task.guard === undefined ? "transact" : "base";
    const told = { operation, isolation, step: task.step } as const;
    return this.#repeat(
      call,
      { ...told, attemptsMax: options.attemptsMax },
      async (services, times) => {
        services.emit?.({ kind: "attempt-started", attempt: times.attempts, isolation });
        const attempt = await beginAttempt(services, {
          mode: "read-write",
          isolation,
          maxStalenessMs: 0,
          // What a step has read stands at its read timestamp: that is what its locks say.
          chains: isolation === "serializable" && task.guard === undefined,
          // A wrong guess takes a run more than a look would have.
          mayGoUnasked: isolation === "serializable" && options.attemptsMax !== 1,
        });
        const running = inAttempt(services, attempt, async () => {
          const { context } = attempt;
          const ack = options.ack ?? "installed";
          const guard =
            task.guard?.(services, context) ?? (await this.#isolated(services, context, "writes"));
          if (options.idempotencyKey === undefined) {
            const result = await orAborted(body(guard?.transaction ?? context), call.signal);
            if (guard !== undefined) await orAborted(guard.beforeCommit(), call.signal);
            return { result, receipt: await finishAttempt(services, attempt, { ...times, ack }) };
          }
          if (codec === undefined) {
            throw new InvalidRequestError(
              "codec",
              "an idempotency key needs a way to keep the result",
            );
          }
          return this.#onceByKey(services, attempt, {
            body,
            guard,
            codec,
            times: { ...times, ack },
            idempotencyKey: options.idempotencyKey,
          });
        });
        return tellHowItEnds(attempt, running);
      },
    );
  }

  /** Runs the body only if no commit under the key stands; else returns what that one returned. */
  async #onceByKey<Result>(
    services: AttemptServices,
    attempt: Attempt,
    once: {
      readonly body: (transaction: BodyTransaction) => Promise<Result>;
      readonly guard: Guard | undefined;
      readonly codec: ResultCodec<Result>;
      readonly times: FinishOptions;
      readonly idempotencyKey: string;
    },
  ): Promise<Finished<Result>> {
    const loaded = orAborted(idempotency.load(), services.call.signal);
    const { findEarlier, idempotencyEntryKey, recordResult } = await loaded;
    const entryKey = idempotencyEntryKey(once.idempotencyKey);
    const looked = findEarlier(services, attempt, { entryKey, times: once.times });
    const earlier = await orAborted(looked, services.call.signal);
    if (earlier !== undefined) {
      return { result: once.codec.decode(earlier.result), receipt: earlier.receipt };
    }
    const { guard } = once;
    const { signal } = services.call;
    const result = await orAborted(once.body(guard?.transaction ?? attempt.context), signal);
    if (guard !== undefined) await orAborted(guard.beforeCommit(), signal);
    if (attempt.context.isRolledBack) {
      return { result, receipt: await finishAttempt(services, attempt, once.times) };
    }
    const { named } = recordResult(services, attempt, {
      entryKey,
      result: once.codec.encode(result),
    });
    return { result, receipt: await finishAttempt(services, attempt, { ...once.times, named }) };
  }

  async snapshot<Result>(
    call: Call,
    task: {
      readonly options: SnapshotOptions;
      readonly body: (snapshot: Reader) => Promise<Result>;
    },
  ): Promise<Finished<Result>> {
    const { options, body } = task;
    const told = { operation: "snapshot", isolation: "snapshot", step: undefined } as const;
    return this.#repeat(
      call,
      { ...told, attemptsMax: options.attemptsMax },
      async (services, times) => {
        services.emit?.({
          kind: "attempt-started",
          attempt: times.attempts,
          isolation: "snapshot",
        });
        const startedMs = services.ports.clock.nowMs();
        const { asOf } = options;
        const fixed =
          asOf === undefined ? undefined : await past.use(({ readsAt }) => readsAt(services, asOf));
        const attempt = await beginAttempt(services, {
          mode: fixed === undefined ? "read-only" : "fixed",
          isolation: "snapshot",
          startedMs,
          maxStalenessMs: fixed === undefined ? (options.maxStalenessMs ?? 0) : Infinity,
          isStale: (options.maxStalenessMs ?? 0) > 0,
          ...(fixed === undefined ? {} : { reads: fixed }),
        });
        return inAttempt(services, attempt, async () => {
          const { context } = attempt;
          const guard = await this.#isolated(services, context, "reads");
          const result = await orAborted(body(guard?.transaction ?? context), call.signal);
          if (guard !== undefined) await orAborted(guard.beforeCommit(), call.signal);
          const receipt = await finishAttempt(services, attempt, { ...times, ack: "installed" });
          return { result, receipt };
        });
      },
    );
  }

  /** Undefined, and nothing is loaded, where no table takes BASE transactions. */
  async #isolated(
    services: AttemptServices,
    context: TransactionContext,
    mode: "reads" | "writes",
  ): Promise<Guard | undefined> {
    if (!services.registry.hasBase) return undefined;
    const { isolated } = await orAborted(basing.load(), services.call.signal);
    return isolated(this.#core, services, { context, mode });
  }

  /** Until it ends, and tells so. */
  async #repeat<T extends { readonly receipt: Receipt }>(
    call: Call,
    { attemptsMax, ...started }: Told & { readonly attemptsMax: number | undefined },
    run: (services: AttemptServices, times: AttemptTimes) => Promise<T>,
  ): Promise<T> {
    const emit = this.#core.emitOf(call);
    emit?.({ kind: "call-started", ...started });
    try {
      return await this.#attempts(call, attemptsMax, run);
    } catch (thrown) {
      const error = publicError(thrown);
      emit?.({ kind: "call-failed", error });
      throw error;
    }
  }

  async #attempts<T extends { readonly receipt: Receipt }>(
    call: Call,
    attemptsMax: number | undefined,
    run: (services: AttemptServices, times: AttemptTimes) => Promise<T>,
  ): Promise<T> {
    const max = attemptsMax ?? limits.attemptsDefault;
    const { clock } = this.#core.ports;
    let services: AttemptServices | undefined;
    /** An item of a mixed table at which the last attempt was beaten. */
    let contended: KeyHash | undefined;
    for (let attempts = 1; ; attempts += 1) {
      try {
        // As much worth another try as the attempt itself: the stores may be back in a moment.
        services ??= await this.#core.services(call);
        const inTurn = async (at: AttemptServices): Promise<T> => {
          Object.assign(call, { phase: "body", attempts });
          const beganMs = clock.monotonicMs();
          return run(at, { beganMs, retryMs: beganMs - call.beganMs, attempts });
        };
        const ready = services;
        const finished =
          contended === undefined
            ? await inTurn(ready)
            : await this.#turns.run(contended, call.signal, () => inTurn(ready));
        services.emit?.({ kind: "committed", receipt: finished.receipt });
        return finished;
      } catch (thrown) {
        services?.emit?.(abortEvent(thrown, attempts));
        if (services !== undefined) this.#noteConflict(services, thrown);
        contended = services === undefined ? undefined : mixedItemOf(services, thrown);
        if (thrown instanceof HeldError) {
          attempts -= 1; // It was not its turn.
          call.phase = "retrying";
          const { untilReleased, heldInPast } = await basing.load();
          const { asOf } = thrown;
          if (asOf !== undefined)
            throw await heldInPast(this.#core, this, { call, held: thrown, asOf });
          await untilReleased(this.#core, this, { call, held: thrown });
          continue;
        }
        if (call.signal.aborted) throw lastWord(call, thrown);
        call.lastFailure = thrown;
        if (thrown instanceof RangeMovedError) {
          // probe: run-again-by-a-new-map
          attempts -= 1; // Nobody is to blame.
          await waitBackoff(this.#core.ports, {
            ...{ backoff: retryBackoff, attempt: 0, signal: call.signal },
          });
          continue;
        }
        const isOfTables =
          thrown instanceof UnknownTableError || thrown instanceof TableRefusedError;
        const { retry, error } = isOfTables
          ? await this.#learnTables(attempts, call, thrown)
          : { retry: isRetryableAttempt(thrown), error: thrown };
        call.lastFailure = error;
        if (!retry || attempts >= max) throw error;
        if (services !== undefined) call.phase = "retrying";
        if (services !== undefined && isBeaten(services, error)) continue;
        await waitBackoff(this.#core.ports, {
          backoff: retryBackoff,
          attempt: attempts - 1,
          signal: call.signal,
        });
      }
    }
  }

  /** Whoever comes to the same item next takes turns. */
  #noteConflict({ sessions, registry }: AttemptServices, error: unknown): void {
    if (!(error instanceof ConflictError)) return;
    const { table, key, on, foundBy } = error.detail;
    if (foundBy === "native" || on !== "key" || table === undefined || key === undefined) return;
    const description = registry.find(table);
    if (description === undefined) return;
    const hashes = sessions.hashes.item(keyNamesOf(description), key);
    sessions.get(sessions.at(hashes.partition).number)?.own?.noteConflict(hashes.key);
  }

  /**
   * A table may have been registered, or changed, since the registry was read. One look per call
   * for a table that is not known; one for each refusal of the oracle's, whose own look may be due
   * yet.
   */
  async #learnTables(
    attempts: number,
    { signal }: Call,
    error: UnknownTableError | TableRefusedError,
  ): Promise<{ readonly retry: boolean; readonly error: Error }> {
    const { registry } = this.#core;
    const isRefused = error instanceof TableRefusedError;
    if (attempts > 1 && !isRefused) return { retry: false, error };
    await registry.lookAgain(signal);
    if (!isRefused) return { retry: true, error };
    const compared = await error.comparedWith(registry);
    await error.untilOpen(registry, signal);
    return { retry: true, error: compared };
  }
}

/** The item of a mixed table that a conflict was about. */
function mixedItemOf({ sessions, registry }: AttemptServices, error: unknown): KeyHash | undefined {
  if (!(error instanceof ConflictError)) return undefined;
  const { table, key, on } = error.detail;
  const description = table === undefined ? undefined : registry.find(table);
  if (description?.access !== "mixed" || on !== "key" || key === undefined) return undefined;
  return sessions.hashes.item(keyNamesOf(description), key).key;
}

/**
 * Whether the log has shown what it conflicts with, and it can be put anew: whoever competes waits
 * before the put (express/commit-policy.ts). Those of a process that are beaten together begin
 * together, and chain.
 */
function isBeaten({ sessions }: AttemptServices, error: unknown): boolean {
  if (!(error instanceof ConflictError) || error.detail.foundBy !== "tail") return false;
  return sessions.opened.some(({ session }) => session.express?.isReady === true);
}

/** One of this process's own costs no way there and back; native writes say nothing of the log. */
function isOfTheLog({ detail: { foundBy } }: ConflictError): boolean {
  return foundBy !== "process" && foundBy !== "native";
}

/** Which way the next ones commit, and how they begin, depends on how these end. */
async function tellHowItEnds<Result>(
  { views }: Attempt,
  running: Promise<Finished<Result>>,
): Promise<Finished<Result>> {
  let end: TryEnd = "neither";
  try {
    const finished = await running;
    if (finished.receipt.commitTimestamp !== undefined) end = "commit";
    return finished;
  } catch (error) {
    if (error instanceof ConflictError && isOfTheLog(error)) end = "conflict";
    throw error;
  } finally {
    for (const { session } of views.all) session.express?.tried(end);
  }
}

/** The deadline passed, or the caller gave up: the reason why, but what is open stays open. */
function lastWord(call: Call, error: unknown): unknown {
  if (error instanceof CommitUnknownError) return error;
  const { reason } = call.signal as { readonly reason: unknown };
  const isDeadline = reason instanceof UnavailableError && reason.deadline !== undefined;
  const { cause } = error instanceof UnavailableError ? error : {};
  const isTold = cause instanceof StoreError || cause instanceof UnavailableError;
  if (!isDeadline || !isTold || cause === reason) return reason;
  // What was in the way of sending is known only now.
  call.lastFailure = cause;
  return call.passed();
}

function abortEvent(error: unknown, attempt: number): CallEvent {
  if (error instanceof CommitUnknownError) {
    return { kind: "unknown", transactionId: error.transactionId };
  }
  const base = { kind: "attempt-aborted", attempt, transactionId: undefined } as const;
  if (error instanceof ConflictError) {
    return {
      ...base,
      reason: "conflict",
      detail: error.detail,
      early: error.detail.foundBy !== "oracle" && error.detail.foundBy !== "native",
    };
  }
  const reason =
    error instanceof SnapshotTooOldError
      ? "snapshot-too-old"
      : error instanceof UnavailableError
        ? error.deadline === undefined
          ? "unavailable"
          : "deadline"
        : "body-threw";
  return { ...base, reason, detail: undefined, early: true };
}
