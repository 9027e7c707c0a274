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
 * stream each conflict costs the whole way there and back, and here the block that comes brings
 * what to run again on.
 *
 * *Turns.* The log shows who made each block. Whoever has not put a block for the longest time goes
 * first, all processes see the same line, and nobody is starved: who has won stands at its end. On
 * a busy log only the first one puts. Those right behind it look for its block as it comes: that
 * costs read units where a refused put would cost write units, and brings them into place sooner.
 * The others look at the log from time to time. Nobody waits for long for those who do not come;
 * while the log has room the first few put at once. A newcomer, whom nobody knows of, puts together
 * with the first one.
 *
 * Time and randomness come with each call; times are monotonic milliseconds.
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type { LogPosition } from "../../core/types.ts";
import type { CommitPreference, CommitWay } from "../types.ts";
import { LogActivity, type ForeignBlock } from "./log-activity.ts";

export type { ForeignBlock } from "./log-activity.ts";

/** For how long others go first. Who is next in line looks for each block as it comes. */
export type Wait = { readonly forMs: number; readonly lookEveryMs: number | undefined };

/** A put of this process that was answered. */
export type OwnPut = { readonly nowMs: number; readonly tookMs: number; readonly units: number };

/** One that stands in the log, with so many decisions of this process. */
export type OwnWin = OwnPut & { readonly position: LogPosition; readonly decisions: number };

/** Weight of the newest put in the mean of what one takes. */
const putShare = 0.2;
/** Fewer conflicts are chance. */
const contendedMin = 3;
/** An oracle's refused put comes back, and the next one arrives: with some to spare. */
const oraclePuts = 2;
/** Who has so few before it looks for their blocks; who is next, this often in a put's time. */
const nearTurns = 2;
const looksInPut = 8;
/** How much longer than a put it waits for somebody who may not come, in puts. */
const patience = 1;
/** Who has never won spreads after so many refused puts in a row. */
const newcomerLosses = 4;
/** What a put is taken to last before one was made. */
const firstPutMs = 10;

export class CommitPolicy {
  readonly #mode: CommitPreference;
  readonly #log = new LogActivity();
  /** Of a process that may choose. */
  #way: CommitWay = "express";
  #putMs = firstPutMs;
  #lossesOnThisWay = 0;
  /** The newest block behind which it has left an oracle the time for one. */
  #gaveWayBehind: LogPosition | undefined;
  /** The last win: its block, and the monotonic time at which it was heard of. */
  #won: { readonly position: LogPosition; readonly atMs: number } | undefined;
  /** How many tries have ended of late, older ones counting ever less. */
  #ends = { conflicts: 0, commits: 0, atMs: 0 };
  #isContended = false;
  /** How many were before it in line, behind which block, and until when it waits for the first. */
  #waiting:
    | { readonly turns: number; readonly behind: number; readonly untilMs: number }
    | undefined;
  /** When the way was chosen, and since when there was room for this process. */
  #chosenMs = Number.NEGATIVE_INFINITY;
  #roomSinceMs = Number.NEGATIVE_INFINITY;
  #calmMs: number = limits.expressCalmMsMin;

  constructor(mode: CommitPreference) {
    this.#mode = mode;
  }

  /** Blocks of others come in the order of the log; the one that refused a put, too. */
  saw(block: ForeignBlock): void {
    this.#log.saw(block);
    this.#look(block.atMs);
  }

  /** A put of this process was answered with success. */
  won({ nowMs, tookMs, units, position, decisions }: OwnWin): void {
    this.#learnPut(tookMs);
    this.#log.put({ position, atMs: nowMs, units, decisions });
    this.#lossesOnThisWay = 0;
    this.#won = { position, atMs: nowMs };
    this.#waiting = undefined;
    // Who has stayed for so long did not come back too early.
    if (nowMs - this.#chosenMs > this.#calmMs) this.#calmMs = limits.expressCalmMsMin;
  }

  /** A put of this process was refused. */
  lost({ nowMs, tookMs, units }: OwnPut): void {
    this.#learnPut(tookMs);
    this.#log.put({ position: undefined, atMs: nowMs, units, decisions: 0 });
    this.#lossesOnThisWay += 1;
    this.#waiting = undefined;
    // mutant: express-never-yields
    if (!this.#isContended && this.#lossesOnThisWay >= limits.expressLossesMax) this.#leave(nowMs);
  }

  /** A try of a transaction has ended, by whichever way: by a commit, or by another's. */
  ended({ nowMs, isConflict }: { readonly nowMs: number; readonly isConflict: boolean }): void {
    const kept = Math.exp((this.#ends.atMs - nowMs) / limits.expressWindowMs);
    const conflicts = this.#ends.conflicts * kept + (isConflict ? 1 : 0);
    const commits = this.#ends.commits * kept + (isConflict ? 0 : 1);
    this.#ends = { conflicts, commits, atMs: nowMs };
    const share = conflicts / (conflicts + commits);
    const from = limits.expressContendedShare;
    if (conflicts >= contendedMin && share > from) this.#isContended = true;
    if (share < from / 2) this.#isContended = false;
  }

  /** Which way the next commit goes, of one that a block could take. */
  way(nowMs: number): CommitWay {
    this.#look(nowMs);
    return this.#mode === "auto" ? this.#way : this.#mode;
  }

  #isBetterExpress(nowMs: number): boolean {
    const isRoom = nowMs - Math.max(this.#roomSinceMs, this.#chosenMs) >= this.#calmMs;
    return isRoom || (this.#isContended && this.#log.units <= limits.expressUnitsMax / 2);
  }

  /**
   * How others go first; after that the log is looked at, and this is asked again. Undefined: it is
   * this process's turn. On a calm log nobody waits: a wait only makes the tail older.
   * @param random uniform in [0, 1).
   */
  wait(nowMs: number, random: number): Wait | undefined {
    assert(random >= 0 && random < 1, "commit policy: randomness lies in [0, 1)");
    this.#look(nowMs);
    const isCalm = this.#log.share(this.#putMs) <= limits.expressCalmShareMax;
    if (isCalm && this.#lossesOnThisWay < 2) return undefined;
    // mutant: express-never-waits
    const leftMs = this.#giveWayMs(nowMs);
    // mutant: express-never-waits
    const turns = this.#turns(random);
    if (turns === 0) return leftMs > 0 ? this.#near(leftMs) : undefined;
    const waited = this.#waiting;
    // Nobody of those before it has come, for as long as they would have taken.
    const isInVain = waited !== undefined && turns >= waited.turns && nowMs >= waited.untilMs;
    if (isInVain) return leftMs > 0 ? this.#near(leftMs) : undefined;
    if (waited === undefined || turns < waited.turns) {
      const untilMs = nowMs + leftMs + (turns + patience) * this.#putMs;
      this.#waiting = {
        turns,
        behind: this.#log.newest?.position ?? 0,
        untilMs: Math.min(untilMs, nowMs + limits.expressWaitMsMax),
      };
    }
    const untilMs = this.#waiting?.untilMs ?? nowMs;
    if (turns <= nearTurns) return this.#near(untilMs - nowMs, turns);
    const farMs = Math.max(1, (turns - nearTurns) / 2) * this.#putMs;
    const forMs = Math.min(farMs, untilMs - nowMs);
    return { forMs: Math.max(forMs, 1), lookEveryMs: undefined };
  }

  /** How many put before this process may, as far as it knows. */
  #turns(random: number): number {
    const place = this.#log.ahead(this.#won?.position);
    if (place !== undefined) {
      // Where some of those before it do not come, several try at once; an oracle puts as soon as
      // it can, and stands for many.
      const contenders = this.#isBusy || this.#log.hasOracle ? 1 : limits.expressContendersMax;
      return Math.max(0, place + 1 - contenders);
    }
    // Whom the others have not seen yet goes first, together with who is first in line: it looks
    // for the same block. Where many come at once they spread over ever more turns.
    const waited = this.#waiting;
    if (waited !== undefined) {
      const come = (this.#log.newest?.position ?? 0) - waited.behind;
      return Math.max(0, waited.turns - come);
    }
    if (this.#lossesOnThisWay === 0 || !this.#isBusy) return 0;
    const beaten = Math.max(this.#lossesOnThisWay - newcomerLosses, 0);
    const doublings = Math.min(beaten, limits.expressSpreadDoublingsMax);
    return 1 + Math.floor(random * 2 ** doublings);
  }

  get #isBusy(): boolean {
    return this.#log.share(this.#putMs) > limits.expressBusyShareMax;
  }

  #near(forMs: number, turns = 1): Wait {
    return {
      forMs: Math.min(Math.max(forMs, 1), limits.expressWaitMsMax),
      lookEveryMs: Math.max((this.#putMs / looksInPut) * turns ** 2, 1),
    };
  }

  /**
   * Beside an oracle: what is left of the time in which it hears of the newest block and puts its
   * own behind it. Once for each position, so that it is not put off for ever.
   */
  #giveWayMs(nowMs: number): number {
    const { newest } = this.#log;
    if (newest === undefined || !this.#log.hasOracle) return 0;
    if (newest.position === this.#gaveWayBehind) return 0;
    this.#gaveWayBehind = newest.position;
    return Math.max(0, newest.atMs + oraclePuts * this.#putMs - nowMs);
  }

  /** The one place where the way changes: by what the log shows, and by the passing of time. */
  #look(nowMs: number): void {
    this.#log.forget(nowMs);
    const isCrowded = this.#log.isCrowded(this.#putMs);
    if (isCrowded) this.#roomSinceMs = nowMs;
    const isTooMuch = this.#log.units > limits.expressUnitsMax;
    // mutant: express-never-yields
    if ((isCrowded && !this.#isContended) || isTooMuch) this.#leave(nowMs);
    else if (this.#way === "stream" && this.#isBetterExpress(nowMs)) {
      // probe: express-comes-back
      this.#choose("express", nowMs);
    }
  }

  #leave(nowMs: number): void {
    if (this.#mode !== "auto" || this.#way === "stream") return;
    // probe: express-goes-by-stream
    const isRelapse = nowMs - this.#chosenMs < 2 * this.#calmMs;
    if (isRelapse) this.#calmMs = Math.min(2 * this.#calmMs, limits.expressCalmMsMax);
    this.#choose("stream", nowMs);
  }

  #choose(way: CommitWay, nowMs: number): void {
    this.#way = way;
    this.#chosenMs = nowMs;
    this.#lossesOnThisWay = 0;
    this.#waiting = undefined;
  }

  #learnPut(tookMs: number): void {
    this.#putMs += putShare * (tookMs - this.#putMs);
  }
}
