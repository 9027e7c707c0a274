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

// --- Replay votes down what nobody decides (functions/replay/vote-down.ts) ---
/** Time of the log, from a prepared verdict to the newest one, after which it votes against. */
export const openMicrosMax = 5_000_000;
/**
 * The same by its own clock, for a log that is quiet. A wrong clock aborts more than it need, and
 * nothing else; so the bound leaves room for one.
 */
export const openByClockMsMax = 30_000;
/** Votes of one run, oldest first. */
export const votesDownMax = 1_000;
/** Until it votes on the same id again: the first vote may be on its way. */
export const voteAgainMs = 5_000;
/** Pages of the log, below the watermark, that it reads for what was prepared there. */
export const openPagesMax = 64;
