/**
 * Which way a process's next commit goes, and how long it waits before a put
 * (docs/adr/0013-express-commit.md, Policy and Fairness). Nothing relies on it: every put is
 * conditional, so a wrong guess costs a refused put, or the latency of the stream.
 *
 * *The way.* It begins express. A busy log is no reason to leave by itself: where a few processes
 * take turns, each puts all that it has when its turn comes, sooner than the stream would be back.
 * It leaves when there are too many of them, when their blocks take too much of what the log's
 * partition can write, or when most go by the stream already, which serves them best together. It
 * stays, and comes back at once, when what it does is mostly in conflict with others: by the
 * stream each conflict costs the whole way there and back, and here the put that was refused brings
 * what to run again on.
 *
 * *Turns.* The log shows who made each block. Whoever has not put a block for the longest time goes
 * first, all processes see the same line, and nobody is starved: who has won stands at its end. The
 * first few in line put; the others wait for as long as those before them take, and look at the log
 * then. Nobody waits for those who do not come. A put that is refused brings the next one into
 * place: it arrives right behind the block that has beaten it.
 *
 * Time and randomness come with each call; times are monotonic milliseconds.
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type { MakerNumber } from "../../core/types.ts";
import { LogActivity, type ForeignBlock } from "./log-activity.ts";

export type { ForeignBlock } from "./log-activity.ts";

export type CommitMode = "auto" | "express" | "stream";

/** `neither`: nothing but express was asked for, or is there, and it is not allowed. */
export type CommitWay = "express" | "stream" | "neither";

export type Decision = {
  readonly nowMs: number;
  /** The right to append, and a clock that is certain enough. */
  readonly mayExpress: boolean;
  /** False leaves no choice, whatever was asked for. Default true. */
  readonly hasStream?: boolean;
};

/** A put of this process that was answered. */
export type OwnPut = { readonly nowMs: number; readonly tookMs: number; readonly units: number };

/** Weight of the newest put in the mean of what one takes; and of the newest end of a try. */
const putShare = 0.2;
const endShare = 0.1;
/** An oracle's refused put comes back, and the next one arrives: with some to spare. */
const oraclePuts = 1.5;
/** What a put is taken to last before one was made. */
const firstPutMs = 10;

export class CommitPolicy {
  readonly #mode: CommitMode;
  readonly #log = new LogActivity();
  #way: "express" | "stream" = "express";
  #putMs = firstPutMs;
  #losses = 0;
  /** The last put was lost to an oracle, which goes first. */
  #yields = false;
  /** Since its last put it has left an oracle the time for one. */
  #hasGivenWay = false;
  /** Monotonic time of the last win. */
  #wonMs: number | undefined;
  /** Of late, how many tries have ended by a conflict with others. */
  #conflictShare = 0;
  #isContended = false;
  /** The line as it was when the process began to wait for its turn. */
  #waiting: { readonly ahead: number } | undefined;
  /** When the way was chosen, and since when there was room for this process. */
  #chosenMs = Number.NEGATIVE_INFINITY;
  #roomSinceMs = Number.NEGATIVE_INFINITY;
  #calmMs: number = limits.expressCalmMsMin;

  constructor(mode: CommitMode) {
    this.#mode = mode;
  }

  /** Blocks of others come in the order of the log; the one that refused a put, too. */
  saw(block: ForeignBlock): void {
    this.#log.saw(block);
    this.#look(block.atMs);
  }

  /** A put of this process was answered with success. */
  won({ nowMs, tookMs, units }: OwnPut): void {
    this.#learnPut(tookMs);
    this.#log.put({ atMs: nowMs, units });
    this.#losses = 0;
    this.#yields = false;
    this.#hasGivenWay = false;
    this.#wonMs = nowMs;
    this.#waiting = undefined;
    // Who has stayed for so long did not come back too early.
    if (nowMs - this.#chosenMs > this.#calmMs) this.#calmMs = limits.expressCalmMsMin;
  }

  /** A put was refused. @param to who stands there; undefined: an oracle. */
  lost({ nowMs, tookMs, units, to }: OwnPut & { readonly to: MakerNumber | undefined }): void {
    this.#learnPut(tookMs);
    this.#log.put({ atMs: nowMs, units });
    this.#losses += 1;
    this.#yields = to === undefined;
    this.#hasGivenWay = false;
    this.#waiting = undefined;
    // mutant: express-never-yields
    if (!this.#isContended && this.#losses >= limits.expressLossesMax) this.#leave(nowMs);
  }

  /** A try of a transaction has ended, by whichever way: by a commit, or by another's. */
  ended({ isConflict }: { readonly isConflict: boolean }): void {
    this.#conflictShare += endShare * ((isConflict ? 1 : 0) - this.#conflictShare);
    if (this.#conflictShare > limits.expressContendedShare) this.#isContended = true;
    if (this.#conflictShare < limits.expressContendedShare / 2) this.#isContended = false;
  }

  way({ nowMs, mayExpress, hasStream = true }: Decision): CommitWay {
    this.#look(nowMs);
    if (!hasStream) return mayExpress ? "express" : "neither";
    if (this.#mode === "stream") return "stream";
    if (!mayExpress) return this.#mode === "auto" ? "stream" : "neither";
    if (this.#mode === "auto" && this.#way === "stream") {
      const isRoom = nowMs - Math.max(this.#roomSinceMs, this.#chosenMs) >= this.#calmMs;
      if (!isRoom && (!this.#isContended || this.#log.isTooMuch)) return "stream";
      // probe: express-comes-back
      this.#choose("express", nowMs);
    }
    return "express";
  }

  /**
   * How long others go first; after that the log is looked at, and this is asked again. On a calm
   * log nobody waits: a wait only makes the tail older.
   * @param random uniform in [0, 1).
   */
  waitMs(nowMs: number, random: number): number {
    assert(random >= 0 && random < 1, "commit policy: randomness lies in [0, 1)");
    this.#look(nowMs);
    const leftMs = Math.max(this.#yields ? this.#putMs : 0, this.#wayMs(nowMs));
    const behindMs = Math.min(leftMs, limits.expressWaitMsMax);
    this.#yields = false;
    if (this.#log.share(this.#putMs) <= limits.expressCalmShareMax && this.#losses < 2) {
      return 0;
    }
    // Whom the others have not seen yet goes first; so that newcomers do not all come at once, and
    // nobody who meets more of them than it knows of, they spread over a few turns.
    const place = this.#log.ahead(this.#wonMs);
    const doublings =
      place === undefined ? this.#losses : this.#losses - 2 * limits.expressContendersMax;
    const spread = doublings > 0 ? 2 ** Math.min(doublings, 3) : 0;
    const waited = this.#waiting;
    const ahead =
      waited === undefined || place !== undefined ? (place ?? 0) + Math.floor(random * spread) : 0;
    // An oracle stands for many, and puts as soon as it can: fewer stand in its way.
    const contenders = this.#log.hasOracle ? 1 : limits.expressContendersMax;
    const turns = ahead - (place === undefined ? 0 : contenders);
    if (turns < 0 || ahead === 0) return behindMs;
    // Nobody of those before it has come, for as long as all of them would have taken.
    if (waited !== undefined && ahead >= waited.ahead) return behindMs;
    this.#waiting = { ahead };
    // The look at the log takes about as long as the first of them.
    const waitMs = Math.max(turns * this.#putMs, 1) + behindMs;
    // mutant: express-never-waits
    return Math.min(waitMs, limits.expressWaitMsMax);
  }

  /**
   * Beside an oracle: what is left of the time in which it hears of the newest block and puts its
   * own behind it. Once for each put of this process, so that it is not put off for ever.
   */
  #wayMs(nowMs: number): number {
    if (this.#hasGivenWay || !this.#log.hasOracle) return 0;
    this.#hasGivenWay = true;
    const newestMs = Math.max(this.#log.processBlockMs ?? -Infinity, this.#wonMs ?? -Infinity);
    return Math.max(0, newestMs + oraclePuts * this.#putMs - nowMs);
  }

  /** Whether most of what this process does is in conflict with others. */
  get isContended(): boolean {
    return this.#isContended;
  }

  #look(nowMs: number): void {
    this.#log.forget(nowMs);
    const isCrowded = this.#log.isCrowded(this.#putMs);
    if (isCrowded) this.#roomSinceMs = nowMs;
    // mutant: express-never-yields
    if ((isCrowded && !this.#isContended) || this.#log.isTooMuch) this.#leave(nowMs);
  }

  #leave(nowMs: number): void {
    if (this.#way === "stream") return;
    // probe: express-goes-by-stream
    const isRelapse = nowMs - this.#chosenMs < 2 * this.#calmMs;
    if (isRelapse) this.#calmMs = Math.min(2 * this.#calmMs, limits.expressCalmMsMax);
    this.#choose("stream", nowMs);
  }

  #choose(way: "express" | "stream", nowMs: number): void {
    this.#way = way;
    this.#chosenMs = nowMs;
    this.#losses = 0;
    this.#yields = false;
    this.#waiting = undefined;
  }

  #learnPut(tookMs: number): void {
    this.#putMs += putShare * (tookMs - this.#putMs);
  }
}
