/**
 * Commits a transaction that touches mixed tables (docs/adr/0014-native-operations.md; Mediator
 * §4.2): a place in the log first, then fences on all that it writes there, then what it has only
 * read once more, then the vote. The order matters: what is checked before the place in the log
 * proves nothing.
 *
 *     send ── prepared ──▶ fence ── all stand ──▶ read again ── as read ──▶ vote ── committed
 *      │ refused             │ changed, crowded,    │ changed                │ somebody voted first
 *      ▼                     ▼ unsure, failed       ▼                        ▼
 *     aborted               vote against, clean up ───────────────────────▶ aborted
 *
 * Until its vote is sent nobody can commit it, so whatever fails before is an abort, and known.
 */
import { assert } from "../../core/assert.ts";
import { CommitUnknownError, tooLarge, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type {
  CommitRequest,
  CommittedVerdict,
  PreparedVerdict,
  Stamp,
  TransactionId,
} from "../../core/types.ts";
import { sendRequest, tablesOf, type Certified } from "../committing/commit.ts";
import { abortError, probedError, type Committable } from "../committing/commit-request.ts";
import { Call } from "../call.ts";
import { ignore, orAborted } from "../concurrency.ts";
import { conflictError } from "../conflict-error.ts";
import { DecisionSearch } from "../log/decision-search.ts";
import type { OnSent } from "../express-way.ts";
import { settledDecision, settledPlace, voteAgainst } from "../committing/request-settler.ts";
import type { ShardSession } from "../shard-session.ts";
import type { NativeSide } from "./native-side.ts";

/** A transaction at its end, and what it has read of mixed tables. */
export type VotedSubject = Committable & {
  readonly id: TransactionId;
  /** What its vote shows: the id commits to it. */
  readonly proof: Uint8Array;
  readonly native: NativeSide;
};

export type VoteParts = {
  readonly ports: ClientPorts;
  readonly session: ShardSession;
  readonly freshMs: number;
  readonly call: CallOptions;
  readonly signal: AbortSignal;
  readonly onSent: OnSent;
  /** Takes up work that outlives the call. */
  readonly later: (work: Promise<void>) => void;
};

/**
 * @throws ConflictError, SnapshotTooOldError, UnavailableError, TransactionTooLargeError,
 * StoreError: not committed, and never will be.
 * @throws CommitUnknownError: its vote was sent, and no decision seen before the signal.
 */
export async function certifyByVote(parts: VoteParts, subject: VotedSubject): Promise<Certified> {
  const { native, writes, id } = subject;
  const { call } = parts;
  const actual = writes.size;
  const max = limits.preparedWritesMax;
  if (actual > max) throw tooLarge({ name: "preparedWritesMax", max, actual });
  // mutant: verify-before-place
  const { place, payload, sentMs } = await prepare(parts, subject);
  try {
    // Where a stream has placed it, others may have come before.
    const overtaken = native.overtaken(parts.session.follower.tail);
    if (overtaken !== undefined) throw conflictError(overtaken, overtaken);
    // mutant: recheck-begins-with-fences
    const stamps = await native.fence(id, { sentMs, call });
    // mutant: verify-first
    // mutant: rechecks-beside-fences
    await native.compare(id, call);
    await native.compareRows(id, call);
    assert(stamps.length === native.fences, "I10: what is voted is fenced, each write of it");
    const verdict = await vote(parts, subject, { place, stamps });
    if (verdict !== undefined) return { verdict, payload, sentMs };
  } catch (error) {
    // Once its vote may be on its way, the log alone says what becomes of it.
    if (!(error instanceof CommitUnknownError)) await withdraw(parts, subject);
    throw error;
  }
  // probe: voted-down-before-its-vote
  parts.later(native.cleanUp(id));
  throw probedError();
}

async function prepare(
  { ports, session, later, ...parts }: VoteParts,
  subject: VotedSubject,
): Promise<Pick<Certified, "payload" | "sentMs"> & { readonly place: PreparedVerdict }> {
  const { id } = subject;
  try {
    const sent = await sendRequest(ports, session, subject, {
      ...{ ...parts, id, kind: "prepare", group: undefined },
      undecidedTo: subject.reads.readTimestamp,
      settle: (request) => settledPlace(ports, session, request),
    });
    const { checks, payload, sentMs } = sent;
    const place = await sent.answer;
    if (place.kind === "aborted") throw abortError(place.reason, checks, tablesOf(subject));
    assert(place.writes.length === payload.writes.length, "I3: what is prepared is every write");
    return { place, payload, sentMs };
  } catch (error) {
    if (!(error instanceof CommitUnknownError)) throw error;
    // Nothing of it can be committed without its vote; if it stands in the log, it is voted down.
    later(withdrawn({ ports, session }, id));
    throw new UnavailableError("the transaction was given up before its vote", { cause: error });
  }
}

/** Undefined: somebody has voted against it before. @throws CommitUnknownError. */
async function vote(
  { ports, session, call, signal, onSent }: VoteParts,
  { id, isolation, proof }: VotedSubject,
  { place, stamps }: { readonly place: PreparedVerdict; readonly stamps: readonly Stamp[] },
): Promise<CommittedVerdict | undefined> {
  const request: CommitRequest = {
    ...{ kind: "vote", id, isolation, checkedTo: place.timestamp, checks: [] },
    payload: { kind: "none" },
    vote: { proof, stamps },
  };
  const decision = await settledDecision(ports, session, {
    ...{ request, signal, call, onSent, pagesMax: Number.POSITIVE_INFINITY },
    search: new DecisionSearch(session, { id, undecidedTo: place.timestamp }),
    recheck: () => session.follower.tail.newest,
  });
  if (decision.kind === "aborted") return undefined;
  assert(decision.timestamp > place.timestamp, "I2: a commit counts where its vote stands");
  return decision;
}

/** Resolves once it is voted down, or the caller's time is up; never rejects. */
async function withdraw(parts: VoteParts, { id, native }: VotedSubject): Promise<void> {
  const voted = withdrawn(parts, id);
  // Replay does it again, when nothing of it can come any more.
  parts.later(voted.then(() => native.cleanUp(id)));
  await orAborted(voted, parts.signal).catch(ignore);
}

/** Votes against it where it is open; what cannot be done here replay does. Never rejects. */
async function withdrawn(
  { ports, session }: Pick<VoteParts, "ports" | "session">,
  id: TransactionId,
): Promise<void> {
  const call = new Call(ports.clock, { deadlineMs: limits.withdrawMsMax });
  const { signal } = call;
  try {
    const isOpen = (): boolean => session.follower.tail.open.get(id) !== undefined;
    if (!isOpen()) await orAborted(session.follower.refresh(), signal);
    if (isOpen()) {
      // probe: votes-against-itself
      await voteAgainst(ports, session, { id, signal, call: call.options });
    }
  } catch {
  } finally {
    call.end();
  }
}
