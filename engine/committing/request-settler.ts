/**
 * Sends one commit or abort request until its id has a decision, or the caller's time is up. There
 * are two ways to a decision: the stream and its oracle, and a block of the process's own
 * (express/block-appender.ts).
 *
 * The same id is sent again after a lost answer, an answer `stale`, or long silence: always after a
 * refresh of the tail that shows no decision, with `checkedTo` raised to that tail's end. So at
 * most one copy is ever decided (I3): a copy that comes while the oracle remembers the id is a
 * duplicate, and one that comes later carries a `checkedTo` below the oracle's floor.
 * Before the first copy, too, the id must have no decision: somebody may have asked for its outcome
 * while its request was being prepared, or its group was waiting.
 *
 *   client   send c=100 ──?──────────── refresh to 130: none ── send c=130 ──▶ decided 141
 *   shard              (late copy, c=100) ───────────────────────────────────▶ duplicate, or
 *                                                after 10 s of stream time ──▶ stale: 100 < floor
 *
 * A block on its way is one more copy. It is worth something at one position only, the one behind
 * the log as it was when its request was checked. So the same id may go by the other way before
 * that position is known, after the same look at the log (model/TidemarkExpress.tla):
 *
 *   client   block for 7, log to 6 ──?── log to 6 or 7: none ── send c=130 ──▶ decided 141, in 8
 *   log                    (late block for 7) ───────────────────────────────▶ position is taken
 */
import { isDecision } from "../../core/decision.ts";
import { assert, InvariantViolation } from "../../core/assert.ts";
import {
  CommitUnknownError,
  ConflictError,
  SnapshotTooOldError,
  type StoreError,
  UnavailableError,
} from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type {
  AbortedVerdict,
  Answer,
  CommitRequest,
  Decision,
  PreparedVerdict,
  Timestamp,
  TransactionId,
  WriteHashes,
} from "../../core/types.ts";
import { isDecidedIn } from "../../core/whole-outcome.ts";
import { encodeCommitRequest } from "../../schemas/commit-record.ts";
import { waitBackoff } from "../backoff.ts";
import { asError, follow, ignore, noLongerNeeded, orAborted } from "../concurrency.ts";
import { RangeMovedError } from "../conflict-error.ts";
import { DecisionSearch } from "../log/decision-search.ts";
import type { ExpressWay, ExpressWish, OnSent, Predecessors } from "../express-way.ts";
import { settleOpen, staysOpen } from "./settle-open.ts";
import type { ShardSession } from "../shard-session.ts";

export type SettleOptions = {
  readonly request: CommitRequest;
  readonly signal: AbortSignal;
  readonly call: CallOptions;
  readonly search: DecisionSearch;
  /** Pages of the log that are read for it, before a request is sent. */
  readonly pagesMax: number;
  readonly onSent: OnSent;
  /** What the payload writes, in its order; undefined: the request commits nothing. */
  readonly writes?: () => readonly WriteHashes[];
  /** Stores a payload beside the block that is to refer to it. */
  readonly spill?: (bytes: Uint8Array) => Promise<CommitRequest["payload"]>;
  /** Checks up to the tail's end and returns it; throws if the request can no longer succeed. */
  readonly recheck: () => Timestamp;
  /** Throws if its tables have changed since it wrote to them: no oracle asks that of a block. */
  readonly recheckTables?: () => void;
  readonly predecessors?: Predecessors | undefined;
  /** Ends it, rather than to wait for what stands in its way; undefined: it is to be waited for. */
  readonly giveWay?: (
    other: TransactionId,
    own: { readonly isSent: boolean },
  ) => Promise<Answer | undefined>;
};

const resendBackoff = { baseMs: 10, capMs: 1_000 };
const unreachableBackoff = { baseMs: 640, capMs: 640 };

/**
 * @throws CommitUnknownError when the signal aborts after a copy may have been stored.
 * @throws UnavailableError, or what `recheck` throws, when none was.
 */
async function settleRequest(
  ports: ClientPorts,
  session: ShardSession,
  options: SettleOptions,
): Promise<Answer> {
  let { request } = options;
  const { search, predecessors, signal } = options;
  const copies: Copies = { inStream: false, inBlock: false, closings: 0, lastFailure: undefined };
  const way = new Way(ports, session, { ...options, copies });
  for (let attempt = 0; ; attempt += 1) {
    try {
      if (way.ended !== undefined) return way.ended;
      signal.throwIfAborted();
      const resend = attempt > 0;
      if (resend) await orAborted(session.follower.refresh(), signal);
      if (session.lacksExpress) await orAborted(session.readyExpress(), signal);
      if (await way.clear(inTheWayOf(session, options))) continue;
      const { express } = session;
      const isExpress = express?.isReady === true;
      if (isExpress) {
        const answer = await byBlock(express, { ...options, request, resend }, copies);
        if (answer.decision !== undefined) return answer.decision;
        // A block of it may stand in the log by now: it is looked for first.
        // mutant: express-silence-is-refusal
        if (answer.isOnWay || inTheWayOf(session, options) !== undefined) continue;
      }
      let found = search.look();
      const hadGap = found === "gap";
      const isUnsettled = predecessors?.areSettled === false;
      const isOld = resend || isExpress || hadGap || isUnsettled;
      while (found === "gap") {
        await orAborted(search.fill(options.call, options.pagesMax), signal);
        found = search.look();
      }
      if (found !== undefined) {
        // probe: decision-found-after-lost-answer
        return found;
      }
      if (isUnsettled && predecessors.undecidedReads().length > 0) {
        // probe: chained-past-a-block
        await predecessors.predecessorsDecided(signal);
        continue;
      }
      // In the same turn: what is checked now is not the id's own commit.
      if (isOld) {
        // probe: request-sent-again
        // mutant: resend-without-check
        request = { ...request, checkedTo: options.recheck() };
      }
      forgetClosed(copies, session);
      if (session.withoutStream !== undefined) {
        // A block needs to know what lies below the tail.
        if (isExpress && hadGap) continue;
        const spilled = await spilledForBlock(request, express, options);
        if (spilled !== undefined) {
          request = spilled;
          continue;
        }
        copies.lastFailure = session.withoutStream(copies.lastFailure);
        await waitBackoff(ports, { backoff: resendBackoff, attempt, signal });
        continue;
      }
      // It was closed in this very turn.
      if (session.lacksExpress) continue;
      assert(predecessors?.areSettled !== false, "I4: what a request has read from is committed");
      const answer = await byStream(ports, session, { ...options, request, resend }, copies);
      if (answer.kind === "decided") return answer.decision;
      if (answer.kind === "busy" && (await way.clear(answer.inTheWay))) continue;
      if ("cause" in answer) copies.lastFailure = answer.cause;
      if (resend || answer.kind !== "undecided") {
        await waitBackoff(ports, { backoff: resendBackoff, attempt, signal });
      }
    } catch (error) {
      if (!signal.aborted) copies.lastFailure = error;
      await afterFailure(ports, { options, error, copies });
    }
  }
}

/** As `settleRequest`, of a request to prepare: it is prepared, or refused. */
export async function settledPlace(
  ports: ClientPorts,
  session: ShardSession,
  options: SettleOptions,
): Promise<PreparedVerdict | AbortedVerdict> {
  assert(options.request.kind === "prepare", "I3: a place in the log is asked for");
  const answer = await settleRequest(ports, session, options);
  assert(answer.kind !== "committed", "I3: nobody but its client votes for what is prepared");
  return answer;
}

/** As `settleRequest`, of what is or may be prepared as a part: it may be committed by others. */
export function settledAnswer(
  ports: ClientPorts,
  session: ShardSession,
  options: SettleOptions,
): Promise<Answer> {
  return settleRequest(ports, session, options);
}

/** As `settleRequest`, of a request that is decided by its answer. */
export async function settledDecision(
  ports: ClientPorts,
  session: ShardSession,
  options: SettleOptions,
): Promise<Decision> {
  const answer = await settleRequest(ports, session, options);
  assert(isDecision(answer), "I3: a commit is decided, and so is what is asked to abort");
  return answer;
}

/** What is prepared by others, as far as the tail knows, and stands in the way of the request. */
function inTheWayOf(
  { follower }: ShardSession,
  { request, writes }: SettleOptions,
): TransactionId | undefined {
  const { open } = follower.tail;
  // A request that is prepared itself is in nobody's way but its own.
  if (open.size === 0 || writes === undefined || open.get(request.id) !== undefined) {
    return undefined;
  }
  return open.inTheWay(request.checks, writes())?.prepared.id;
}

/** The way of a request, in which others may stand. */
class Way {
  readonly #ports: ClientPorts;
  readonly #session: ShardSession;
  readonly #options: SettleOptions & { readonly copies: Copies };
  #met = 0;
  /** What became of the request itself, where it has given way. */
  ended: Answer | undefined;

  constructor(
    ports: ClientPorts,
    session: ShardSession,
    options: SettleOptions & { readonly copies: Copies },
  ) {
    this.#ports = ports;
    this.#session = session;
    this.#options = options;
  }

  /** Settles all that are in it, if one is, or ends the request; false: nobody is. */
  async clear(id: TransactionId | undefined): Promise<boolean> {
    if (id === undefined) return false;
    const { signal, call, request, writes = () => [], copies, giveWay } = this.#options;
    const { follower } = this.#session;
    const asked = { id, signal, patienceMs: limits.openPatienceMsMin };
    // Most that is met is over soon: giving way to it would be an abort for nothing.
    if (giveWay && (await staysOpen({ clock: this.#ports.clock, follower }, asked)))
      this.ended = await giveWay(id, { isSent: copies.inStream || copies.inBlock });
    if (this.ended !== undefined) return true;
    const met = (this.#met += 1);
    const all = follower.tail.open.allInTheWay(request.checks, writes());
    await bringAllAbout(this.#ports, this.#session, { ids: [id, ...all], met, signal, call });
    return true;
  }
}

/** An open transaction as somebody meets it. */
export type MetOpen = {
  readonly id: TransactionId;
  readonly signal: AbortSignal;
  readonly call: CallOptions;
};

/**
 * Waits for the outcome of an open transaction, and votes against it if that takes too long
 * (settle-open.ts).
 * @param other.met how many the same caller has met so far, this one included.
 */
export async function bringAbout(
  ports: ClientPorts,
  session: ShardSession,
  other: MetOpen & { readonly met: number },
): Promise<void> {
  const opened = session.follower.tail.open.get(other.id)?.prepared;
  const isHere = opened === undefined || isDecidedIn(session.number, opened);
  const abort = (): Promise<unknown> =>
    isHere ? voteAgainst(ports, session, other) : session.settlePart(opened, other);
  await settleOpen({ clock: ports.clock, follower: session.follower }, { ...other, abort });
}

/**
 * The same of several, side by side: one's patience is spent once on all of them. Whoever prepares
 * one after the other in somebody's way would keep him for ever else.
 */
export async function bringAllAbout(
  ports: ClientPorts,
  session: ShardSession,
  {
    ids,
    ...each
  }: Omit<MetOpen, "id"> & {
    readonly ids: readonly TransactionId[];
    readonly met: number;
  },
): Promise<void> {
  const atOnce = [...new Set(ids)].slice(0, limits.openSettledAtOnceMax);
  await Promise.all(atOnce.map((id) => bringAbout(ports, session, { ...each, id })));
}

/** Asks to abort a transaction that is open in the tail. Gives what the log says of it then. */
export async function voteAgainst(
  ports: ClientPorts,
  session: ShardSession,
  { id, signal, call }: MetOpen,
): Promise<Decision | undefined> {
  const { tail } = session.follower;
  const opened = tail.open.get(id);
  if (opened === undefined) return tail.decision(id);
  const request: CommitRequest = {
    kind: "abort",
    id,
    isolation: "serializable",
    checkedTo: tail.newest,
    checks: [],
    payload: { kind: "none" },
  };
  // Whoever comes late finds the vote that stood first.
  const search = new DecisionSearch(session, { id, undecidedTo: opened.prepared.timestamp });
  return settledDecision(ports, session, {
    ...{ request, signal, call, search, pagesMax: limits.outcomePagesMax, onSent: ignore },
    recheck: () => session.follower.tail.newest,
  });
}

/** Copies of a request that may be stored, or may come to be: in the stream, and in a block. */
type Copies = {
  inStream: boolean;
  inBlock: boolean;
  /** What the stream or the log answered last, if that was an error. */
  lastFailure: unknown;
  /** Closings of the stream before the last copy was sent by it. */
  closings: number;
};

/** What a stream did not decide before it was closed, none ever will. */
function forgetClosed(copies: Copies, { follower }: ShardSession): void {
  // mutant: closing-believed-early
  if (copies.closings !== follower.closings) {
    // probe: sent-by-a-stream-that-was-closed
    copies.inStream = false;
  }
}

async function byBlock(
  express: ExpressWay,
  wish: Omit<ExpressWish, "onWay" | "onTrouble"> & Pick<SettleOptions, "search">,
  copies: Copies,
): Promise<{ readonly decision: Answer | undefined; readonly isOnWay: boolean }> {
  const before = copies.inBlock;
  let isOnWay = false;
  const onWay = (isOpen: boolean): void => {
    isOnWay = isOpen;
    copies.inBlock = before || isOpen;
  };
  const onTrouble = (cause: unknown): void => {
    copies.lastFailure = cause;
  };
  const decision = await express.settle({ ...wish, onWay, onTrouble });
  if (decision !== undefined) wish.search.note(decision);
  return { decision, isOnWay };
}

/** @throws StoreError when the stream takes none of this process's records, and none was stored. */
async function byStream(
  ports: ClientPorts,
  session: ShardSession,
  copy: SettleOptions & { readonly resend: boolean },
  copies: Copies,
): Promise<SendAnswer> {
  const { follower } = session;
  const before = copies.inStream;
  const encoded = encodeCommitRequest(copy.request);
  copies.inStream = true; // From here on until the stream says otherwise.
  copies.closings = follower.closings;
  const answer = await sendOnce(ports, session, { ...copy, encoded });
  if (answer.kind === "decided") copy.search.note(answer.decision);
  if (answer.kind === "throttled" || answer.kind === "rejected") copies.inStream = before;
  if (answer.kind === "rejected" && !copies.inStream && !copies.inBlock) {
    // A stream that is gone was closed before: the log says so.
    await orAborted(follower.refresh(), copy.signal);
    if (!session.isStreamless) throw answer.cause;
  }
  return answer;
}

/** Made for a stream that has been closed since: with what no block has room for beside it. */
async function spilledForBlock(
  request: CommitRequest,
  express: ExpressWay | undefined,
  { spill, writes, signal }: SettleOptions,
): Promise<CommitRequest | undefined> {
  const { payload } = request;
  if (payload.kind !== "inline" || spill === undefined) return undefined;
  if (express?.takes(payload, writes?.() ?? []) !== false) return undefined;
  return { ...request, payload: await orAborted(spill(payload.bytes), signal) };
}

/**
 * What a failure means depends on whether a copy may have been stored: if none was, nothing
 * happened.
 *
 * A conflict is certain all the same: it lies above every `checkedTo` that was sent (each send
 * followed a check without one) and below any timestamp that a copy could still get, so the oracle
 * can only answer `conflict` or `stale`.
 */
async function afterFailure(
  ports: ClientPorts,
  failure: {
    readonly options: SettleOptions;
    readonly error: unknown;
    readonly copies: Copies;
  },
): Promise<void> {
  const { options, error, copies } = failure;
  const { lastFailure } = copies;
  const { id } = options.request;
  if (error instanceof InvariantViolation) throw error;
  // A fork is like one: no copy that was checked before it is decided behind it.
  if (error instanceof ConflictError || error instanceof RangeMovedError) {
    // probe: conflict-while-outcome-open
    throw error;
  }
  if (error instanceof SnapshotTooOldError && options.request.kind === "abort") {
    // The log no longer says what became of the id, and a further probe might contradict it.
    throw error;
  }
  if (!copies.inStream && !copies.inBlock) {
    if (!options.signal.aborted) throw error;
    const cause = lastFailure ?? error;
    throw new UnavailableError("the transaction was given up before it was sent", { cause });
  }
  if (options.signal.aborted) {
    // probe: outcome-unknown
    // mutant: unknown-taken-for-aborted
    throw unknownError(id, options.signal, { lastFailure });
  }
  // The log or the stream cannot be reached. The decision may be there: go on until the deadline.
  await waitBackoff(ports, {
    backoff: unreachableBackoff,
    attempt: 0,
    signal: options.signal,
  }).catch(ignore);
}

type SendAnswer =
  | { readonly kind: "decided"; readonly decision: Answer }
  /** Stored, and answered that another one has to be settled first. */
  | { readonly kind: "busy"; readonly inTheWay: TransactionId }
  /** Certainly not stored; of no use to try again when it was rejected. */
  | { readonly kind: "throttled"; readonly cause?: unknown }
  | { readonly kind: "rejected"; readonly cause: StoreError }
  /** Possibly stored. */
  | { readonly kind: "unknown"; readonly cause: unknown }
  /** Stored and answered `stale`, or not answered at all. */
  | { readonly kind: "undecided" };

/** One put, and the wait for its verdict. */
async function sendOnce(
  ports: ClientPorts,
  session: ShardSession,
  options: Pick<SettleOptions, "request" | "signal" | "onSent"> & {
    readonly encoded: Uint8Array;
    readonly resend: boolean;
  },
): Promise<SendAnswer> {
  const { id } = options.request;
  const waiting = new AbortController();
  const unfollow = follow(waiting, options.signal);
  // Registered before the put: on a fast shard the verdict may be there before the put's own
  // answer.
  const verdict = session.follower.awaitVerdict(id, waiting.signal);
  verdict.catch(ignore);
  try {
    options.onSent(id, { resend: options.resend, via: "stream" });
    const sent = await Promise.race([
      session.sender.send(options.encoded),
      verdict.then((): { readonly kind: "stored" } => ({ kind: "stored" })),
    ]);
    if (sent.kind !== "stored") return sent;
    const answer = await Promise.race([verdict, silence(ports, waiting.signal)]);
    if (answer?.kind === "busy") return answer;
    if (answer === undefined || answer.kind === "stale") return { kind: "undecided" };
    // A copy of it was prepared before: its own vote is waited for, or one against.
    const isPrepared = answer.kind === "prepared";
    if (isPrepared && options.request.kind !== "prepare") return { kind: "undecided" };
    return { kind: "decided", decision: answer };
  } finally {
    unfollow();
    waiting.abort(noLongerNeeded);
  }
}

async function silence(ports: ClientPorts, signal: AbortSignal): Promise<undefined> {
  await ports.clock.sleep(limits.silenceMsMax, signal);
  return undefined;
}

/** What a caller is told whose time is up, or who has given up. */
export function unknownError(
  id: TransactionId,
  signal: AbortSignal,
  options: { readonly place?: number; readonly lastFailure?: unknown },
): CommitUnknownError {
  const { lastFailure, ...place } = options;
  const why = lastFailure instanceof Error ? ` (${lastFailure.message})` : "";
  return new CommitUnknownError(
    `no decision on transaction ${id} was seen in time${why}; outcome("${id}") settles it`,
    id,
    { cause: asError(signal.reason), ...place },
  );
}
