/** One attempt of a transaction, from its first read to its last install (attempt-runner.ts). */
import { assert, InvariantViolation } from "../../core/assert.ts";
import { CommitUnknownError } from "../../core/errors.ts";
import { OnDemand } from "../../core/on-demand.ts";
import type { Consumption } from "../../core/ports.ts";
import type { Timestamp, TransactionId } from "../../core/types.ts";
import {
  transactionIdFor,
  transactionIdProofBytes,
  voteProofOf,
} from "../../schemas/transaction-id.ts";
import { AttemptFate } from "./attempt-fate.ts";
import type { AttemptServices } from "./attempt-services.ts";
import { AttemptViews, type AttemptOptions } from "./attempt-views.ts";
import type { CommitServices } from "../committing/commit-services.ts";
import type { Committed } from "../log/committed.ts";
import {
  CommitUnderWay,
  type CommitName,
  type SentCommit,
} from "../committing/commit-under-way.ts";
import { ignore, orAborted } from "../concurrency.ts";
import { endWithoutCommit } from "./end-without-commit.ts";
import type { ReadView } from "../reading/read-view.ts";
import { TransactionContext } from "./transaction-context.ts";
import type { Acknowledgement, CallEvent, Receipt } from "../types.ts";
import { assertKeyCount } from "./write-buffer.ts";

const sharding = new OnDemand(
  "transactions over several shards",
  () => import("../sharded/certify-in-shards.ts"),
);

export type Attempt = {
  readonly context: TransactionContext;
  readonly views: AttemptViews;
  /** In a deployment of several shards a new one is made at its commit. */
  readonly id: TransactionId;
  /** Shown to replay once its writes are installed; or to the log, by its vote. */
  readonly proof: Uint8Array;
  /** What the proof is the digest of: shown to replay by one that was voted on. */
  readonly secret: Uint8Array;
};

export async function beginAttempt(
  services: AttemptServices,
  options: AttemptOptions,
): Promise<Attempt> {
  const { ports, sessions, call, registry } = services;
  const fate = new AttemptFate(ports.clock, options.startedMs ?? ports.clock.nowMs(), call.options);
  const views = new AttemptViews(services, options, fate);
  await views.begin();
  const secret = ports.random.bytes(transactionIdProofBytes);
  const proof = voteProofOf(secret, ports.digest);
  // Of several shards it is not known yet in which it will be decided: none is made before.
  const seen = sessions.lone === undefined ? (0 as Timestamp) : views.lone.tail.newest;
  const id = transactionIdFor(seen, proof, ports.digest);
  return { context: new TransactionContext(views, registry), views, id, proof, secret };
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
  const { context, views } = attempt;
  const { clock } = services.ports;
  const bodyEndedMs = clock.monotonicMs();
  call.phase = "committing";
  const { attempts } = options;
  const [reads, writes] = [views.readCount, context.writes.size];
  services.emit?.({ kind: "body-ended", attempt: attempts, reads, writes });
  const base = { attempts: options.attempts, replayed: false } as const;
  const phases = { retryMs: options.retryMs, bodyMs: bodyEndedMs - options.beganMs };
  if (context.writes.size === 0) {
    views.assertOpen();
    await endWithoutCommit(services, views, { isUnasked: false });
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
  assert(views.mode === "read-write", "attempt: who only reads writes nothing");
  context.writes.noteEarlierAttempts(attempts - 1);
  const committed = await commit(services, attempt, options.named);
  const certifiedMs = clock.monotonicMs();
  if (services.emit !== undefined) tellInstalled(committed, services.emit);
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

/** Also to who does not wait for it. */
function tellInstalled(
  { name: { transactionId }, installed }: Committed,
  emit: (event: CallEvent) => void,
): void {
  const told = installed.then((whole) => {
    emit({ kind: "installed", transactionId, whole });
  });
  told.catch(ignore);
}

function touchesMixed({ views, writes }: TransactionContext): boolean {
  if (views.all.some(({ mixed }) => mixed !== undefined && mixed.size > 0)) return true;
  for (const { table } of writes.values()) if (table.access === "mixed") return true;
  return false;
}

type Named = ((name: CommitName) => void) | undefined;

async function commit(
  services: AttemptServices,
  attempt: Attempt,
  named: Named,
): Promise<Committed> {
  const { context, views } = attempt;
  const touchedAll = await touchedViews(attempt);
  await views.untilOpen(touchedAll);
  const [first, ...others] = touchedAll;
  assert(first !== undefined, "attempt: whoever writes touches a shard");
  const isMixed = touchesMixed(context);
  if (others.length > 0) {
    const { certifyInShards } = await orAborted(sharding.load(), services.call.signal);
    const { proof, secret } = attempt;
    const { writes } = context;
    const touched = [first, ...others];
    return certifyInShards(services, { touched, views, writes, isMixed, proof, secret, named });
  }
  const { session, own } = first;
  const here = { ...services, session, own };
  const known = services.sessions.lone === undefined ? nameAnew(here, attempt, named) : attempt;
  return isMixed
    ? commitMixed(here, known, first)
    : commitInLog(here, known, { view: first, named });
}

/** Those whose shards it reads or writes. */
async function touchedViews({ context, views }: Attempt): Promise<readonly ReadView[]> {
  const touched = new Set<ReadView>();
  const { writes } = context;
  // Meets those that come meanwhile, too: of a body that has not waited for them.
  for (const { hashes } of writes.values()) touched.add(await views.at(hashes.partition));
  writes.complete();
  for (const view of views.all) {
    if (view.readCount > 0 || view.local?.isChained === true) touched.add(view);
  }
  views.complete(touched);
  return [...touched].sort((a, b) => a.session.number - b.session.number);
}

/** Made by what its shard's log shows: every decision on it lies above. */
function nameAnew({ ports, session }: CommitServices, attempt: Attempt, named: Named): Attempt {
  const { newest } = session.follower.tail;
  const id = transactionIdFor(newest, attempt.proof, ports.digest);
  named?.({ transactionId: id, place: 0 });
  return { ...attempt, id };
}

/** What an attempt needs to commit in one shard. */
type HereServices = AttemptServices & CommitServices & Pick<ReadView, "own">;

async function commitMixed(
  services: HereServices,
  attempt: Attempt,
  view: ReadView,
): Promise<Committed> {
  const { session, call } = services;
  const tables = await orAborted(session.mixed(), call.signal);
  const { id, proof, secret } = attempt;
  const { writes } = attempt.context;
  const commit = await tables.commit(services, { id, proof, secret, view, writes });
  if (commit.kind === "local") {
    const name = { transactionId: commit.transactionId, place: 0 };
    return { name, commitTimestamp: undefined, installed: Promise.resolve(true), isLocal: true };
  }
  const { id: transactionId, timestamp: commitTimestamp } = commit.verdict;
  return { name: { transactionId, place: 0 }, commitTimestamp, installed: commit.installed };
}

async function commitInLog(
  services: HereServices,
  attempt: Attempt,
  by: { readonly view: ReadView; readonly named: Named },
): Promise<Committed> {
  const { commit, place, consumed } = await sendOff(services, attempt, by);
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
  services: HereServices,
  { context: { writes }, id, proof }: Attempt,
  { view, named }: { readonly view: ReadView; readonly named: Named },
): Promise<SentCommit> {
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
  const together = (view.local ?? services.own)?.commit(services, sealed);
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
  const { views } = attempt;
  const { fate } = views;
  try {
    return await run();
  } catch (error) {
    // Never in place of an unknown outcome, which forbids another run, nor of a bug.
    if (error instanceof CommitUnknownError || error instanceof InvariantViolation) throw error;
    if (fate.doomed === undefined && !fate.isClosed) {
      // What the body says of values that were never committed is not to be heard; nor of items
      // that were never there at one moment, nor of what was overwritten before it began.
      // mutant: errors-let-out-early
      await endWithoutCommit(services, views, { isUnasked: true });
    }
    throw fate.doomed ?? error;
  } finally {
    views.close();
  }
}
