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
 * Paper: Centiman §3.1 (validation over several validators).
 */
import { setMaxListeners } from "node:events";
import { assert, InvariantViolation } from "../../core/assert.ts";
import { CommitUnknownError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { TransactionReads } from "../../core/transaction-reads.ts";
import type { Answer, Part, Timestamp, TransactionId, WholeOutcome } from "../../core/types.ts";
import { transactionIdFor } from "../../schemas/transaction-id.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import type { AttemptViews } from "../attempts/attempt-views.ts";
import type { Committed } from "../log/committed.ts";
import { sendRequest, tablesOf, type Sent } from "../committing/commit.ts";
import { abortError } from "../committing/commit-request.ts";
import type { CommitName } from "../committing/commit-under-way.ts";
import { follow, noLongerNeeded } from "../concurrency.ts";
import { RangeMovedError } from "../conflict-error.ts";
import type { ReadView } from "../reading/read-view.ts";
import { bringAllAbout, settledAnswer, unknownError } from "../committing/request-settler.ts";
import type { ShardSession } from "../shard-session.ts";
import type { CommitWay } from "../types.ts";
import { assertKeyCount, type WriteBuffer } from "../attempts/write-buffer.ts";
import { OwnOutcome, type PlacedPart } from "./own-outcome.ts";
import { abortIn } from "./settle-outcome.ts";

export type ShardedCommit = {
  /** Of the shards that it reads or writes, by rising number. */
  readonly touched: readonly ReadView[];
  readonly views: AttemptViews;
  readonly writes: WriteBuffer;
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
};

/** One that its log has answered. */
type Answered = OwnPart &
  PlacedPart & {
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
  const { touched, views, writes, named } = commit;
  for (const view of touched) {
    await view.settleChained();
    await view.ready();
  }
  // A read that its body did not wait for may have chained meanwhile.
  for (const view of touched) await view.settleChained();
  for (const view of touched) view.sealForCommit();
  assertKeyCount(views.readCount, writes.size);
  const own = touched.map(({ session, reads }): OwnPart => {
    const from = session.follower.tail.newest;
    return { session, reads, from, writes: writes.inShard(session.number, services.sessions.map) };
  });
  // The map has changed since it was said which shards are touched.
  if (own.reduce((sum, part) => sum + part.writes.size, 0) !== writes.size) {
    throw views.fate.doom(new RangeMovedError());
  }
  const { call } = services;
  // As of its first run: so it gets no younger by running again, and is the oldest one some day.
  const seen = Math.min(call.seen, ...own.map(({ from }) => from)) as Timestamp;
  call.seen = seen;
  const id = transactionIdFor(seen, commit.proof, services.ports.digest);
  named?.({ transactionId: id, place: 0 });
  // The entry of an idempotency key names it now.
  const parts = own.map((each) => ({
    ...each,
    writes: writes.inShard(each.session.number, services.sessions.map),
  }));
  const outcome = new OwnOutcome(services, { id, proof: commit.proof, secret: commit.secret });
  return new InShards(services, { id, parts, outcome }).commit();
}

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
    this.#parts = parts.map(({ session, from }) => ({ shard: session.number, from }));
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
      const whole = this.#wholeOf(prepared);
      if (whole?.kind !== "committed") {
        const failure = this.#failure();
        // What was never sent, or is overtaken, can never be prepared. Of what is not known nobody
        // says anything.
        // mutant: aborted-when-unknown
        if (failure.isCertain) this.#outcome.abort(this.#own, this.#unanswered(prepared));
        await this.#awaitOlder();
        throw failure.error;
      }
      const commitTimestamp = whole.timestamp;
      const [first] = prepared;
      const via = first?.via ?? "stream";
      emit?.({ kind: "certified", transactionId: this.#id, commitTimestamp, via });
      const name = { transactionId: this.#id, place: 0 };
      return { name, commitTimestamp, installed: this.#outcome.commit(prepared, whole) };
    } finally {
      unfollow();
      for (const { session, user } of pins) session.follower.leave(user);
    }
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
    const { ports, freshMs, emit, call } = this.#services;
    const { session, reads, writes, from } = part;
    let via: CommitWay = "stream";
    // Below serializable, too, what was read is checked: it was read at several timestamps.
    // mutant: parts-check-writes-only
    const subject = { isolation: "serializable", reads, writes } as const;
    const sent: Sent<Answer> = await sendRequest(ports, session, subject, {
      ...{ kind: "prepare", parts: this.#parts, id: this.#id, undecidedTo: from },
      ...{ freshMs, signal, group: undefined },
      call: { signal, ...consumptionOf(call) },
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
    const { ports, call } = this.#services;
    const opened = session.follower.tail.open.get(other)?.prepared;
    // In the order of what they had seen of the logs when they began.
    const isYounger = this.#id > other;
    if (opened?.parts === undefined || !isYounger) return undefined;
    // probe: part-gives-way
    this.#older = { session, id: other };
    if (!isSent) throw new UnavailableError("an older transaction over several shards goes first");
    // A copy of it may yet come to be prepared, when the other one is out of the way.
    const asked = { id: this.#id, from, signal, call: { signal, ...consumptionOf(call) } };
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
  #failure(): { readonly error: unknown; readonly isCertain: boolean } {
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

function consumptionOf({ options }: AttemptServices["call"]): {
  readonly consumption?: NonNullable<AttemptServices["call"]["options"]["consumption"]>;
} {
  const { consumption } = options;
  return consumption === undefined ? {} : { consumption };
}
