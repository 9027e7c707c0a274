/**
 * First byte of each verdict in a block of the log (docs/formats/log-block.md). Imported as a
 * namespace.
 */
import type { PlainAbort } from "../core/verdict-kinds.ts";

/**
 * Payload in the stream: in the request after the verdict before; elsewhere in that record; in
 * another.
 */
export const committedNext = 0;
export const committedSameRecord = 1;
export const committedNewRecord = 2;
export const committedSpilled = 3;
export const committedInline = 4;
export const conflict = 5;
export const stale = 10;
/** As `committedNext` to `committedInline`, of what is prepared. */
export const preparedNext = 13;
export const preparedInline = 17;
/** The commit of what was prepared. */
export const voted = 18;
export const busy = 19;
/** As `preparedNext` to `preparedInline`, of a part; and of one that writes nothing. */
export const partNext = 20;
export const partInline = 24;
export const partNone = 25;
/** The commit of a part; and of one that a vote has decided. */
export const counted = 26;
export const countedVote = 28;
/** What has no details but its kind. */
export const plainAborts = {
  "checked-ahead": 6,
  "payload-unreadable": 7,
  "too-large": 8,
  probed: 9,
  "table-unknown": 11,
  "table-differs": 12,
  elsewhere: 27,
} as const satisfies Record<PlainAbort, number>;
