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
import type { ItemAddress } from "../../core/mixed-items-port.ts";
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
import type { BufferedWrite } from "../attempts/write-buffer.ts";
import { addressOf } from "./mixed-reader.ts";
import type { FenceResult, MixedItems } from "./mixed-items.ts";
import type { MixedReadSet } from "./mixed-read-set.ts";
import { nativeConflict } from "./native-conflict.ts";
import { changedRead } from "./read-again.ts";

/** A transaction at its end, and what it has read of mixed tables. */
export type VotedSubject = Committable & {
  readonly id: TransactionId;
  /** What its vote shows: the id commits to it. */
  readonly proof: Uint8Array;
  readonly set: MixedReadSet;
};

export type VoteParts = {
  readonly ports: ClientPorts;
  readonly session: ShardSession;
  readonly items: MixedItems;
  readonly freshMs: number;
  readonly call: CallOptions;
  readonly signal: AbortSignal;
  readonly onSent: OnSent;
  /** Takes up work that outlives the call. */
  readonly later: (work: Promise<void>) => void;
};

/** By its item's identity. */
type FencedWrite = readonly [string, BufferedWrite];

/**
 * @throws ConflictError, SnapshotTooOldError, UnavailableError, TransactionTooLargeError,
 * StoreError: not committed, and never will be.
 * @throws CommitUnknownError: its vote was sent, and no decision seen before the signal.
 */
export async function certifyByVote(parts: VoteParts, subject: VotedSubject): Promise<Certified> {
  const { set, writes } = subject;
  const actual = writes.size;
  const max = limits.preparedWritesMax;
  if (actual > max) throw tooLarge({ name: "preparedWritesMax", max, actual });
  // mutant: verify-before-place
  const { place, payload, sentMs } = await prepare(parts, subject);
  const fenced = Array.from(writes.entries()).filter(([, { table }]) => table.access === "mixed");
  try {
    // Where a stream has placed it, others may have come before.
    const overtaken = set.overtaken(parts.session.follower.tail);
    if (overtaken !== undefined) throw conflictError(overtaken, overtaken);
    // mutant: recheck-begins-with-fences
    const stamps = await fence(parts, subject, { writes: fenced, sentMs });
    const identities = new Set(fenced.map(([identity]) => identity));
    // mutant: verify-first
    // mutant: rechecks-beside-fences
    const changed = await changedRead(parts.items, set, {
      ...{ ...parts.call, own: subject.id },
      isFenced: (identity) => identities.has(identity),
    });
    if (changed !== undefined) throw nativeConflict(changed);
    await assertRowsFenced(parts, subject, fenced);
    assert(stamps.length === fenced.length, "I10: what is voted is fenced, each write of it");
    const verdict = await vote(parts, subject, { place, stamps });
    if (verdict !== undefined) return { verdict, payload, sentMs };
  } catch (error) {
    // Once its vote may be on its way, the log alone says what becomes of it.
    if (!(error instanceof CommitUnknownError)) {
      await withdraw(parts, subject.id, addressesOf(fenced));
    }
    throw error;
  }
  parts.later(cleanUp(parts, subject.id, addressesOf(fenced)));
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

/**
 * The stamps of the fences, in the payload's order.
 * @param sentMs wall clock, before it was first asked for its place.
 * @throws ConflictError, UnavailableError, StoreError.
 */
async function fence(
  { items, ports, call }: VoteParts,
  { id, set }: VotedSubject,
  { writes, sentMs }: { readonly writes: readonly FencedWrite[]; readonly sentMs: number },
): Promise<readonly Stamp[]> {
  // What is sent later, by a machine that has slept, no clean-up would look for.
  const nowMs = ports.clock.nowMs();
  const signBeforeMs = Math.min(nowMs + limits.installSignMsMax, sentMs + limits.ownInstallMsMax);
  const results = await Promise.allSettled(
    writes.map(([identity, write]) =>
      items.fence(
        { id, at: addressOf(write), read: set.keys.get(identity)?.seen },
        { ...call, signBeforeMs },
      ),
    ),
  );
  return results.map((result, i) => {
    if (result.status === "rejected") throw result.reason;
    if (result.value.kind === "fenced") return result.value.stamp;
    throw fenceError(result.value, writes[i]?.[1]);
  });
}

/**
 * A row that a page covers and that is written unread has compared nothing with its fence. The page
 * may look as it was read because of a native write that has come after the fence; then what it
 * shows lies behind that write, and the transaction's own write before it. Where the fence still
 * stands after the page was read again, the page was that of the fence.
 */
async function assertRowsFenced(
  { items, call }: VoteParts,
  { id, set }: VotedSubject,
  fenced: readonly FencedWrite[],
): Promise<void> {
  const paged = new Set(set.pages.map(({ source }) => source.request.table.name));
  const unread = fenced.filter(([identity, { table }]) => {
    return paged.has(table.name) && !set.keys.has(identity);
  });
  if (unread.length === 0) return;
  // mutant: rows-of-pages-not-compared
  const lost = await items.lostFence(id, addressesOf(unread), call);
  if (lost === undefined) return;
  throw nativeConflict({ table: lost.table.name, key: lost.key });
}

function fenceError(
  result: Exclude<FenceResult, { kind: "fenced" }>,
  write: BufferedWrite | undefined,
): Error {
  const table = write?.table.name;
  if (result.kind === "changed") return nativeConflict({ table, key: write?.key });
  if (result.kind === "crowded") {
    return new UnavailableError(
      `others wrote an item of table "${table ?? ""}" again and again while it was about to be ` +
        "written",
    );
  }
  return new UnavailableError(
    `it is not known whether an item of table "${table ?? ""}" was fenced; nothing was committed`,
    { cause: result.cause },
  );
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
async function withdraw(
  parts: VoteParts,
  id: TransactionId,
  addresses: readonly ItemAddress[],
): Promise<void> {
  const voted = withdrawn(parts, id);
  parts.later(voted.then(() => cleanUp(parts, id, addresses)));
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
    if (isOpen()) await voteAgainst(ports, session, { id, signal, call: call.options });
  } catch {
  } finally {
    call.end();
  }
}

/** Replay does it again, when nothing of it can come any more. Never rejects. */
async function cleanUp(
  { ports, items }: VoteParts,
  id: TransactionId,
  addresses: readonly ItemAddress[],
): Promise<void> {
  const call = new Call(ports.clock, { deadlineMs: limits.withdrawMsMax });
  await items.cleanUp(id, addresses, call.options).catch(ignore);
  call.end();
}

function addressesOf(writes: readonly FencedWrite[]): readonly ItemAddress[] {
  return writes.map(([, write]) => addressOf(write));
}
