/**
 * DynamoDB's bounds of requests and their expressions, which are refused as it refuses them; those
 * of items and keys, which transactions have as well, are in core/limits.ts.
 */

/** Of one expression, placeholders included. */
export const expressionBytesMax = 4_096;
/**
 * Parentheses and calls within each other: as many as operators and functions that DynamoDB lets an
 * expression have, and few enough for the stack.
 */
export const nestingMax = 300;
/**
 * Ours: texts whose tree is kept. Programs have few; some libraries number their placeholders anew
 * for each call.
 */
export const textsMax = 1_000;
/** Ours: lengths of two texts, multiplied, up to which one is looked for in the other plainly. */
export const plainSearchMax = 2 ** 22;
/** Operands on the right of `IN`. */
export const inCandidatesMax = 100;
/** Of an index into a list in a path. */
export const listIndexMax = 2 ** 31 - 1;
/** Parts of a Scan in parallel. */
export const segmentsMax = 1_000_000;
/** Parts of a TransactWriteItems or TransactGetItems, and bytes of what the first writes. */
export const transactionItemsMax = 100;
export const transactionBytesMax = 4 * 1024 * 1024;
/** Characters of a ClientRequestToken. */
export const tokenLengthMax = 36;
