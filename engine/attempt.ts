/** One attempt of a transaction, from its first read to its last install (attempt-runner.ts). */
import { InvariantViolation } from "../core/assert.ts";
import { CommitUnknownError } from "../core/errors.ts";
import type { ClientPorts, Consumption } from "../core/ports.ts";
import { TransactionReads } from "../core/transaction-reads.ts";
import type { Isolation, Timestamp, TransactionId } from "../core/types.ts";
import type { ViewMode } from "../core/visibility.ts";
import {
  transactionIdFor,
  transactionIdProofBytes,
  voteProofOf,
} from "../schemas/transaction-id.ts";
import type { Call } from "./call.ts";
import { CommitUnderWay, type CommitName, type SentCommit } from "./commit-under-way.ts";
import { ignore, orAborted } from "./concurrency.ts";
import type { OwnCommits, OwnReads } from "./own-commits.ts";
import { ReadView } from "./read-view.ts";
import { bringAllAbout } from "./request-settler.ts";
import type { ShardSession } from "./shard-session.ts";
import type { TableRegistry } from "./table-registry.ts";
import { TransactionContext } from "./transaction-context.ts";
import type { Acknowledgement, EngineEvent, Receipt } from "./types.ts";
import { assertKeyCount } from "./write-buffer.ts";

export type AttemptServices = {
  readonly ports: ClientPorts;
  readonly session: ShardSession;
  /** Undefined where the process does not chain its transactions. */
  readonly own: OwnCommits | undefined;
  readonly registry: TableRegistry;
  readonly call: Call;
  /** See CommitOptions. */
  readonly freshMs: number;
  readonly emit: ((event: EngineEvent) => void) | undefined;
  /** Work that outlives the call; `close` waits for it. */
  readonly background: Set<Promise<void>>;
};

export type Attempt = {
  readonly context: TransactionContext;
  readonly id: TransactionId;
  /** Shown to replay once its writes are installed; or to the log, by its vote. */
  readonly proof: Uint8Array;
  /** What the proof is the digest of: shown to replay by one that was voted on. */
  readonly secret: Uint8Array;
  readonly local: OwnReads | undefined;
  /** How it begins; only `refreshed` waits for the log. */
  readonly begins: Beginning;
};

/**
 * - `refreshed`: it sees all that was acknowledged before it began.
 * - `again`: another run of its call, which has looked at the log before: it sees what was
 *   acknowledged before the call.
 * - `unasked`: by the tail as it is, since nobody else commits, most likely.
 *
 * The latter two are serializable by what their commit finds; without one they look at their end.
 */
type Beginning = "refreshed" | "again" | "unasked";

export async function beginAttempt(
  services: AttemptServices,
  options: {
    readonly mode: ViewMode;
    readonly isolation: Isolation;
    readonly maxStalenessMs: number;
    /** Whether its caller asks for what may be behind: then of mixed tables nothing can be had. */
    readonly isStale?: boolean;
    /**
     * Wall clock, read before anything that the attempt goes by (the registry's age, a token's): a
     * machine that slept since then is found out by the age of the view. Default: now.
     */
    readonly startedMs?: number;
    /** Where to read, for `fixed`; or where a resumed transaction stands. */
    readonly reads?: TransactionReads;
    /**
     * Whether it may begin by the tail as it is: its body runs again if that was wrong. Not below
     * serializable, where what was read is not checked.
     */
    readonly mayGoUnasked?: boolean;
    /** Whether it may read what other transactions of this process are about to write. */
    readonly chains?: boolean;
  },
): Promise<Attempt> {
  const { ports, session, own, call, registry } = services;
  const { follower } = session;
  const tailAgeMs = follower.ageMs;
  const isFirst = !follower.started;
  if (isFirst) await orAborted(follower.refresh(), call.signal);
  const { maxStalenessMs } = options;
  // Never by age alone: a clock that stands still would make a refresh from before this call look
  // new enough.
  const isFresh = isFirst || (maxStalenessMs > 0 && follower.ageMs <= maxStalenessMs);
  call.isTailComplete ||= isFirst;
  const begins = isFresh ? "refreshed" : beginningOf(services, options);
  const needsLook = !isFresh && begins === "refreshed";
  const refreshed = needsLook ? onceStarted(services) : () => Promise.resolve();
  const { newest } = follower.tail;
  const reads = options.reads ?? new TransactionReads(newest);
  const local =
    options.chains === true
      ? own?.reads({
          reads,
          call: call.options,
          sinceMs: call.beganMs,
          noteVersioned: (identity) => view.noteVersioned(identity),
          doom: (error) => view.doom(error),
        })
      : undefined;
  const view: ReadView = new ReadView(ports, session, {
    mode: options.mode,
    isolation: options.isolation,
    // What it does not know of may be as old as the tail.
    startedMs: options.startedMs ?? ports.clock.nowMs() - (begins === "unasked" ? tailAgeMs : 0),
    reads,
    refreshed,
    isStale: options.isStale === true,
    call: call.options,
    own,
    local,
  });
  const secret = ports.random.bytes(transactionIdProofBytes);
  const proof = voteProofOf(secret, ports.digest);
  const id = transactionIdFor(newest, proof, ports.digest);
  const context = new TransactionContext(view, registry);
  return { context, id, proof, secret, local, begins };
}

/**
 * Looks at the log's end: at once; or, where tables are mixed, when it is first needed, which a
 * transaction of theirs may never do.
 */
function onceStarted({ session, registry, call }: AttemptServices): () => Promise<void> {
  const look = async (): Promise<void> => {
    await session.follower.refresh();
    call.isTailComplete = true;
  };
  let looked: Promise<void> | undefined;
  const started = (): Promise<void> => {
    if (looked === undefined) {
      looked = look();
      looked.catch(ignore);
    }
    return looked;
  };
  if (!registry.hasMixed) void started();
  return started;
}

function beginningOf(
  { call, session }: AttemptServices,
  { mayGoUnasked = false }: { readonly mayGoUnasked?: boolean },
): Beginning {
  if (!mayGoUnasked) return "refreshed";
  if (call.isTailComplete) return "again";
  return session.express?.isAlone === true ? "unasked" : "refreshed";
}

export type AttemptTimes = {
  readonly beganMs: number;
  readonly retryMs: number;
  readonly attempts: number;
};

export type FinishOptions = AttemptTimes & {
  readonly ack: Acknowledgement;
  /** Called if it is certified under another one's id, before that is sent. */
  readonly named?: ((name: CommitName) => void) | undefined;
};

/** Commits what the body buffered, installs it, and makes the receipt. */
export async function finishAttempt(
  services: AttemptServices,
  attempt: Attempt,
  options: FinishOptions,
): Promise<Receipt> {
  const { call } = services;
  const { context } = attempt;
  const { clock } = services.ports;
  const bodyEndedMs = clock.monotonicMs();
  call.phase = "committing";
  const base = { attempts: options.attempts, replayed: false } as const;
  const phases = { retryMs: options.retryMs, bodyMs: bodyEndedMs - options.beganMs };
  if (context.writes.size === 0) {
    context.view.assertOpen();
    // mutant: reads-let-out-early
    await context.view.settleChained();
    const { mixed } = context.view;
    const hasMixed = mixed !== undefined && mixed.size > 0;
    if (hasMixed) await mixed.end();
    // mutant: no-refresh-at-end
    if (!hasMixed && attempt.begins !== "refreshed") await context.view.extendToEnd();
    if (!hasMixed) await passNothingOpen(services, context.view);
    return {
      ...base,
      readTimestamp: context.readTimestamp,
      transactionId: undefined,
      commitTimestamp: undefined,
      place: 0,
      consumed: { ...call.consumption },
      phases: { ...phases, certifyMs: 0, installMs: 0 },
      installed: true,
    };
  }
  const committed = touchesMixed(context)
    ? await commitMixed(services, attempt)
    : await commitInLog(services, attempt, options.named);
  const certifiedMs = clock.monotonicMs();
  // The commit stands, whatever happens here: a failed or slow install is replay's to finish.
  const installed =
    options.ack === "installed" &&
    (await orAborted(committed.installed, call.signal).catch((): false => false));
  const { name, consumed, ...told } = committed;
  if (consumed !== undefined) addTo(call.consumption, consumed());
  return {
    ...base,
    ...{ ...name, commitTimestamp: told.commitTimestamp },
    ...(told.isLocal === true ? { local: true } : {}),
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
 * What is open may have read of mixed tables what a native write has replaced since, before this
 * transaction began. It comes before that write then, and so before this one, which must see it:
 *
 *   T        reads y ─ prepared ─ y again, as read ──────────────── vote: z by the old y
 *   native                                     puts y ─┤
 *   this one                                            reads z
 *
 * Whatever is prepared behind the tail's end has read later.
 */
async function passNothingOpen(
  { ports, session, call, registry }: AttemptServices,
  view: ReadView,
): Promise<void> {
  const { reads, isolation } = view;
  if (isolation !== "serializable" || view.mode !== "read-write" || reads.size === 0) return;
  if (!registry.hasMixed && view.tail.open.size === 0) return;
  for (let met = 1; ; met += 1) {
    const { open } = view.tail;
    const ids = open.allInTheWay([...reads.keys.keys(), ...reads.predicates.keys()], []);
    if (ids.length === 0) break;
    await bringAllAbout(ports, session, { ids, met, signal: call.signal, call: call.options });
  }
  view.refuseBelowTail();
  if (reads.isOvertakenByVote(view.tail)) view.extend();
}

/** A transaction that stands, by whichever way. */
type Committed = {
  readonly name: CommitName;
  readonly commitTimestamp: Timestamp | undefined;
  /** Whether its writes are in their tables. */
  readonly installed: Promise<boolean>;
  /** What has not been counted for the call yet. */
  readonly consumed?: () => Consumption;
  readonly isLocal?: true;
};

function touchesMixed({ view, writes }: TransactionContext): boolean {
  if (view.mixed !== undefined && view.mixed.size > 0) return true;
  for (const { table } of writes.values()) if (table.access === "mixed") return true;
  return false;
}

async function commitMixed(services: AttemptServices, attempt: Attempt): Promise<Committed> {
  const { session, call } = services;
  const tables = await orAborted(session.mixed(), call.signal);
  const { view, writes } = attempt.context;
  const commit = await tables.commit(services, { ...attempt, view, writes });
  if (commit.kind === "local") {
    const name = { transactionId: commit.transactionId, place: 0 };
    return { name, commitTimestamp: undefined, installed: Promise.resolve(true), isLocal: true };
  }
  const { id: transactionId, timestamp: commitTimestamp } = commit.verdict;
  return { name: { transactionId, place: 0 }, commitTimestamp, installed: commit.installed };
}

async function commitInLog(
  services: AttemptServices,
  attempt: Attempt,
  named: ((name: CommitName) => void) | undefined,
): Promise<Committed> {
  const { commit, place, consumed } = await sendOff(services, attempt, named);
  const { verdict } = await commit.follow(place, services.call.signal);
  const { id: transactionId, timestamp: commitTimestamp } = verdict;
  return { name: { transactionId, place }, commitTimestamp, installed: commit.installed, consumed };
}

function addTo(sum: Consumption, { readUnits, writeUnits, calls }: Consumption): void {
  sum.readUnits += readUnits;
  sum.writeUnits += writeUnits;
  sum.calls += calls;
}

/**
 * Seals the transaction and sends it on its way, in one turn: by itself, or with those from which
 * it has read what they are about to write.
 */
async function sendOff(
  services: AttemptServices,
  { context, id, proof, local }: Attempt,
  named: ((name: CommitName) => void) | undefined,
): Promise<SentCommit> {
  const { view, writes } = context;
  // A body that read nothing has not waited for the transaction's own refresh yet.
  await view.ready();
  view.sealForCommit();
  const { reads, isolation } = view;
  assertKeyCount(reads.size, writes.size);
  const joins = (name: CommitName): void => {
    named?.(name);
    services.emit?.({ kind: "joined", ...name });
  };
  const sealed = { id, proof, isolation, reads, writes, joins };
  const together = (local ?? services.own)?.commit(services, sealed);
  if (together !== undefined) return together;
  const commit = new CommitUnderWay(services, sealed);
  commit.start();
  return { commit, place: 0, consumed: () => commit.consumption };
}

/**
 * Runs the body of an attempt. A doomed one fails with what doomed it, whatever the body made of
 * that.
 */
export async function inAttempt<T>(
  services: AttemptServices,
  attempt: Attempt,
  run: () => Promise<T>,
): Promise<T> {
  const { view } = attempt.context;
  try {
    return await run();
  } catch (error) {
    // Never in place of an unknown outcome, which forbids another run, nor of a bug.
    if (error instanceof CommitUnknownError || error instanceof InvariantViolation) throw error;
    // What the body says of values that were never committed is not to be heard.
    // mutant: errors-let-out-early
    if (view.doomed === undefined && !view.isSealed) {
      await view.settleChained();
      // Nor what it says of items that were never there at one moment.
      await view.mixed?.end();
      // Nor of what was overwritten before it began.
      if (attempt.begins === "unasked") {
        // probe: unasked-body-failed
        // mutant: unasked-errors-let-out
        await view.extendToEnd();
      }
      await passNothingOpen(services, view);
    }
    throw view.doomed ?? error;
  } finally {
    view.close();
  }
}
