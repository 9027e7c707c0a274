/**
 * The layout of log blocks (docs/formats/log-block.md) as the encoders (log-block-writing.ts) and
 * the decoder (log-block.ts) share it: tags, and the register of tables that keeps a block short.
 */
import type { LogBlock, Timestamp } from "../core/types.ts";

/** "TB", then the version of the layout. */
export const logBlockMagic = [0x54, 0x42] as const;
export const logBlockVersion = 1;

/** Bits of a block's flags. The others are of later versions, and refused. */
export const blockFlags = {
  maker: 1,
  installed: 2,
  open: 4,
  fork: 8,
  handover: 16,
  known: 31,
} as const;

export const handoverTags = { closing: 0, ended: 1, takes: 2 } as const;

export const cursorTags = { none: 0, recordDone: 1, withinRecord: 2 } as const;

export type LogBlockHeader = Omit<LogBlock, "verdicts"> & {
  readonly verdictCount: number;
  /** Fingerprint of the hash secret that the block's hashes were made under. */
  readonly hashFingerprint: number;
};

/** A block that decided nothing reaches exactly as far as the one before. */
export function isReached(
  block: Pick<LogBlock, "previousTimestamp" | "throughTimestamp">,
  last: Timestamp,
): boolean {
  if (last === block.previousTimestamp) return block.throughTimestamp === last;
  return last <= block.throughTimestamp;
}

/**
 * The tables of a block in order of first use, each with or without a sort key. A write names its
 * table by index; the index one above the last introduces a new one on the spot.
 */
export class TableRegister {
  readonly high: number[] = [];
  readonly low: number[] = [];
  readonly sorted: boolean[] = [];
  /** By low word, and by high word and kind: a liar may choose any of them. */
  readonly #byLow = new Map<number, Map<number, number>>();
  #latest = 0;

  /** Index of the table, or the number of tables when it is new. */
  find(high: number, low: number, sorted: boolean): number {
    const latest = this.#latest;
    if (this.low[latest] === low && this.high[latest] === high && this.sorted[latest] === sorted) {
      return latest;
    }
    const index = this.#byLow.get(low)?.get(highAndKind(high, sorted));
    if (index !== undefined) {
      this.#latest = index;
      return index;
    }
    return this.high.length;
  }

  add(high: number, low: number, sorted: boolean): void {
    const index = this.high.length;
    this.high.push(high);
    this.low.push(low);
    this.sorted.push(sorted);
    const ofLow = this.#byLow.get(low) ?? new Map<number, number>();
    this.#byLow.set(low, ofLow.set(highAndKind(high, sorted), index));
    this.#latest = index;
  }
}

function highAndKind(high: number, sorted: boolean): number {
  return high * 2 + (sorted ? 1 : 0);
}
