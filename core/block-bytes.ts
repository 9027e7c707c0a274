/**
 * The most bytes that the parts of a block take (docs/formats/log-block.md). Whoever makes a block
 * reckons with them before anything is encoded.
 */
import * as limits from "./limits.ts";
import type { WriteHashes } from "./types.ts";

/** Bound on everything of a block but its verdicts. */
export const blockFrameBytesMax = 256;
/** Kind, id, distance of the timestamp. */
export const decisionBytesMax = 1 + 16 + 8;
export const abortBytesMax = decisionBytesMax + 3 + 8;
export const staleBytesMax = 1 + 16;
/** Both ids: the request's, and that of what stands in its way. */
export const busyBytesMax = 1 + 16 + 16;
/** Of a vote: how far back the prepared verdict lies, and what each install replaces. */
export const votedBytesMax = 8 + 3;
export const stampBytesMax = 1 + 16;
/** Of the commit of a part: how far back it lies, and how far below its place it counts. */
export const countedBytesMax = 8 + 8;
/** Of a part: their number, and each one's shard and timestamp; with a vote, its stamps' number. */
export const partCountBytesMax = 2;
export const partBytesMax = 1 + 7 + 2;
export const checkCountBytesMax = 3;
/** Where the payload lies: record and request named anew, or request only, or chunks. */
export const newRecordBytesMax = 2 + 1 + 55 + 3;
export const sameRecordBytesMax = 3;
/** Length of an inline payload: less than a block's. */
export const inlineLengthBytesMax = 3;
export const spilledBytesMax = 3 + 8 + limits.digestBytes;
export const writeCountBytesMax = 3;
/** Table index and key hash of a write; partition hash and length with a sort key. */
export const simpleWriteBytesMax = 3 + 8;
export const sortedWriteBytesMax = 3 + 8 + 1;
export const newTableBytesMax = 8 + 1;
export const hashBytes = 8;

/** Bound on the bytes of written hashes. */
export function writeHashesBytesMax(writes: readonly WriteHashes[]): number {
  let sum = 0;
  let table: bigint | undefined;
  for (const write of writes) {
    if (write.table !== table) sum += newTableBytesMax;
    table = write.table;
    if (write.partition === write.key) sum += simpleWriteBytesMax;
    else sum += sortedWriteBytesMax + (write.sortKey?.length ?? hashBytes);
  }
  return sum;
}
