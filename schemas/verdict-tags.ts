/**
 * First byte of each verdict in a block of the log (docs/formats/log-block.md). Imported as a
 * namespace.
 */

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
export const checkedAhead = 6;
export const payloadUnreadable = 7;
export const tooLarge = 8;
export const probed = 9;
export const stale = 10;
export const tableUnknown = 11;
export const tableDiffers = 12;
