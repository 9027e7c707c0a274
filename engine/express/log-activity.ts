/**
 * What goes on in the log, as one process sees it: how much of its time blocks take, how much of
 * its partition's write units, how many requests the stream brings, and who stands in line for the
 * next block (commit-policy.ts). Times are monotonic milliseconds.
 */
import * as limits from "../../core/limits.ts";
import type { MakerNumber } from "../../core/types.ts";

/** A block of another process, as the tail shows it. */
export type ForeignBlock = {
  readonly atMs: number;
  /** Undefined: an oracle's. */
  readonly maker: MakerNumber | undefined;
  /** Its decisions for other processes: one block of an oracle stands for many that wait. */
  readonly decisions: number;
  /** Write units that its put took, about. */
  readonly units: number;
};

/** Others' blocks, or puts of this process. */
type Put = { readonly atMs: number; readonly units: number };

export class LogActivity {
  /** Within the window, oldest first. */
  #seen: ForeignBlock[] = [];
  #own: Put[] = [];
  /** When each other maker's last block was seen, oldest first. */
  readonly #makers = new Map<MakerNumber, number>();

  saw(block: ForeignBlock): void {
    this.#seen.push(block);
    if (this.#seen.length > limits.expressBlocksMax) this.#seen.shift();
    const { maker, atMs } = block;
    if (maker === undefined) return;
    this.#makers.delete(maker);
    this.#makers.set(maker, atMs);
  }

  put(put: Put): void {
    this.#own.push(put);
    if (this.#own.length > limits.expressBlocksMax) this.#own.shift();
  }

  forget(nowMs: number): void {
    const fromMs = nowMs - limits.expressWindowMs;
    if ((this.#seen[0]?.atMs ?? nowMs) <= fromMs) {
      this.#seen = this.#seen.filter(({ atMs }) => atMs > fromMs);
    }
    if ((this.#own[0]?.atMs ?? nowMs) <= fromMs) {
      this.#own = this.#own.filter(({ atMs }) => atMs > fromMs);
    }
    for (const [maker, atMs] of this.#makers) {
      if (atMs > nowMs - limits.expressMakersMs && this.#makers.size <= limits.expressBlocksMax) {
        break;
      }
      this.#makers.delete(maker);
    }
  }

  /** Of the log's time, what others' blocks take. */
  share(putMs: number): number {
    return (this.#seen.length * putMs) / limits.expressWindowMs;
  }

  /**
   * How many other processes that have put blocks of late did so before this one; undefined: it has
   * never put one.
   */
  ahead(wonMs: number | undefined): number | undefined {
    if (wonMs === undefined) return undefined;
    let ahead = 0;
    for (const atMs of this.#makers.values()) {
      if (atMs >= wonMs) break;
      ahead += 1;
    }
    // mutant: express-winner-goes-first
    return ahead;
  }

  /** When the newest block of a process was seen, if no oracle's has come since. */
  get processBlockMs(): number | undefined {
    const newest = this.#seen.at(-1);
    return newest?.maker === undefined ? undefined : newest.atMs;
  }

  /** Whether an oracle has put blocks of late. */
  get hasOracle(): boolean {
    return this.#seen.some(({ maker }) => maker === undefined);
  }

  /** Whether blocks of processes take nearly all that the log's partition can write. */
  get isTooMuch(): boolean {
    let units = 0;
    for (const { maker, units: taken } of this.#seen) if (maker !== undefined) units += taken;
    for (const { units: taken } of this.#own) units += taken;
    return units > limits.expressUnitsMax;
  }

  /** Whether the stream serves better: there are too many, or what they put is too much. */
  isCrowded(putMs: number): boolean {
    const perBlock = putMs / limits.expressWindowMs;
    const makers = new Set<MakerNumber>();
    let byStream = 0;
    let express = 0;
    let blocks = 0;
    for (const { maker, decisions } of this.#seen) {
      if (maker === undefined) {
        byStream += decisions;
      } else {
        blocks += 1;
        express += decisions;
        makers.add(maker);
      }
    }
    // What the stream carries would be blocks of their own if all came back.
    if (byStream * perBlock > limits.expressCalmShareMax && byStream > express) return true;
    if (this.isTooMuch) return true;
    const isBusy = blocks * perBlock > limits.expressBusyShareMax;
    return isBusy && makers.size + 1 > limits.expressMakersMax;
  }
}
