/** Who runs a transaction beside BASE transactions: what it needs of them. */
import { assert } from "../../core/assert.ts";
import {
  BaseOpenError,
  CommitUnknownError,
  StoreError,
  TransactionError,
  UnavailableError,
  type OpenBase,
} from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Timestamp } from "../../core/types.ts";
import type { Guard, RunsTransactions } from "../attempts/guard.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import { waitBackoff } from "../backoff.ts";
import { RememberedReads } from "../reading/remembered-answers.ts";
import type { Call } from "../call.ts";
import type { EngineCore } from "../engine-core.ts";
import type { HeldError } from "./held.ts";
import { IsolatedTransaction } from "./isolated-transaction.ts";
import { LockReader } from "./lock-reader.ts";
import { recordsOf } from "./records.ts";
import { newToken } from "./base-name.ts";
import { BaseStore } from "./store.ts";

/** How often who waits looks at first; later it goes by what he has waited. */
const pollBackoff = { baseMs: 10, capMs: 100 };

/** The transaction kept apart from open BASE transactions. */
export function isolated(
  core: Pick<EngineCore, "registry" | "ports">,
  services: AttemptServices,
  { context, mode }: { readonly context: TransactionContext; readonly mode: "reads" | "writes" },
): Guard {
  context.isGuarded = true;
  const records = recordsOf(core);
  const nowMs = (): number => core.ports.clock.nowMs();
  services.sessions.prepareEach((session) => {
    session.remembered = new RememberedReads(records.name, nowMs);
  });
  const locks = new LockReader(context, records, services.ports.digest);
  const transaction = new IsolatedTransaction({ context, locks, services, mode });
  return { transaction, beforeCommit: () => transaction.beforeCommit() };
}

/**
 * Waits until those that held an attempt up are released, and sees to it that they are once they
 * may be. Who waits for long has its items kept free of further ones.
 * @throws BaseOpenError when the call's time is up.
 */
export async function untilReleased(
  core: EngineCore,
  runner: RunsTransactions,
  { call, held }: { readonly call: Call; readonly held: HeldError },
): Promise<void> {
  const store = new BaseStore(core, runner);
  const { clock, random } = core.ports;
  // By what the call has waited in all: another one may have come each time.
  let reserveMs = call.beganMs + limits.baseReserveAfterMs;
  const beganMs = clock.monotonicMs();
  let open: OpenBase | undefined;
  try {
    for (let attempt = 0; ; attempt += 1) {
      const { signal } = call;
      signal.throwIfAborted();
      const left = await unreleased(store, { call, held });
      if (left.length === 0) return;
      // probe: base-waited-for
      const [first] = left;
      if (first !== undefined && attempt % 10 === 0) open = await lookAt(store, first, call);
      if (clock.monotonicMs() >= reserveMs && held.places.length > 0) {
        // probe: base-items-reserved
        reserveMs = clock.monotonicMs() + limits.baseReserveMs / 2;
        await reserve(store, { call, held });
      }
      // What has taken long takes longer, most likely.
      const waitedMs = clock.monotonicMs() - beganMs;
      const capMs = Math.min(Math.max(pollBackoff.capMs, waitedMs / 8), limits.baseLaterLookMs);
      // What is reserved is renewed at half its time: the other half is for slow calls.
      const dueMs = Math.max(pollBackoff.baseMs, reserveMs - clock.monotonicMs());
      const backoff = { ...pollBackoff, capMs: Math.min(capMs, dueMs) };
      await waitBackoff({ clock, random }, { backoff, attempt, signal });
    }
  } catch (error) {
    // He would ask for its outcome, and take that for his own.
    assert(!(error instanceof CommitUnknownError), "base: who waits is told of no other commit");
    if (!call.signal.aborted) throw error;
    // Who gives up himself is told nothing else.
    if (!isDeadline(call.signal.reason)) throw call.signal.reason;
    const [base = ""] = held.bases;
    const named = open ?? { base, sinceMs: undefined, steps: undefined };
    const stepHere = core.stepsHere.get(named.base);
    throw baseOpenError({ ...named, stepHere }, call.signal.reason);
  }
}

/**
 * For a caller who does not wait, and holds the body himself. Sees to it as well that those are
 * released that may be, so that he gets on when he comes back.
 */
export async function heldAt(
  core: EngineCore,
  runner: RunsTransactions,
  { call, held }: { readonly call: Call; readonly held: HeldError },
): Promise<BaseOpenError> {
  const store = new BaseStore(core, runner);
  const [first] = await unreleased(store, { call, held });
  const base = first ?? held.bases[0] ?? "";
  return baseOpenError(await lookAt(store, base, call), held);
}

/**
 * For who reads at a moment of the past: what was open then stays so, however long he waits.
 */
export async function heldInPast(
  core: EngineCore,
  runner: RunsTransactions,
  { call, held, asOf }: { readonly call: Call; readonly held: HeldError; readonly asOf: Timestamp },
): Promise<BaseOpenError> {
  const [base = ""] = held.bases;
  const open = await lookAt(new BaseStore(core, runner), base, call);
  return new BaseOpenError(
    `BASE transaction ${base} was open at asOf ${asOf}, and has written there; what stood there ` +
      "before it cannot be had, as of a scan, of an index, or of what history keeps no longer: " +
      "read by key or by partition, or as of another moment",
    open,
    { cause: held, retryable: false },
  );
}

function isDeadline(reason: unknown): boolean {
  return reason instanceof UnavailableError && reason.deadline !== undefined;
}

/** Those that are not released by now; what may be is, once it was seen. */
async function unreleased(
  store: BaseStore,
  { call, held }: { readonly call: Call; readonly held: HeldError },
): Promise<readonly string[]> {
  const { left, releasable } = await store.unreleased(held.bases, call);
  for (const base of releasable) await store.seesReleased(base, call);
  return left;
}

/**
 * A courtesy of those who come later: where it fails, who waits waits on. What it fails with is not
 * his, least of all a commit of which nobody knows: he would take its outcome for his own.
 */
async function reserve(
  store: BaseStore,
  { call, held }: { readonly call: Call; readonly held: HeldError },
): Promise<void> {
  call.reservedBy ??= newToken(store.ports.random);
  try {
    await store.reserve(call.reservedBy, held.places, call);
  } catch (error) {
    if (!(error instanceof TransactionError || error instanceof StoreError)) throw error;
  }
}

async function lookAt(store: BaseStore, base: string, call: Call): Promise<OpenBase> {
  const head = (await store.heads([base], call)).get(base);
  const stepHere = store.stepsHere.get(base);
  return { base, sinceMs: head?.startedMs, steps: head?.steps, stepHere };
}

function baseOpenError(open: OpenBase, cause: unknown): BaseOpenError {
  const { base, sinceMs, steps, stepHere } = open;
  const since = sinceMs === undefined ? "" : ` since ${new Date(sinceMs).toISOString()}`;
  const at =
    steps === undefined ? "" : `, and has made ${steps === 1 ? "1 step" : `${steps} steps`}`;
  return new BaseOpenError(
    `BASE transaction ${base} is open${since}${at}; it holds what this transaction asks for, ` +
      "which waits no longer. " +
      (stepHere === undefined
        ? "Try again later; `npx tidemark base` shows whether it goes on"
        : `Its step "${stepHere}" is under way in this process: what the body of that step calls ` +
          "and waits for never comes by what it holds; use the step's own transaction there"),
    open,
    { cause },
  );
}
