/**
 * Commits a transaction over several shards (docs/adr/0015-many-shards.md): a part in each of their
 * logs, side by side, by whichever way each takes; committed exactly if all are prepared.
 *
 *   client   ── prepare ──▶ A, B ── both prepared: committed ──▶ entered in A, B ──▶ installs
 *                             └── one says no: aborted ──▶ entered where it is prepared
 *
 * One round trip, and no coordinator: what became of it the logs say to anybody
 * (settle-outcome.ts). Nothing is installed before the outcome stands in its log: so a version that
 * is met in a table is one that the log knows.
 *
 * What touches mixed tables as well has more to ask once all parts are prepared, and then votes, in
 * the log of its first part, which decides:
 *
 *   client   ── prepare ──▶ A, B ── fences ── read again ── vote ──▶ A: committed ──▶ entered in B
 *                             └── one says no, or something has changed ──▶ A: aborted
 *
 * Paper: Centiman §3.1 (validation over several validators), Mediator §4.2.
 */
import { setMaxListeners } from "node:events";
import { assert, InvariantViolation } from "../../core/assert.ts";
import { CommitUnknownError, tooLarge, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions } from "../../core/ports.ts";
import type { TransactionReads } from "../../core/transaction-reads.ts";
import type { Answer, Part, Timestamp, TransactionId, WholeOutcome } from "../../core/types.ts";
import { decidingPart } from "../../core/whole-outcome.ts";
import { transactionIdFor } from "../../schemas/transaction-id.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import type { AttemptViews } from "../attempts/attempt-views.ts";
import type { Committed } from "../log/committed.ts";
import { sendRequest, tablesOf, type Sent } from "../committing/commit.ts";
import { abortError, probedError, type Committable } from "../committing/commit-request.ts";
import type { CommitName } from "../committing/commit-under-way.ts";
import { follow, noLongerNeeded, orAborted } from "../concurrency.ts";
import { RangeMovedError } from "../conflict-error.ts";
import type { MixedWay, NativeChecks } from "../mixed-way.ts";
import type { ReadView } from "../reading/read-view.ts";
import { bringAllAbout, settledAnswer, unknownError } from "../committing/request-settler.ts";
import type { ShardSession } from "../shard-session.ts";
import type { CommitWay } from "../types.ts";
import { assertKeyCount, type WriteBuffer } from "../attempts/write-buffer.ts";
import { OwnOutcome } from "./own-outcome.ts";
import { abortIn } from "./settle-outcome.ts";
import { decideByVote, type Committing, type Voted, type VotingPart } from "./vote-in-shards.ts";

export type ShardedCommit = {
  /** Of the shards that it reads or writes, by rising number. */
  readonly touched: readonly ReadView[];
  readonly views: AttemptViews;
  readonly writes: WriteBuffer;
  /** Whether it has read or writes a mixed table. */
  readonly isMixed: boolean;
  readonly proof: Uint8Array;
  readonly secret: Uint8Array;
  /** Told its name before anything is sent. */
  readonly named: ((name: CommitName) => void) | undefined;
};

/** One of its parts. */
type OwnPart = {
  readonly session: ShardSession;
  readonly reads: TransactionReads;
  readonly writes: WriteBuffer;
  readonly from: Timestamp;
  /** Of one that touches mixed tables; undefined: no part does. */
  readonly native: NativeChecks | undefined;
};

/** One that its log has answered. */
type Answered = OwnPart &
  VotingPart & {
    /** What it means to the caller that it is aborted. */
    readonly refusal: Error | undefined;
  };

/**
 * @throws ConflictError, SnapshotTooOldError, UnavailableError, TransactionTooLargeError: not
 *   committed. CommitUnknownError: sent, and not all have answered before the signal.
 */
export async function certifyInShards(
  services: AttemptServices,
  commit: ShardedCommit,
): Promise<Committed> {
  const { touched, views, writes, isMixed, named } = commit;
  for (const view of touched) {
    await view.settleChained();
    await view.ready();
  }
  if (isMixed) refuseTooManyWrites(writes);
  const ways = isMixed ? await mixedWays(services, touched) : undefined;
  // A read that its body did not wait for may have chained meanwhile.
  for (const view of touched) await view.settleChained();
  for (const view of touched) view.sealForCommit();
  assertKeyCount(views.readCount, writes.size);
  const { call, sessions } = services;
  const { map } = sessions;
  const inShard = (view: ReadView): WriteBuffer => writes.inShard(view.session.number, map);
  // The map has changed since it was said which shards are touched.
  if (touched.reduce((sum, view) => sum + inShard(view).size, 0) !== writes.size) {
    throw views.fate.doom(new RangeMovedError());
  }
  const newest = touched.map(({ session }) => session.follower.tail.newest);
  // As of its first run: so it gets no younger by running again, and is the oldest one some day.
  const seen = Math.min(call.seen, ...newest) as Timestamp;
  call.seen = seen;
  const id = transactionIdFor(seen, commit.proof, services.ports.digest);
  named?.({ transactionId: id, place: 0 });
  // The entry of an idempotency key names it now.
  const parts = touched.map((view): OwnPart => {
    const { session, reads } = view;
    const own = inShard(view);
    const native = ways?.get(session)?.checks(view, own);
    return { session, reads, from: session.follower.tail.newest, writes: own, native };
  });
  const outcome = new OwnOutcome(services, { id, proof: commit.proof, secret: commit.secret });
  return new InShards(services, { id, parts, outcome }).commit();
}

/** One vote has the stamps of all of its parts. */
function refuseTooManyWrites({ size: actual }: WriteBuffer): void {
  const max = limits.preparedWritesMax;
  if (actual > max) throw tooLarge({ name: "preparedWritesMax", max, actual });
}

/** And what was read of mixed tables in calls before is as if it had been read in this one. */
async function mixedWays(
  { call }: AttemptServices,
  touched: readonly ReadView[],
): Promise<ReadonlyMap<ShardSession, MixedWay>> {
  const ways = touched.map(async (view) => {
    const way = await orAborted(view.session.mixed(), call.signal);
    await way.reads(view).recall(call.options);
    return [view.session, way] as const;
  });
  return new Map(await Promise.all(ways));
}

/** Why it is not committed, and whether that is known. */
type Failure = { readonly error: unknown; readonly isCertain: boolean };

class InShards {
  readonly #services: AttemptServices;
  readonly #id: TransactionId;
  readonly #own: readonly OwnPart[];
  readonly #parts: readonly Part[];
  readonly #outcome: OwnOutcome;
  /** In the order in which they came; `isStopped`: after another one. */
  readonly #failures: { readonly error: unknown; readonly isStopped: boolean }[] = [];
  readonly #sent = new Set<ShardSession>();
  /** What it has given way to. */
  #older: { readonly session: ShardSession; readonly id: TransactionId } | undefined;

  constructor(
    services: AttemptServices,
    {
      id,
      parts,
      outcome,
    }: {
      readonly id: TransactionId;
      readonly parts: readonly OwnPart[];
      readonly outcome: OwnOutcome;
    },
  ) {
    this.#services = services;
    this.#id = id;
    this.#own = parts;
    this.#parts = parts.map(({ session, from, native }) => {
      const part = { shard: session.number, from };
      return native === undefined ? part : { ...part, stamps: native.fences };
    });
    this.#outcome = outcome;
  }

  async commit(): Promise<Committed> {
    const { call, emit } = this.#services;
    const stop = new AbortController();
    // Each part listens to it.
    setMaxListeners(0, stop.signal);
    const unfollow = follow(stop, call.signal);
    // The tails remember what is to be checked, and every decision on the id.
    const pins = this.#own.map(({ session, from }) => ({ session, user: { readTimestamp: from } }));
    for (const { session, user } of pins) session.follower.enter(user);
    try {
      const asked = this.#own.map((part) =>
        this.#prepare(part, stop.signal).catch((error: unknown) => {
          this.#fails(error, stop);
          throw error;
        }),
      );
      const results = await Promise.allSettled(asked.map((each) => this.#orRefused(each, stop)));
      const prepared: Answered[] = [];
      for (const result of results) if (result.status === "fulfilled") prepared.push(result.value);
      const placed = this.#wholeOf(prepared);
      if (placed?.kind !== "committed") {
        const failure = this.#isVoted ? givenUp(this.#failure()) : this.#failure();
        // What was never sent, or is overtaken, can never be prepared. Of what is not known nobody
        // says anything.
        // mutant: aborted-when-unknown
        if (failure.isCertain) this.#abort(this.#unanswered(prepared));
        await this.#awaitOlder();
        throw failure.error;
      }
      const { whole, decision } = await this.#decide(prepared, placed);
      const commitTimestamp = whole.timestamp;
      const [first, ...others] = prepared;
      const via = first?.via ?? "stream";
      emit?.({ kind: "certified", transactionId: this.#id, commitTimestamp, via });
      const name = { transactionId: this.#id, place: 0 };
      // Where its vote stands, it is entered.
      const voted = first && decision && [{ ...first, answer: decision }, ...others];
      return { name, commitTimestamp, installed: this.#outcome.commit(voted ?? prepared, whole) };
    } finally {
      unfollow();
      for (const { session, user } of pins) session.follower.leave(user);
    }
  }

  /**
   * Of what touches mixed tables the vote decides.
   * @throws ConflictError, UnavailableError, StoreError: it is aborted. CommitUnknownError.
   */
  async #decide(
    prepared: readonly Answered[],
    placed: Committing,
  ): Promise<Pick<Voted, "whole"> & Partial<Voted>> {
    if (!this.#isVoted) return { whole: placed };
    const nobody = new Set<ShardSession>();
    const { ports, call } = this.#services;
    const name = { id: this.#id, proof: this.#outcome.proof };
    const asked = { ...name, placed, ...this.#calling(call.signal) };
    try {
      const voted = await decideByVote(ports, prepared, asked);
      if (voted !== undefined) return voted;
    } catch (error) {
      // Once its vote may be on its way, the log alone says what becomes of it.
      if (!(error instanceof CommitUnknownError)) this.#abort(nobody);
      throw error;
    }
    this.#abort(nobody);
    throw probedError();
  }

  /** Where its parts are, or may come to be, prepared; and its fences are taken away then. */
  #abort(onWay: ReadonlySet<ShardSession>): void {
    const aborted = this.#outcome.abort(this.#own, onWay);
    const { background } = this.#services;
    for (const { native } of this.#own) {
      if (native === undefined || native.fences === 0) continue;
      const cleaned = aborted
        .then(() => native.cleanUp(this.#id))
        .finally(() => {
          background.delete(cleaned);
        });
      background.add(cleaned);
    }
  }

  get #isVoted(): boolean {
    return decidingPart(this.#parts) !== undefined;
  }

  /** What all have said; undefined: not all have. */
  #wholeOf(prepared: readonly Answered[]): WholeOutcome | undefined {
    let greatest = 0;
    for (const { answer } of prepared) {
      if (answer.kind === "aborted") return { kind: "aborted" };
      // Somebody who met a part has entered the outcome already: it says it for all.
      if (answer.kind === "committed") {
        return { kind: "committed", timestamp: answer.timestamp };
      }
      greatest = Math.max(greatest, answer.timestamp);
    }
    // mutant: commits-on-some-parts
    if (prepared.length < this.#own.length) return undefined;
    return { kind: "committed", timestamp: greatest as Timestamp };
  }

  async #prepare(part: OwnPart, signal: AbortSignal): Promise<Answered> {
    const { ports, freshMs, emit } = this.#services;
    const { session, reads, writes, from, native } = part;
    let via: CommitWay = "stream";
    // Below serializable, too, what was read is checked: it was read at several timestamps.
    // mutant: parts-check-writes-only
    const subject = { isolation: "serializable", reads, writes, ...mixedOf(native) } as const;
    const sent: Sent<Answer> = await sendRequest(ports, session, subject, {
      ...{ kind: "prepare", parts: this.#parts, id: this.#id, undecidedTo: from },
      ...{ freshMs, group: undefined },
      ...this.#calling(signal),
      onSent: (transactionId, how) => {
        via = how.via;
        this.#sent.add(session);
        emit?.({ kind: "sent", transactionId, ...how });
      },
      settle: (request) =>
        settledAnswer(ports, session, {
          ...request,
          giveWay: (other, { isSent }) => this.#giveWay(part, other, { isSent, signal }),
        }),
    });
    const { payload, sentMs, checks } = sent;
    const answer = await sent.answer;
    // Whoever has seen its id in another log may have come first, with a part of his own.
    const isWhole = answer.kind === "aborted" || answer.writes.length === payload.writes.length;
    assert(isWhole, "I3: the verdict covers every write");
    const refusal =
      answer.kind === "aborted" ? abortError(answer.reason, checks, tablesOf(part)) : undefined;
    return { ...part, payload, sentMs, via, answer, refusal };
  }

  /**
   * Of two parts that meet the younger one's transaction ends, and its other parts with it. If it
   * waited, two that meet in two logs would each be prepared in one and wait in the other, until
   * each ends the other; and whoever waits bars others meanwhile. Who is older waits.
   */
  async #giveWay(
    { session, from }: OwnPart,
    other: TransactionId,
    { isSent, signal }: { readonly isSent: boolean; readonly signal: AbortSignal },
  ): Promise<Answer | undefined> {
    const { ports } = this.#services;
    const opened = session.follower.tail.open.get(other)?.prepared;
    // In the order of what they had seen of the logs when they began.
    const isYounger = this.#id > other;
    if (opened?.parts === undefined || !isYounger) return undefined;
    // probe: part-gives-way
    this.#older = { session, id: other };
    if (!isSent) throw new UnavailableError("an older transaction over several shards goes first");
    // A copy of it may yet come to be prepared, when the other one is out of the way.
    const asked = { id: this.#id, from, ...this.#calling(signal) };
    return abortIn(ports, session, asked);
  }

  /**
   * It would only meet that one again, whose client may be dead: it is waited for, by who holds
   * nothing any more, and settled after a while. What fails the next run meets.
   */
  async #awaitOlder(): Promise<void> {
    if (this.#older === undefined) return;
    const { ports, call } = this.#services;
    const { session, id } = this.#older;
    const asked = { ids: [id], met: limits.olderPartsMet, signal: call.signal, call: call.options };
    await bringAllAbout(ports, session, asked).catch(refuseBug);
  }

  /** What the others say is of no use any more once one of them is refused. */
  async #orRefused(asked: Promise<Answered>, stop: AbortController): Promise<Answered> {
    const prepared = await asked;
    if (prepared.refusal !== undefined) this.#fails(prepared.refusal, stop);
    return prepared;
  }

  /** Units are counted for its caller, whatever ends the call. */
  #calling(signal: AbortSignal): { readonly signal: AbortSignal; readonly call: CallOptions } {
    const { consumption } = this.#services.call.options;
    return { signal, call: consumption === undefined ? { signal } : { signal, consumption } };
  }

  #fails(error: unknown, stop: AbortController): void {
    this.#failures.push({ error, isStopped: stop.signal.aborted });
    stop.abort(noLongerNeeded);
  }

  #unanswered(prepared: readonly Answered[]): ReadonlySet<ShardSession> {
    const unanswered = new Set(this.#sent);
    for (const { session } of prepared) unanswered.delete(session);
    return unanswered;
  }

  /** Why it is not committed; or why nobody knows, if all that is missing may be on its way. */
  #failure(): Failure {
    const { signal } = this.#services.call;
    const bug = this.#failures.find(({ error }) => error instanceof InvariantViolation);
    if (bug !== undefined) return { error: bug.error, isCertain: false };
    const certain = this.#failures.filter(({ error }) => !(error instanceof CommitUnknownError));
    const own = certain.find(({ isStopped }) => !isStopped);
    if (own !== undefined) return { error: own.error, isCertain: true };
    const [first] = this.#failures;
    if (certain.length === 0) {
      const lastFailure = first?.error;
      return { error: unknownError(this.#id, signal, { lastFailure }), isCertain: false };
    }
    // One of them was never sent, since nothing was known of another.
    const cause = first?.error;
    const message = "the transaction was given up before all of its parts were sent";
    return { error: new UnavailableError(message, { cause }), isCertain: true };
  }
}

function refuseBug(error: unknown): void {
  if (error instanceof InvariantViolation) throw error;
}

/** Nothing of what votes can be committed without its vote, whatever is on its way. */
function givenUp({ error }: Failure): Failure {
  if (!(error instanceof CommitUnknownError)) return { error, isCertain: true };
  const message = "the transaction was given up before its vote";
  return { error: new UnavailableError(message, { cause: error }), isCertain: true };
}

/** As what is sent to be prepared has it. */
function mixedOf(
  native: NativeChecks | undefined,
): Pick<Committable, "mixed" | "overtaken"> | undefined {
  return native && { mixed: native.checks, overtaken: (tail) => native.overtaken(tail) };
}
