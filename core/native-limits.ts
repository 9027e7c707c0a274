/**
 * Bounds of transactions over mixed tables, which are prepared before they are decided; of tables
 * that are moved there; of the auditor and of the plugin for native operations
 * (docs/adr/0014-native-operations.md). Part of core/limits.ts.
 */

/**
 * Transactions of a log that are prepared and not decided, and the hashes that they have checked or
 * write, at 200 B each. Beyond them a request to prepare one more is answered `busy`.
 */
export const openTransactionsMax = 10_000;
export const openEntriesMax = 100_000;
/** Of what tells a state of an item from all others. */
export const nonceBytes = 16;
/** Of a fence: the id of a transaction. */
export const fenceBytes = 16;
/**
 * Attributes that the conditions of a local commit may name: each takes a comparison and an AND of
 * DynamoDB's 300 operators, and up to 31 bytes of its 4 KB, by whatever name.
 */
export const localAttributesMax = 120;
/** Calls for one item in a row that others were faster than, or whose answers were lost. */
export const mixedAttemptsMax = 16;
/** Fences of others that were settled for one write, one after the other. */
export const mixedSettlesMax = 8;
/** Writes of one that is prepared: its commit says what each install replaces, in one block. */
export const preparedWritesMax = 5_000;
/**
 * What an interactive transaction may have read of mixed tables, as it weighs in memory
 * (core/item-size.ts): its commit reads all of it again, and holds it there.
 */
export const recalledBytesMax = 32 * 1024 * 1024;
/** Items of that which are read at once: each may have become as large as an item can be. */
export const recalledAtOnceMax = 25;
/**
 * Pages of queries and scans that one transaction may have read of mixed tables, and what they
 * weigh: it keeps them, and its end reads all of them again, so many at once.
 */
export const mixedPagesMax = 1_000;
export const mixedPagesBytesMax = 128 * 1024 * 1024;
export const pagesAgainAtOnceMax = 8;
/** Rows that one call asks for at most, where placeholders stand before what is wanted. */
export const rowsBehindHiddenMax = 10_000;
/** How long a client tries to vote its own transaction down, and to clean up after it. */
export const withdrawMsMax = 5_000;
/**
 * How long who is in the way of somebody may take to vote, as that one's clock has it: twice as
 * long with each that the same caller meets.
 */
export const openPatienceMsMin = 200;
export const openPatienceMsMax = 2_000;
/** Who has given way to an older part is as patient with it as who has met so many. */
export const olderPartsMet = 3;
/** How many that are in one's way are waited for, and voted down, at a time. */
export const openSettledAtOnceMax = 256;

// --- A table on its way from transactional to mixed, or back (core/table-access.ts) ---
/**
 * After a change of the registry, nobody commits by an older copy of it, if his block comes after
 * this: an oracle's and an express client's copy, and a second for clocks of unequal pace.
 */
export const accessCommitsMs = 11_000;
/**
 * And no transaction reads by one that has begun by it: a transaction's age longer, and the same.
 */
export const accessReadsMs = 72_000;
/**
 * What was sent before is past: installs of transactional commits, as when a tombstone goes; native
 * calls and local commits, which their process had begun by an old copy, for as long as a clock
 * that is fast lets their signature live.
 */
export const accessGuardMs = 15 * 60_000;
/**
 * How long the mover waits until replay has installed what was committed; how often it looks, and
 * how often it wakes replay by another commit.
 */
export const accessSettleMsMax = 10 * 60_000;
export const accessLookMs = 250;
export const accessWakeMs = 5_000;
/** How often it says how long it still has to wait. */
export const accessProgressMs = 10_000;
/**
 * Passes over the table until nothing was found that had to wait, the pause between two, and tries
 * of one call.
 */
export const accessSweepsMax = 60;
export const accessSweepPauseMs = 2_000;
export const accessCallTriesMax = 12;

// --- Parts of transactions over several shards (docs/adr/0015-many-shards.md) ---
/** Parts of others that replay settles at a time, and how long it looks for one's outcome. */
export const partsSettledAtOnceMax = 64;
export const partsSettledMsMax = 5_000;

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
/** Items that are looked at at once for fences of what was aborted: a page of the largest ones. */
export const fencesLookedMax = 40;
/** Aborted transactions of a chunk whose fences replay takes away at a time. */
export const abortedConcurrencyMax = 16;
/** Pages of the log, below the watermark, that it reads for what was prepared there. */
export const openPagesMax = 64;

// --- The auditor (functions/auditor) ---
/** Lines that it writes of one batch, those about most writes, and names in each. */
export const auditLinesMax = 20;
export const auditNamesMax = 50;
/** Of a name of 64 KB, what stands there. */
export const auditNameLengthMax = 100;

// --- The plugin for native operations (native/) ---
/**
 * How long a native write waits for a transaction that is in its way, at each meeting: two answers
 * may be lost meanwhile (`callTimeoutMsDefault`).
 */
export const nativeClearMsMax = 12_000;
/** How old its list of mixed tables may be. Within half of that it asks anew, in the background. */
export const nativeTablesMsMax = 10_000;
