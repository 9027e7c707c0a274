/** One attempt of a transaction from its first read to its last install; engine.ts repeats it. */
import { InvariantViolation } from "../core/assert.ts";
import { CommitUnknownError } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { Ports } from "../core/ports.ts";
import { TransactionReads } from "../core/transaction-reads.ts";
import type { Isolation, TransactionId } from "../core/types.ts";
import { makeTransactionId, transactionIdRandomBytes } from "../schemas/transaction-id.ts";
import type { Call } from "./call.ts";
import { certify, type Certified } from "./commit.ts";
import { ignore, orAborted } from "./concurrency.ts";
import { ReadView, type ViewMode } from "./read-view.ts";
import type { ShardSession } from "./shard-session.ts";
import type { TableRegistry } from "./table-registry.ts";
import { TransactionContext } from "./transaction-context.ts";
import type { Acknowledgement, EngineEvent, Receipt } from "./types.ts";

export type AttemptServices = {
  readonly ports: Ports;
  readonly session: ShardSession;
  readonly registry: TableRegistry;
  readonly call: Call;
  /** See CommitOptions. */
  readonly freshMs: number;
  readonly emit: ((event: EngineEvent) => void) | undefined;
  /** Work that outlives the call; `close` waits for it. */
  readonly background: Set<Promise<void>>;
};

export type Attempt = { readonly context: TransactionContext; readonly id: TransactionId };

export async function beginAttempt(
  services: AttemptServices,
  options: {
    readonly mode: ViewMode;
    readonly isolation: Isolation;
    readonly maxStalenessMs: number;
    /** Where to read, for `fixed`; or where a resumed transaction stands. */
    readonly reads?: TransactionReads;
  },
): Promise<Attempt> {
  const { ports, session, call, registry } = services;
  const { follower } = session;
  const isFirst = !follower.started;
  if (isFirst) await orAborted(follower.refresh(), call.signal);
  const { maxStalenessMs } = options;
  // Never by age alone: a clock that stands still would make a refresh from before this attempt look new enough.
  const isFresh = isFirst || (maxStalenessMs > 0 && follower.ageMs <= maxStalenessMs);
  const refreshed = isFresh ? Promise.resolve() : follower.refresh();
  const { newest } = follower.tail;
  const view = new ReadView(ports, session, {
    mode: options.mode,
    isolation: options.isolation,
    reads: options.reads ?? new TransactionReads(newest),
    refreshed,
    call: call.options,
  });
  const id = makeTransactionId(newest, ports.random.bytes(transactionIdRandomBytes));
  return { context: new TransactionContext(view, registry), id };
}

export type AttemptTimes = {
  readonly beganMs: number;
  readonly retryMs: number;
  readonly attempts: number;
};

export type FinishOptions = AttemptTimes & { readonly ack: Acknowledgement };

/** Commits what the body buffered, installs it, and makes the receipt. */
export async function finishAttempt(
  services: AttemptServices,
  attempt: Attempt,
  options: FinishOptions,
): Promise<Receipt> {
  const { ports, session, call, emit } = services;
  const { context, id } = attempt;
  const { clock } = ports;
  const bodyEndedMs = clock.monotonicMs();
  const base = {
    readTimestamp: context.readTimestamp,
    attempts: options.attempts,
    replayed: false,
  } as const;
  const phases = { retryMs: options.retryMs, bodyMs: bodyEndedMs - options.beganMs };
  if (context.writes.size === 0) {
    context.view.assertOpen();
    return {
      ...base,
      transactionId: undefined,
      commitTimestamp: undefined,
      consumed: { ...call.consumption },
      phases: { ...phases, certifyMs: 0, installMs: 0 },
      installed: true,
    };
  }
  const certified = await certify(ports, session, context, {
    id,
    signal: call.signal,
    freshMs: services.freshMs,
    onSent: (transactionId, resend) => emit?.({ kind: "sent", transactionId, resend }),
  });
  const certifiedMs = clock.monotonicMs();
  const installed = await installCertified(services, certified, options.ack);
  return {
    ...base,
    transactionId: id,
    commitTimestamp: certified.verdict.timestamp,
    readTimestamp: context.readTimestamp,
    consumed: { ...call.consumption },
    phases: {
      ...phases,
      certifyMs: certifiedMs - bodyEndedMs,
      installMs: clock.monotonicMs() - certifiedMs,
    },
    installed,
  };
}

/**
 * The commit stands, whatever happens here: a failed or slow install is replay's to finish. True
 * when every write is in its table.
 */
async function installCertified(
  services: AttemptServices,
  certified: Certified,
  ack: Acknowledgement,
): Promise<boolean> {
  const { ports, session, call, emit, background } = services;
  const { verdict, payload, sentMs } = certified;
  const nowMs = ports.clock.nowMs();
  const signBeforeMs = Math.min(nowMs + limits.installSignMsMax, sentMs + limits.ownInstallMsMax);
  let done = false;
  const install = session.installer
    .install({ verdict, payload, signBeforeMs }, { consumption: call.consumption })
    .then(
      () => {
        done = true;
      },
      (cause: unknown) => {
        emit?.({ kind: "install-left", transactionId: verdict.id, cause });
      },
    )
    .finally(() => background.delete(install));
  background.add(install);
  if (ack === "certified") return false;
  await orAborted(install, call.signal).catch(ignore);
  return done;
}

/** Runs the body of an attempt. A doomed one fails with what doomed it, whatever the body made of that. */
export async function inAttempt<T>(attempt: Attempt, run: () => Promise<T>): Promise<T> {
  const { view } = attempt.context;
  try {
    return await run();
  } catch (error) {
    // Never in place of an unknown outcome, which forbids another run, nor of a bug.
    if (error instanceof CommitUnknownError || error instanceof InvariantViolation) throw error;
    throw view.doomed ?? error;
  } finally {
    view.close();
  }
}
