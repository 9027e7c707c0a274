/**
 * Appends blocks of this process to its shard's log (docs/adr/0013-express-commit.md): one put in
 * flight, and all that is sealed meanwhile makes the next block.
 *
 *   idle ──bid──▶ certifying ──put──▶ in flight ──stands──▶ idle, or certifying what has come
 *                   ▲   ▲                │    └──taken──▶ folds the block that stands there ─┐
 *                   │   └────────────────┼──────── what still holds ────────────────────────┘
 *                   └── not ours ── open ◀── no answer (block-flight.ts)
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
import { isDecision } from "../../core/decision.ts";
import { assert } from "../../core/assert.ts";
import { provisioningNumber } from "../../core/block-order.ts";
import type { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts, CommitLog } from "../../core/ports.ts";
import type {
  LogBlock,
  MakerNumber,
  ShardId,
  ShardNumber,
  TransactionId,
} from "../../core/types.ts";
import { ignore } from "../concurrency.ts";
import { WakefulClock } from "../elapsed.ts";
import type { InstallOutbox } from "../installing/install-outbox.ts";
import type { FoldedBlock, TailFollower } from "../log/tail-follower.ts";
import {
  answerAsLogged,
  answerTo,
  holdsAtTailEnd,
  type ExpressAnswer,
  type ExpressBid,
  type WaitingBid,
} from "./bid.ts";
import { fly, type BlockFlight, type FlightState } from "./block-flight.ts";
import { fitsBlock, isBarred, planBlock } from "./block-plan.ts";
import { BoardingGate } from "./boarding-gate.ts";
import type { CommitPolicy } from "./commit-policy.ts";
import { awaitNextBlock } from "./next-block.ts";

export type AppenderParts = {
  readonly ports: Pick<ClientPorts, "clock" | "random"> & {
    readonly log: Pick<CommitLog, "readAt">;
  };
  readonly append: CommitLog["append"];
  readonly shard: ShardId;
  readonly shardNumber: ShardNumber;
  readonly follower: Pick<TailFollower, "tail" | "ageMs" | "refresh" | "adopt" | "consumption">;
  /** The registry, by which a bid's `recheck` goes: who slept has an old copy. */
  readonly tables: { checkFresh(): boolean };
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

export type AppenderState = "idle" | "certifying" | FlightState;

/** A refusal brings one block. Who has lost so many in a row may be several behind. */
const lossesPerRefresh = 3;
const writeUnitBytes = 1_024;

function writeUnits(bytes: number): number {
  return Math.ceil(bytes / writeUnitBytes);
}

export class BlockAppender {
  readonly #parts: AppenderParts;
  #waiting: WaitingBid[] = [];
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

  /** Whether the log would take a block now. To ask may change the way (commit-policy.ts). */
  get isReady(): boolean {
    const nowMs = this.#time.nowMs();
    if (this.#state === "open" || nowMs < this.#refusedMs + this.#restMs) return false;
    if (this.#parts.follower.ageMs > limits.expressTailAgeMsMax) return false;
    const { policy, nowMicros, hasStream } = this.#parts;
    if (nowMicros() === undefined) return false;
    return !hasStream() || policy.way(nowMs) === "express";
  }

  /**
   * For how long a refusal keeps it from trying again. Who has nowhere else to go is not refused
   * for minutes after the right was given.
   */
  get #restMs(): number {
    const isDenied = this.#denied !== undefined && this.#parts.hasStream();
    return isDenied ? limits.expressDeniedMs : limits.expressThrottledMs;
  }

  /** Whether a bid would be taken up now. To ask may have the registry read again, too. */
  mayCertify(): boolean {
    return this.isReady && this.#parts.tables.checkFresh();
  }

  /** A block of the log was folded. */
  saw(
    { maker, position, throughTimestamp, verdicts }: LogBlock,
    { bytes, awaited }: FoldedBlock,
  ): void {
    const { policy, nowMicros, number } = this.#parts;
    // Who switches the stream does not come again: it stands in nobody's line.
    if (maker?.number === number || maker?.number === provisioningNumber) return;
    // Whoever has slept reads the blocks of hours at once: they say nothing of the log's load now.
    const ageMs = Math.max(0, (nowMicros() ?? 0) - throughTimestamp) / 1_000;
    if (ageMs > limits.expressWindowMs) return;
    const atMs = this.#time.nowMs() - ageMs;
    const others = verdicts.filter((verdict) => isDecision(verdict) && !awaited.has(verdict.id));
    policy.saw({
      position,
      atMs,
      maker: maker?.number,
      decisions: others.length,
      units: writeUnits(bytes),
    });
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
    if (!this.mayCertify() || !fitsBlock(bid)) return Promise.resolve({ kind: "by-stream" });
    return answerTo(bid, (waiting) => {
      this.#waiting.push(waiting);
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
  #certified(): readonly WaitingBid[] {
    if (!this.mayCertify()) this.#dismiss();
    const here = new Set<TransactionId>();
    const { open } = this.#parts.follower.tail;
    return this.#waiting.splice(0).filter((bid) => {
      if (bid.signal.aborted || !holdsAtTailEnd(bid)) return false;
      if (isBarred(bid, open)) {
        bid.answer({ kind: "barred" });
        return false;
      }
      // Else no block would ever have it, and it would wait for the next one for good.
      assert(
        (bid.kind !== "vote" && bid.kind !== "settle") || open.get(bid.id) !== undefined,
        "express: who votes has been prepared",
      );
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
  #boarded(bids: readonly WaitingBid[]): BlockFlight {
    const { follower, nowMicros, number, reports, encode, ports, shardNumber } = this.#parts;
    // From when the tail was read, and not from now: the process may have slept since, even within
    // this turn.
    const signBeforeMs = ports.clock.nowMs() - follower.ageMs + limits.expressTailAgeMsMax;
    const now = nowMicros();
    assert(now !== undefined, "express: whoever commits knows the time");
    const maker = { number, installed: reports.take() };
    const log = { log: follower.tail, shard: shardNumber };
    const { block, isIn } = planBlock(bids, { ...log, nowMicros: now, maker });
    this.#waiting = bids.filter((_, i) => isIn[i] !== true);
    return {
      block: { position: block.position, bytes: encode(block) },
      bids: bids.filter((_, i) => isIn[i]),
      installed: maker.installed,
      signBeforeMs,
      dateMs: block.throughTimestamp / 1_000,
    };
  }

  /** Whoever waits goes by the stream. */
  #dismiss(): void {
    this.#gate.open();
    for (const bid of this.#waiting.splice(0)) bid.answer({ kind: "by-stream" });
  }

  /** Until it is known who stands at its position, or nobody waits for it. */
  async #land(flight: BlockFlight): Promise<void> {
    for (const bid of flight.bids) bid.onWay(true);
    // Listeners hear of it before it is put, each in the context of its own call (express.ts).
    await Promise.resolve();
    this.#state = "in-flight";
    const landing = await fly(flight, {
      ...this.#parts,
      // A third position that is lost in a row.
      isFarBehind: this.#losses % lossesPerRefresh === lossesPerRefresh - 1,
      onOpen: () => {
        this.#state = "open";
        this.#dismiss();
      },
    });
    if (landing.kind === "refused") this.#refused(flight, landing.denied);
    else if (landing.kind === "landed") this.#landed(flight, landing.tookMs);
  }

  /** Certainly not stored: whoever it was for goes by the stream, and others for a while. */
  #refused(flight: BlockFlight, denied: StoreError | undefined): void {
    if (denied !== undefined) {
      // probe: express-denied
      if (this.#denied === undefined) this.#parts.onDenied(denied);
    }
    this.#denied = denied;
    this.#refusedMs = this.#time.nowMs();
    for (const bid of flight.bids) {
      bid.onWay(false);
      bid.answer({ kind: "by-stream" });
    }
    this.#dismiss();
  }

  /** The log says who stands at its position. */
  #landed(flight: BlockFlight, tookMs: number): void {
    const { policy } = this.#parts;
    const isOwn = this.#answerDecided(flight);
    this.#losses = isOwn ? 0 : this.#losses + 1;
    if (isOwn) this.#denied = undefined;
    const units = writeUnits(flight.block.bytes.length);
    const put = { nowMs: this.#time.nowMs(), tookMs, units };
    const { position } = flight.block;
    if (isOwn) policy.won({ ...put, position, decisions: flight.bids.length });
    else policy.lost(put);
  }

  /** Answers those whom the log decides. Whether it is the block itself that stands there. */
  #answerDecided(flight: BlockFlight): boolean {
    const beaten = flight.bids.filter((bid) => answerAsLogged(bid) === "undecided");
    if (beaten.length === 0) return true;
    // probe: express-position-taken
    for (const bid of beaten) bid.onWay(false);
    for (const report of flight.installed) this.#parts.reports.add(report);
    // mutant: express-beaten-not-checked
    this.#waiting.unshift(...beaten);
    return false;
  }
}
