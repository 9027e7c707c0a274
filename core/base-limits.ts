/** Bounds of BASE transactions (engine/base). Part of core/limits.ts. */
/** Of a BASE transaction's id, and of its handler's name, in UTF-8. */
export const baseIdBytesMax = 256;
export const baseNameBytesMax = 64;
/** Steps of one BASE transaction, failed ones included. */
export const baseStepsMax = 1_000;
/** Of its input, and of what a step or the whole returns, as it is kept. */
export const baseValueBytesMax = 64 * 1024;
/** In UTF-8, of a step's name. */
export const baseStepNameBytesMax = 256;
/** Of the message of an error that is kept, in UTF-16 units. */
export const baseErrorLengthMax = 1_000;
/** Open BASE transactions that one may depend on with its first step. */
export const baseDependenciesMax = 100;
/** Others that may have written one item and be open at the same time, where a first step comes. */
export const baseHoldersMax = 50;
/** Both where a later step comes: what has begun is not barred as long as an item holds it. */
export const baseLaterDependenciesMax = 500;
export const baseLaterHoldersMax = 500;
/** Items of one partition that a read lock names; of more it takes the partition. */
export const baseReadLockItemsMax = 1_000;
/** BASE transactions that are released by one commit. */
export const baseReleasedTogetherMax = 1_000;
/** Who has waited for long for what is open looks at least so often: half of a reservation. */
export const baseLaterLookMs = 500;
/** Items that are kept free for one that waits. */
export const baseReservedItemsMax = 100;
/** An ACID transaction that has waited for so long has its items kept free of further ones. */
export const baseReserveAfterMs = 250;
/** For how long it stands where it is not renewed; that is done at half of it. */
export const baseReserveMs = 1_000;
/** Reservations that one process has seen last; what it forgets it waits for once more. */
export const baseReservationsSeenMax = 10_000;
/** A first step waits for so long for each that has reserved items. */
export const baseStepPatienceMs = 5_000;
/** And for so long for all of them; then it goes on. */
export const baseStepPatienceInAllMs = 20_000;
/** A runner takes over what has said nothing for so long. */
export const baseTakeOverMsDefault = 30_000;
/** So many errors of one look of a runner end it: the store is at fault, and no single record. */
export const baseLookErrorsMax = 5;
/** Of an invocation, kept for the step that is under way. */
export const baseRunnerMarginMs = 5_000;
/** Parked ones that are let go on at once, of all. */
export const baseResumesAtOnce = 8;
/** A runner whose looks have failed for so long, each of them, tells of an outage. */
export const baseOutageMsMin = 10_000;
/** Lines of a runner's invocation about one kind of trouble; one more counts the rest. */
export const baseTroubleLinesMax = 100;
/** Troubles of a kind that a runner remembers, so as to tell of each once. */
export const baseTroublesMax = 10_000;
/** Between two looks of a runner at what is open. */
export const baseRunnerPollMsDefault = 1_000;
/** A handler's run that has made no step for so long is over, and counts as failed. */
export const baseSilentMsDefault = 15 * 60_000;
export const baseSilentMsMax = 24 * 3_600_000;
/** So often at least a handler is run that fails, before its transaction is parked. */
export const baseFailuresMin = 10;
/** And for so long at least; what definitions may say of that. */
export const baseParkAfterMsDefault = 3_600_000;
export const baseParkAfterMsMin = 100;
export const baseParkAfterMsMax = 7 * 24 * 3_600_000;
/** How long one whose handler has failed rests: first, and as long as it goes on failing. */
export const baseRestMsMin = 1_000;
export const baseRestMsMax = 5 * 60_000;
/** A runner that ends once it has caught up does not stay for what rests for longer. */
export const baseStayMsMax = 30_000;
/** A rest is at most that part of the time until it is parked: there are always some. */
export const baseRestsOfParking = 12;
/** What has ended can be looked up for so long. */
export const baseRetentionSeconds = 7 * 24 * 3_600;
/**
 * What readers of the past go by stands for longer than any past: what the store drops leaves no
 * tombstone.
 */
export const baseSeenRetentionSeconds = 37 * 24 * 3_600;
/** Transactions that one process runs at once. */
export const baseRunsMax = 32;
/** Of a handler: its versions are counted. */
export const baseVersionMax = 1_000_000;
/** Between two looks at one whose handler runs in the process that waits for its result. */
export const baseResultLookMs = 5_000;
/** For how long a result may be waited for. */
export const baseResultMsMax = 7 * 24 * 3_600_000;
/** The most that may be asked for. */
export const baseTakeOverMsMax = 24 * 3_600_000;
export const baseRunnerPollMsMax = 3_600_000;
/** Attempts of one of its own transactions over its records. */
export const baseAttemptsMax = 1_000;
/** Items of one partition of the list that cannot be read; of more, nothing there is read. */
export const baseUnreadableMax = 100;
/**
 * Records that are looked at in one transaction; of more, in several: each may hold 64 KB of input
 * and as much of a result, which take up to 10 MB of memory where they are lists of little.
 */
export const baseHeadsAtOnceMax = 25;
/** Tries of a request whose own commit nobody has answered; each finds what the others did. */
export const baseRequestAttemptsMax = 10;
