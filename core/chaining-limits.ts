/**
 * Bounds of chains, turns and courtesy at contended items (engine/chaining). Part of
 * core/limits.ts.
 */
/**
 * Transactions of one process that are certified as one, each having read what the ones before it
 * wrote.
 */
export const chainedTransactionsMax = 256;
/**
 * Bytes of their items together, by DynamoDB's way of counting: far from where a request has to be
 * spilled.
 */
export const chainedBytesMax = 128 * 1024;
/**
 * Undecided commits of a process that wait for one another in a row. Each may take a round trip,
 * and what the last one rests on is looked through from one to the next.
 */
export const chainDepthMax = 64;
/** Longest wait for another transaction of the process that is at a contended item. */
export const turnWaitMsMax = 100;
/** Transactions that wait for one another in a row; a longer row is not joined. */
export const turnChainMax = 64;
/** How long an item counts as contended after a conflict, and how many a process remembers. */
export const contendedMsMax = 10_000;
export const contendedKeysMax = 10_000;
/** How long a commit that waits for nothing is held back for others that are at its items. */
export const gatherMsMax = 20;
/**
 * How many round trips to the oracle a process waits for others at an item where it has beaten
 * them, and how long at most. One is what the other needs who reads and sends again. The second is
 * for what he has to wait for before: the verdict, and the install of what has beaten him.
 */
export const courtesyRoundTripsMax = 2;
export const courtesyMsMax = 250;
/** Commits whose losers a process goes on to look for, and the most writes of such a commit. */
export const courtesyCommitsMax = 256;
export const courtesyWritesMax = 64;
