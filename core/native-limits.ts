/**
 * Bounds of transactions that are prepared before they are decided, for native operations beside
 * them (docs/adr/0014-native-operations.md); part of core/limits.ts.
 */

/**
 * Transactions of a log that are prepared and not decided, and the hashes that they have checked or
 * write, at 200 B each. Beyond them a request to prepare one more is answered `busy`.
 */
export const openTransactionsMax = 10_000;
export const openEntriesMax = 100_000;
/** Of what tells a state of an item from all others. */
export const nonceBytes = 16;
/** Writes of one that is prepared: its commit says what each install replaces, in one block. */
export const preparedWritesMax = 5_000;
/**
 * How long who is in the way of somebody may take to vote, as that one's clock has it: twice as
 * long with each that the same caller meets.
 */
export const openPatienceMsMin = 200;
export const openPatienceMsMax = 2_000;
