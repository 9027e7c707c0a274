/**
 * Appends blocks of this process to its shard's log (docs/adr/0013-express-commit.md): one put in
 * flight, and all that is sealed meanwhile makes the next block.
 *
 *   idle ──bid──▶ certifying ──put──▶ in flight ──appended──▶ idle, or certifying what has come
 *                   ▲   ▲                │    └──taken──▶ folds the block that stands there ─┐
 *                   │   └────────────────┼──────── what still holds ────────────────────────┘
 *                   └── not ours ── open ◀── no answer: looks at the log, puts again
 *
 * - *Certifying* takes one turn of the event loop, from the check against the tail to the put: so
 *   what was checked is what the put's position follows (I4, I5), and the id has no decision below
 *   it (I3). A tail that lags finds its position taken.
 * - *In flight*, a put holds its bids: nothing else is known of them until its position is.
 * - *Open*, the log is asked who stands at the position, and the same bytes are put again. Whoever
 *   is not in flight goes by the stream meanwhile, and so does in the end who is: the same id may,
 *   after a look at the log (request-settler.ts). A put that comes minutes late finds its position
 *   taken, or the log where it was when the block was certified.
 * - The log lets go of its oldest blocks. So no put is signed long after its tail was read: whoever
 *   slept for days would find the position free that another's block has left.
 */
import { assert } from "../../core/assert.ts";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type {
  Appended,
  CallOptions,
  ClientPorts,
  CommitLog,
  StoredBlock,
} from "../../core/ports.ts";
import type {
  InstalledReport,
  LogBlock,
  MakerNumber,
  ShardId,
  TransactionId,
} from "../../core/types.ts";
import type { AwaitedIds } from "../awaited-verdicts.ts";
import { waitBackoff } from "../backoff.ts";
import { asError, ignore, noLongerNeeded } from "../concurrency.ts";
import { instantOf, WakefulClock } from "../elapsed.ts";
import type { InstallOutbox } from "../install-outbox.ts";
import type { Decision, Found } from "../log-searches.ts";
import type { TailFollower } from "../tail-follower.ts";
import { fitsBlock, planBlock, type ExpressRequest } from "./block-plan.ts";
import { BoardingGate } from "./boarding-gate.ts";
import type { CommitPolicy } from "./commit-policy.ts";
import { awaitNextBlock } from "./next-block.ts";

/** A transaction that wants into the next block. */
export type ExpressBid = ExpressRequest & {
  /** What the log says of its id, up to the tail's end. */
  readonly look: () => Found;
  /** Checks what it has read up to the tail's end; throws if that has been overtaken. */
  readonly recheck: () => void;
  /** A block that commits it is on its way, or certainly none is any more. */
  readonly onWay: (isOpen: boolean) => void;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly call: CallOptions;
};

export type ExpressAnswer =
  | { readonly kind: "decided"; readonly decision: Decision }
  /**
   * It goes by the stream, after what it has read from. What may be on its way of it, `onWay` has
   * said.
   */
  | { readonly kind: "by-stream" };

export type AppenderParts = {
  readonly ports: Pick<ClientPorts, "clock" | "random"> & {
    readonly log: Pick<CommitLog, "readAt">;
  };
  readonly append: CommitLog["append"];
  readonly shard: ShardId;
  readonly follower: Pick<TailFollower, "tail" | "ageMs" | "refresh" | "adopt" | "consumption">;
  /** The registry, by which a bid's `recheck` goes: who slept has an old copy. */
  readonly tables: { readonly areFresh: boolean };
  /** Which way commits go at the moment. */
  readonly policy: CommitPolicy;
  /** Microseconds since the epoch, by the store's clock; undefined: not known well enough. */
  readonly nowMicros: () => number | undefined;
  readonly encode: (block: LogBlock) => Uint8Array;
  /** The process's own. */
  readonly number: MakerNumber;
  /** What it has installed, and has told nobody. */
  readonly reports: Pick<InstallOutbox, "add" | "take">;
  /** The store refuses this process's blocks for good: it has no right to put them. */
  readonly onDenied: (cause: StoreError) => void;
  /** Whether what it does not take up goes elsewhere. */
  readonly hasStream: () => boolean;
};

type Waiting = ExpressBid & {
  readonly answer: (answer: ExpressAnswer) => void;
  readonly fail: (error: unknown) => void;
};

/** A block, and whom it commits. */
type Flight = {
  readonly block: StoredBlock;
  readonly bids: readonly Waiting[];
  readonly installed: readonly InstalledReport[];
  readonly signBeforeMs: number;
  /** The block's own time: its expiry must not go by a clock that is wrong. */
  readonly dateMs: number;
  /** A put of it has ended without an answer: it may stand, or come late. */
  isUnclear: boolean;
};

/** What one put came to. */
type PutAnswer = Appended | "throttled" | "unanswered" | { readonly denied: StoreError };

export type AppenderState = "idle" | "certifying" | "in-flight" | "open";

const writeUnitBytes = 1_024;
/** Of a committed verdict beside its payload, and of each of its writes there. */
const verdictBytes = 32;
const writeHashBytes = 24;

const openBackoff = { baseMs: 10, capMs: 1_000 };

export class BlockAppender {
  readonly #parts: AppenderParts;
  #waiting: Waiting[] = [];
  readonly #gate = new BoardingGate();
  #state: AppenderState = "idle";
  readonly #time: WakefulClock;
  /** When the store has refused to take the newest block. */
  #refusedMs = Number.NEGATIVE_INFINITY;
  #denied: StoreError | undefined;
  /** Own puts in a row that found their position taken. */
  #losses = 0;

  constructor(parts: AppenderParts) {
    this.#parts = parts;
    this.#time = new WakefulClock(parts.ports.clock);
  }

  get state(): AppenderState {
    return this.#state;
  }

  /** What the store answered, if it has denied the newest block. */
  get denied(): StoreError | undefined {
    return this.#denied;
  }

  /** Whether a bid would be taken up now. */
  get isReady(): boolean {
    const nowMs = this.#time.nowMs();
    if (this.#state === "open" || nowMs < this.#refusedMs + this.#restMs) return false;
    if (this.#parts.follower.ageMs > limits.expressTailAgeMsMax) return false;
    const { policy, nowMicros, hasStream } = this.#parts;
    const mayExpress = nowMicros() !== undefined;
    return policy.way({ nowMs, mayExpress, hasStream: hasStream() }) === "express";
  }

  /**
   * For how long a refusal keeps it from trying again. Who has nowhere else to go is not refused
   * for minutes after the right was given.
   */
  get #restMs(): number {
    const isDenied = this.#denied !== undefined && this.#parts.hasStream();
    return isDenied ? limits.expressDeniedMs : limits.expressThrottledMs;
  }

  get #mayCertify(): boolean {
    return this.isReady && this.#parts.tables.areFresh;
  }

  /** A block of the log was folded. @param awaited ids whose verdicts are waited for here. */
  saw({ maker, position, throughTimestamp, verdicts }: LogBlock, awaited: AwaitedIds): void {
    const { policy, nowMicros, number } = this.#parts;
    if (maker?.number === number) return;
    // Whoever has slept reads the blocks of hours at once: they say nothing of the log's load now.
    const ageMs = Math.max(0, (nowMicros() ?? 0) - throughTimestamp) / 1_000;
    if (ageMs > limits.expressWindowMs) return;
    const atMs = this.#time.nowMs() - ageMs;
    const others = verdicts.filter(({ kind, id }) => kind !== "stale" && !awaited.has(id));
    const units = unitsOf(verdicts);
    policy.saw({ position, atMs, maker: maker?.number, decisions: others.length, units });
  }

  /** A try of a transaction has ended, by whichever way. */
  ended(end: { readonly isConflict: boolean }): void {
    this.#parts.policy.ended({ ...end, nowMs: this.#time.nowMs() });
  }

  /**
   * Resolves when the log is known to say what became of it, or it has to go by the stream.
   * @throws what its `recheck` throws, when nothing of it is on its way; and the signal's reason.
   */
  commit(bid: ExpressBid): Promise<ExpressAnswer> {
    if (!this.#mayCertify || !fitsBlock(bid)) return Promise.resolve({ kind: "by-stream" });
    return new Promise((resolve, reject) => {
      bid.signal.throwIfAborted();
      const abort = (): void => {
        reject(asError(bid.signal.reason));
      };
      bid.signal.addEventListener("abort", abort, { once: true });
      const settled = (): void => {
        bid.signal.removeEventListener("abort", abort);
      };
      const answer = (given: ExpressAnswer): void => {
        settled();
        resolve(given);
      };
      const fail = (error: unknown): void => {
        settled();
        reject(asError(error));
      };
      this.#waiting.push({ ...bid, answer, fail });
      this.#begin();
    });
  }

  /**
   * Resolves when a bid would travel with the next block, with what to call once it is made
   * (boarding-gate.ts); at once where none would be taken up.
   */
  async board(signal: AbortSignal): Promise<() => void> {
    if (!this.isReady) return ignore;
    const called = this.#gate.wait(signal);
    this.#begin();
    return called;
  }

  #begin(): void {
    if (this.#state !== "idle") return;
    this.#state = "certifying";
    // After the current turn of the event loop, so that transactions that became ready together
    // travel together.
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 || !this.#gate.isEmpty) {
      this.#state = "certifying";
      await this.#awaitTurn();
      await this.#gate.call();
      let bids = this.#certified();
      if (bids.length === 0) continue;
      try {
        const flight = this.#boarded(bids);
        bids = flight.bids;
        await this.#land(flight);
      } catch (error) {
        // The log holds what is no block, or cannot be read: each caller goes on, or ends, as after
        // a refresh of its own that fails.
        for (const bid of bids) bid.fail(error);
      }
    }
    this.#state = "idle";
  }

  /** Until nobody goes first: after each wait the log says who has come meanwhile. */
  async #awaitTurn(): Promise<void> {
    const { ports, follower, policy, shard } = this.#parts;
    while (this.isReady) {
      const wait = policy.wait(this.#time.nowMs(), ports.random.next());
      if (wait === undefined) return;
      const { forMs, lookEveryMs } = wait;
      if (lookEveryMs !== undefined) {
        await awaitNextBlock({ ports, shard, follower }, { forMs, everyMs: lookEveryMs });
        continue;
      }
      await ports.clock.sleep(forMs);
      // What cannot be read now shows nobody: the put will tell.
      await follower.refresh().catch(ignore);
    }
  }

  /** Those that hold at the tail's end, each behind what it has read from. */
  #certified(): readonly Waiting[] {
    if (!this.#mayCertify) this.#dismiss();
    const here = new Set<TransactionId>();
    return this.#waiting.splice(0).filter((bid) => {
      if (bid.signal.aborted || !holds(bid)) return false;
      // mutant: express-without-predecessors
      if (bid.readFrom?.().some(({ from }) => !here.has(from)) === true) {
        // probe: express-chained-to-what-is-elsewhere
        bid.answer({ kind: "by-stream" });
        return false;
      }
      here.add(bid.id);
      return true;
    });
  }

  /** The next block, in the turn in which they were certified; whom it has no room for, waits. */
  #boarded(bids: readonly Waiting[]): Flight {
    const { follower, nowMicros, number, reports, encode, ports } = this.#parts;
    // From when the tail was read, and not from now: the process may have slept since, even within
    // this turn.
    const signBeforeMs = ports.clock.nowMs() - follower.ageMs + limits.expressTailAgeMsMax;
    const now = nowMicros();
    assert(now !== undefined, "express: whoever commits knows the time");
    const maker = { number, installed: reports.take() };
    const { block, isIn } = planBlock(bids, { log: follower.tail, nowMicros: now, maker });
    this.#waiting = bids.filter((_, i) => isIn[i] !== true);
    return {
      block: { position: block.position, bytes: encode(block) },
      bids: bids.filter((_, i) => isIn[i]),
      installed: maker.installed,
      signBeforeMs,
      dateMs: block.throughTimestamp / 1_000,
      isUnclear: false,
    };
  }

  /** Whoever waits goes by the stream. */
  #dismiss(): void {
    this.#gate.open();
    for (const bid of this.#waiting.splice(0)) bid.answer({ kind: "by-stream" });
  }

  /** Puts the block until it is known who stands at its position, or nobody waits for it. */
  async #land(flight: Flight): Promise<void> {
    const { ports, follower, policy } = this.#parts;
    for (const bid of flight.bids) bid.onWay(true);
    // Listeners hear of it before it is put, each in the context of its own call (express.ts).
    await Promise.resolve();
    for (let attempt = 0; ; attempt += 1) {
      const began = instantOf(ports.clock);
      const answer = await this.#put(flight);
      // mutant: express-lost-answer-is-refusal
      if (!flight.isUnclear && isRefusal(answer)) {
        this.#refused(flight, answer);
        return;
      }
      if (answer === "appended") {
        this.#denied = undefined;
        follower.adopt(flight.block, began);
        // Unless it was read before the answer came.
        if (follower.tail.position < flight.block.position) await follower.refresh();
      } else if (isTaken(answer)) {
        if (answer.taken !== undefined) follower.adopt(answer.taken);
        // A third one in a row: the tail lags further behind than by one block.
        const isBehind = follower.tail.position < flight.block.position || this.#losses % 3 === 2;
        if (isBehind) await follower.refresh();
      } else {
        // probe: express-answer-lost
        flight.isUnclear = true;
        this.#state = "open";
        this.#dismiss();
        await follower.refresh().catch(ignore);
      }
      if (follower.tail.position >= flight.block.position) {
        const isOwn = this.#settle(flight);
        this.#losses = isOwn ? 0 : this.#losses + 1;
        const tookMs = ports.clock.monotonicMs() - began.monotonicMs;
        const units = Math.ceil(flight.block.bytes.length / writeUnitBytes);
        const put = { nowMs: this.#time.nowMs(), tookMs, units };
        if (isOwn)
          policy.won({ ...put, position: flight.block.position, decisions: flight.bids.length });
        else policy.lost(put);
        return;
      }
      if (flight.bids.every(({ signal }) => signal.aborted)) return;
      await waitBackoff(ports, { backoff: openBackoff, attempt });
    }
  }

  /** One put of it. A late answer is as good as none: the log is asked. */
  async #put(flight: Flight): Promise<PutAnswer> {
    const { append, shard, ports } = this.#parts;
    const consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
    this.#state = flight.isUnclear ? "open" : "in-flight";
    const answered = new AbortController();
    const { block, signBeforeMs, dateMs } = flight;
    const options = { consumption, signBeforeMs, dateMs, once: true };
    const put = append(shard, block, options).catch(putFailure);
    const patience = ports.clock
      .sleep(limits.expressAnswerMsMax, answered.signal)
      .then((): PutAnswer => "unanswered");
    patience.catch(ignore);
    const answer = await Promise.race([put, patience]);
    answered.abort(noLongerNeeded);
    for (const [i, { call }] of flight.bids.entries()) {
      if (call.consumption === undefined) continue;
      call.consumption.writeUnits += consumption.writeUnits / flight.bids.length;
      if (i === 0) call.consumption.calls += consumption.calls;
    }
    return answer;
  }

  /** Certainly not stored: whoever it was for goes by the stream, and others for a while. */
  #refused(flight: Flight, answer: PutAnswer): void {
    if (typeof answer === "object" && "denied" in answer) {
      // probe: express-denied
      if (this.#denied === undefined) this.#parts.onDenied(answer.denied);
      this.#denied = answer.denied;
    } else {
      this.#denied = undefined;
    }
    this.#refusedMs = this.#time.nowMs();
    for (const bid of flight.bids) {
      bid.onWay(false);
      bid.answer({ kind: "by-stream" });
    }
    this.#dismiss();
  }

  /** The log says who stands at its position. Whether it is the block itself. */
  #settle(flight: Flight): boolean {
    const beaten: Waiting[] = [];
    for (const bid of flight.bids) {
      const found = bid.look();
      // The tail has begun anew beyond the block: the caller has to search the log.
      if (found === "gap") bid.answer({ kind: "by-stream" });
      else if (found !== undefined) bid.answer({ kind: "decided", decision: found });
      else beaten.push(bid);
    }
    if (beaten.length === 0) return true;
    // probe: express-position-taken
    for (const bid of beaten) bid.onWay(false);
    for (const report of flight.installed) this.#parts.reports.add(report);
    // mutant: express-beaten-not-checked
    this.#waiting.unshift(...beaten);
    return false;
  }
}

/** Whether it holds at the tail's end, and is undecided there; else it is answered. */
function holds(bid: Waiting): boolean {
  const found = bid.look();
  if (found !== undefined) {
    bid.answer(found === "gap" ? { kind: "by-stream" } : { kind: "decided", decision: found });
    return false;
  }
  try {
    // In the same turn: what is checked now is not the id's own commit.
    // mutant: express-without-check
    bid.recheck();
    return true;
  } catch (error) {
    // probe: express-conflict
    bid.fail(error);
    return false;
  }
}

/** What the block of a process took, about: most of it is payloads. */
function unitsOf(verdicts: LogBlock["verdicts"]): number {
  let bytes = 0;
  for (const verdict of verdicts) {
    if (verdict.kind !== "committed" || verdict.payload.kind !== "inline") continue;
    bytes += verdict.payload.bytes.length + verdictBytes + writeHashBytes * verdict.writes.length;
  }
  return Math.max(1, Math.ceil(bytes / writeUnitBytes));
}

function isRefusal(answer: PutAnswer): boolean {
  return answer === "throttled" || (typeof answer === "object" && "denied" in answer);
}

function isTaken(answer: PutAnswer): answer is Exclude<Appended, "appended"> {
  return typeof answer === "object" && "taken" in answer;
}

function putFailure(cause: unknown): PutAnswer {
  if (!(cause instanceof StoreError)) throw cause;
  if (cause.fault === "throttled") return "throttled";
  return cause.fault === "rejected" ? { denied: cause } : "unanswered";
}
