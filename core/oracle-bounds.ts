/** Where an oracle begins, and how much it takes at a time. */
import * as limits from "./limits.ts";
import type { LogPosition, StreamCursor, Timestamp } from "./types.ts";

/** Where a log begins for an oracle: before the first block that it folds, or at the watermark. */
export type OracleStart = {
  readonly position: LogPosition;
  /**
   * Newest timestamp at that position. Of commits at or below it nothing is known: the first floor.
   */
  readonly timestamp: Timestamp;
  readonly cursor: StreamCursor | undefined;
};

export type OracleBounds = {
  /** Stream time that certification looks back. */
  readonly windowMicros: number;
  /**
   * Index entries; above it the floor rises early, so that more is `stale` and nothing is wrong.
   */
  readonly indexEntriesMax: number;
  readonly blockBytesMax: number;
  readonly blockVerdictsMax: number;
  /**
   * Bounds the work for a block: requests, their checks and writes. Duplicates and refusals take no
   * room in a block, and checks none in any.
   */
  readonly blockStepsMax: number;
};

export const oracleBoundsDefault: OracleBounds = {
  windowMicros: limits.certificationWindowMicros,
  indexEntriesMax: limits.indexEntriesMax,
  blockBytesMax: limits.blockBytesMax,
  blockVerdictsMax: limits.blockVerdictsMax,
  blockStepsMax: limits.blockStepsMax,
};
