/**
 * What goes on in the log, as one process sees it: how much of its time blocks take, how much of
 * its partition's write units, how many requests the stream brings, and who stands in line for the
 * next block (commit-policy.ts). Times are monotonic milliseconds.
 */
import * as limits from "../../core/limits.ts";
import type { LogPosition, MakerNumber } from "../../core/types.ts";

/** A block of another process, as the tail shows it. */
export type ForeignBlock = {
  readonly position: LogPosition;
  readonly atMs: number;
  /** Undefined: an oracle's. */
  readonly maker: MakerNumber | undefined;
  /** Its decisions for other processes: one block of an oracle stands for many that wait. */
  readonly decisions: number;
  /** Write units that its put took, about. */
  readonly units: number;
};

/** A put of this process; the decisions of a refused one are none. */
type Put = {
  readonly position: LogPosition | undefined;
  readonly atMs: number;
  readonly units: number;
  readonly decisions: number;
};

/** Of the window, its newest part: a load that has just begun shows there first. */
const newestShare = 0.25;

export class LogActivity {
  /** Within the window, oldest first. */
  #seen: ForeignBlock[] = [];
  #own: Put[] = [];
  #newestOwn: { readonly position: LogPosition; readonly atMs: number } | undefined;
  #nowMs = 0;
  /** The last block of each other maker, in the log's order. */
  readonly #makers = new Map<
    MakerNumber,
    { readonly position: LogPosition; readonly atMs: number }
  >();

  saw(block: ForeignBlock): void {
    this.#seen.push(block);
    if (this.#seen.length > limits.expressBlocksMax) this.#seen.shift();
    const { maker, position, atMs } = block;
    if (maker === undefined) return;
    this.#makers.delete(maker);
    this.#makers.set(maker, { position, atMs });
  }

  put(put: Put): void {
    this.#own.push(put);
    const { position, atMs } = put;
    if (position !== undefined) this.#newestOwn = { position, atMs };
    if (this.#own.length > limits.expressBlocksMax) this.#own.shift();
  }

  /** Lets go of what is older than the window. */
  forget(nowMs: number): void {
    this.#nowMs = nowMs;
    const fromMs = nowMs - limits.expressWindowMs;
    if ((this.#seen[0]?.atMs ?? nowMs) <= fromMs) {
      this.#seen = this.#seen.filter(({ atMs }) => atMs > fromMs);
    }
    if ((this.#own[0]?.atMs ?? nowMs) <= fromMs) {
      this.#own = this.#own.filter(({ atMs }) => atMs > fromMs);
    }
    for (const [maker, { atMs }] of this.#makers) {
      if (atMs > nowMs - limits.expressMakersMs && this.#makers.size <= limits.expressBlocksMax) {
        break;
      }
      this.#makers.delete(maker);
    }
  }

  /** Of the log's time, what others' blocks take: over the window, or of late if that is more. */
  share(putMs: number): number {
    const ofWindow = this.#seen.length / limits.expressWindowMs;
    const newestMs = limits.expressWindowMs * newestShare;
    const fromMs = this.#nowMs - newestMs;
    const first = this.#seen.findLastIndex(({ atMs }) => atMs <= fromMs) + 1;
    const ofLate = (this.#seen.length - first) / newestMs;
    return putMs * Math.max(ofWindow, ofLate);
  }

  /**
   * How many other processes stand before this one in line: their last blocks lie below its own.
   * All see the same line, whatever their clocks say. Undefined: it has never put a block.
   */
  ahead(won: LogPosition | undefined): number | undefined {
    if (won === undefined) return undefined;
    let ahead = 0;
    for (const { position } of this.#makers.values()) {
      if (position > won) break;
      ahead += 1;
    }
    return ahead;
  }

  /** The newest block, and when it was put, about; undefined: none of late. */
  get newest(): { readonly position: LogPosition; readonly atMs: number } | undefined {
    const seen = this.#seen.at(-1);
    const own = this.#newestOwn;
    if (seen === undefined || (own !== undefined && own.position > seen.position)) return own;
    return seen;
  }

  /** Whether an oracle has put blocks of late. */
  get hasOracle(): boolean {
    return this.#seen.some(({ maker }) => maker === undefined);
  }

  /** Write units that blocks of processes have taken in the window, as far as this one knows. */
  get units(): number {
    let units = 0;
    for (const { maker, units: taken } of this.#seen) if (maker !== undefined) units += taken;
    for (const { units: taken } of this.#own) units += taken;
    return units;
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
    for (const { decisions } of this.#own) express += decisions;
    // What the stream carries would be blocks of their own if all came back.
    if (byStream * perBlock > limits.expressCalmShareMax && byStream > express) return true;
    if (this.units > limits.expressUnitsMax) return true;
    const isBusy = blocks * perBlock > limits.expressBusyShareMax;
    return isBusy && makers.size + 1 > limits.expressMakersMax;
  }
}
