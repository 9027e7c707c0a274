/**
 * Which way a process's next commit goes, and how long it waits before a put
 * (docs/adr/0013-express-commit.md, Policy and Fairness). It begins express, goes to the stream
 * when the log is busy, and comes back when it was calm. Nothing relies on it: every put is
 * conditional, so a wrong guess costs a refused put, or the latency of the stream.
 *
 * Time and randomness come with each call; times are monotonic milliseconds. In virtual time, with
 * puts of 8 ms, 8 processes that pause for a second lose one put in 25 wins; 32 that do not pause
 * all go by the stream from the first second on, and with nowhere else to go they lose 1.4 puts per
 * win, where without waits they would lose 13 (test/engine/express).
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type { MakerNumber } from "../../core/types.ts";

export type CommitMode = "auto" | "express" | "stream";

/** `neither`: only express was asked for, and it is not allowed. */
export type CommitWay = "express" | "stream" | "neither";

/** A block of another process, as the tail shows it. */
export type ForeignBlock = {
  readonly atMs: number;
  /** Undefined: an oracle's. */
  readonly maker: MakerNumber | undefined;
  /** Its decisions for other processes: one block of an oracle stands for many that wait. */
  readonly decisions: number;
};

export type Decision = {
  readonly nowMs: number;
  /** The right to append, and a clock that is certain enough. */
  readonly mayExpress: boolean;
  /** Uniform in [0, 1). */
  readonly random: number;
};

/** Weight of the newest put in the mean of what one takes. */
const putShare = 0.2;
/** What a put is taken to last before one was made. */
const firstPutMs = 10;

export class CommitPolicy {
  readonly #mode: CommitMode;
  #way: "express" | "stream" = "express";
  #putMs = firstPutMs;
  #losses = 0;
  /** The last put was won: those whom it has beaten come first. */
  #hasWon = false;
  /** Within the window, oldest first. */
  #seen: ForeignBlock[] = [];
  /** Of the log's time, what others' blocks take. */
  #share = 0;
  /** When the way was chosen, and since when the log has been calm. */
  #chosenMs = Number.NEGATIVE_INFINITY;
  #calmSinceMs = Number.NEGATIVE_INFINITY;
  #calmMs: number = limits.expressCalmMsMin;

  constructor(mode: CommitMode) {
    this.#mode = mode;
  }

  /** Blocks of others come in the order of the log; the one that refused a put, too. */
  saw(block: ForeignBlock): void {
    this.#seen.push(block);
    if (this.#seen.length > limits.expressBlocksMax) this.#seen.shift();
    this.#look(block.atMs);
  }

  /** A put of this process was answered with success. */
  won({ nowMs, tookMs }: { readonly nowMs: number; readonly tookMs: number }): void {
    this.#learnPut(tookMs);
    this.#losses = 0;
    this.#hasWon = true;
    // Who has stayed for so long did not come back too early.
    if (nowMs - this.#chosenMs > this.#calmMs) this.#calmMs = limits.expressCalmMsMin;
  }

  /** A put was refused. @param to who stands there; undefined: an oracle. */
  lost({
    nowMs,
    tookMs,
    to,
  }: {
    readonly nowMs: number;
    readonly tookMs: number;
    readonly to: MakerNumber | undefined;
  }): void {
    this.#learnPut(tookMs);
    this.#losses += 1;
    this.#hasWon = false;
    // mutant: express-never-yields
    if (to === undefined || this.#losses >= limits.expressLossesMax) this.#leave(nowMs);
  }

  decide({ nowMs, mayExpress, random }: Decision): {
    readonly way: CommitWay;
    readonly waitMs: number;
  } {
    assert(random >= 0 && random < 1, "commit policy: randomness lies in [0, 1)");
    this.#look(nowMs);
    if (this.#mode === "stream") return { way: "stream", waitMs: 0 };
    if (!mayExpress) return { way: this.#mode === "auto" ? "stream" : "neither", waitMs: 0 };
    if (this.#mode === "auto" && this.#way === "stream") {
      if (nowMs - Math.max(this.#calmSinceMs, this.#chosenMs) < this.#calmMs) {
        return { way: "stream", waitMs: 0 };
      }
      // probe: express-comes-back
      this.#choose("express", nowMs);
    }
    return { way: "express", waitMs: this.#waitMs(random) };
  }

  /**
   * In proportion to the makers that are about, so that few puts are under way at a time, however
   * many want to; and behind those whom the last put has beaten. On a log that is calm for nobody's
   * sake: a wait makes the tail older, which loses more than it wins there.
   */
  #waitMs(random: number): number {
    if (this.#losses === 0 && this.#share <= limits.expressCalmShareMax) return 0;
    const makers = new Set(this.#seen.map(({ maker }) => maker)).size;
    if (makers === 0) return 0;
    const behindMs = this.#hasWon ? this.#putMs : 0;
    // mutant: express-never-waits
    return Math.min(behindMs + random * makers * this.#putMs, limits.expressWaitMsMax);
  }

  #look(nowMs: number): void {
    const fromMs = nowMs - limits.expressWindowMs;
    if ((this.#seen[0]?.atMs ?? nowMs) <= fromMs) {
      this.#seen = this.#seen.filter(({ atMs }) => atMs > fromMs);
    }
    let blocks = 0;
    let decisions = 0;
    for (const block of this.#seen) {
      blocks += 1;
      decisions += Math.max(1, block.decisions);
    }
    const perBlock = this.#putMs / limits.expressWindowMs;
    this.#share = blocks * perBlock;
    // mutant: express-never-yields
    if (this.#share > limits.expressBusyShareMax) this.#leave(nowMs);
    // What the stream carries would be blocks of their own if all came back.
    if (decisions * perBlock > limits.expressCalmShareMax) this.#calmSinceMs = nowMs;
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
    this.#hasWon = false;
  }

  #learnPut(tookMs: number): void {
    this.#putMs += putShare * (tookMs - this.#putMs);
  }
}
