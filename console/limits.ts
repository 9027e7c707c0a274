/** Bounds of the console; those that it shares with the command line: inspection/limits.ts. */

/** Seconds that the charts reach back, and that are kept. */
export const secondsKept = 300;
/** Blocks that a page keeps of those it was told. */
export const pageBlocksKept = 500;
/** Characters of a value in one line. */
export const valueCharactersMax = 160;
/** Blocks that a look reads when it begins, for the charts: as many as a minute of a busy log. */
export const firstBlocksMax = 2_000;
/** Blocks of one log that one look takes in; of more only the newest are shown. */
export const blocksPerLookMax = 1_000;
/** Blocks of all logs that one event shows, and that whoever comes is shown first. */
export const blocksShownMax = 100;
/** Of one block in a list. */
export const verdictsShownMax = 20;
export const writesShownMax = 8;
/** Events that are kept for who was away, and their bytes: who was away for longer begins anew. */
export const eventsKept = 600;
export const eventBytesKept = 4 * 1024 * 1024;
/** Pages that may look at once. */
export const watchersMax = 32;
/** Ids of transactions over several shards that are remembered, to count each once. */
export const partIdsKept = 10_000;
/** Blocks above the watermark of which the time is remembered. */
export const blockTimesKept = 10_000;
/** Rows of a page of a table; and pages that one of a diff examines, unless it has rows before. */
export const rowsMax = 100;
export const rowsDefault = 50;
export const diffPagesMax = 10;
export const diffRowsMax = 100;
/** How often a page is read anew when rows came in between its two readings. */
export const diffTriesMax = 4;
export const versionsMax = 50;
export const itemBlocksMax = 2_000;
/** Pages of a log, of 1 MB, that the search for one transaction reads. */
export const storyPagesMax = 32;
/** Keys of a transaction that are listed, and looked up in their tables. */
export const storyKeysMax = 50;
/** Keys that are listed as contended, and losers of each. */
export const contendedMax = 50;
export const losersKept = 5;
/** How far back contention may be asked for. */
export const contentionWindowMsMax = 3_600_000;
/** Open transactions and findings that are listed. */
export const openShownMax = 50;
export const findingsShownMax = 200;
/** Bytes of a request that changes something, and characters of a query. */
export const orderBytesMax = 4_096;
export const queryCharactersMax = 8_192;
/** BASE transactions that are listed, and steps of one: the newest. */
export const basesShownMax = 100;
export const baseStepsShownMax = 200;
/** Pages that show consumers of changes share a look at these for so long. */
export const feedsSharedMs = 2_000;
export const feedsSharedOnAwsMs = 30_000;
/** How long a read for the page may take. */
export const readDeadlineMs = 20_000;
/** The same where an open BASE transaction may hold what is read: then it is read by rows. */
export const heldDeadlineMs = 3_000;

/** Clients and keys of the console's own traffic. */
export const trafficClientsMax = 8;
export const trafficKeysMin = 2;
export const trafficKeysMax = 64;
/** Operations of which the whole course is remembered, and keys of which conflicts are. */
export const coursesKept = 500;
export const trafficConflictKeysKept = 200;
/** Of one transfer: its amount, and the runs after which it is given up. */
export const transferCentsMax = 400;
export const transferAttemptsMax = 20;
/** Characters of a client's error output that are kept to explain its end. */
export const clientOutputKept = 2_000;
/** Courses, and conflicts, that a client tells at once; and steps of one course. */
export const trafficToldMax = 100;
export const courseStepsMax = 120;
/** Acknowledged transfers that wait to be looked up in the ledger, and of each look. */
export const acknowledgedKept = 2_000;
export const acknowledgedPerLook = 40;
/** How long a client may take to finish what it does, and to come up. */
export const clientStopMsMax = 10_000;
export const deedsKept = 30;
export const throttlePercentMax = 90;
