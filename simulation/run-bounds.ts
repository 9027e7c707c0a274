/** What a run may take, and from where on a judge complains. */

/** The longest that anything may take by itself: a frozen process sleeps 30 minutes. */
export const workLimitMs = 40 * 60_000;
export const settleLimitMs = 20 * 60_000;
/** Installs that are under way still may take their minute. */
export const closeLimitMs = 5 * 60_000;
/**
 * The longest retention of any workload is 30 minutes; the margin of tombstones comes on top, the
 * reaper comes every 5 minutes, and may have gone by what held before for some more.
 */
export const reapedMs = 60 * 60_000;
export const lookMs = 1_000;
/** A run of some length must prove something; a minimized one may be as small as it likes. */
export const judgedTransactionsMin = 60;
/** Of the outcomes that are open, the rest are settled when all is over. */
export const asksAtOnceShare = 0.5;
/** More of them tell nothing more. */
export const wrongPastsMax = 20;
export const lostWritesMax = 5;
/** 9 is the most that was seen, in some forty runs; without courtesy up to 36 were. */
export const leftOutMax = 16;
/**
 * 4 is the most that was seen, in a hundred runs; where nobody gives way, 7 come soon. Beside one
 * busy client, and with slow calls, 7 were seen once in 120 runs: each refused put showed one block
 * of several.
 */
export const takenInRowMax = 7;
/**
 * Of those who append, 12 and 19 are the most that was seen, of twelve that begin at once. What a
 * line in the wrong order does to them shows in how often each comes, not here: who waits in vain
 * puts in any case.
 */
export const turnBounds = { lostMax: 16, passedMax: 60 } as const;
export const runLimitMs = 12 * 3600_000;
/**
 * Of one run: what livelocks is found by this, and not by how long it takes, which depends on the
 * machine. Of seeds 1..128 the most came to 286,894; with eight clients and four natives at four
 * items it was 766,233.
 */
export const eventsMax = 3_000_000;
