/** Bounds of the change feed (engine/changes). Part of core/limits.ts. */
/** Commits of one log that are held until the other logs have come as far; no more is read then. */
export const changesHeldMax = 1_000;
/** For so long others' commits wait for a quiet log before it is brought up. */
export const changesHeldUpMsMax = 250;
/** Between two looks at logs that showed nothing new. */
export const changesPollMsDefault = 250;
/** For so long a consumer holds its feed unless it says again that it does. */
export const feedHoldMs = 30_000;
/**
 * How far a holder's clock may be ahead of who comes: beyond that he is not believed, or one that
 * has died with a clock a year ahead would keep all others away for a year.
 */
export const feedClockMarginMs = 5 * 60_000;
/** A consumer keeps its position so often at most. */
export const feedKeepMs = 1_000;
/** Of an invocation, kept for the change that is under way and for its position. */
export const feedMarginMs = 5_000;
/** Between two looks at a feed that somebody else holds. */
export const feedWaitMs = 1_000;
/** Of a feed's name. */
export const feedNameLengthMax = 64;
/** Of the names of its tables, and of its last failure, that its item tells: that stays small. */
export const feedTablesLengthMax = 300;
export const feedFailureLengthMax = 300;
/** Of an operator who moves it beside a consumer, which puts it once a second. */
export const feedMoveTriesMax = 20;
/** The most that may be asked for. */
export const changesPollMsMax = 60_000;
/**
 * Of items that open BASE transactions have written, held until they are released, as they weigh in
 * memory. What is beyond is looked up in the logs again.
 */
export const changesHeldBytesMax = 64 * 1024 * 1024;
/** What a step takes that has written nothing that is asked for. */
export const changesHeldStepBytes = 256;
/** How far clocks may be off that say when a step was made, in records that say nothing better. */
export const stepClockMarginMs = 10 * 60_000;
