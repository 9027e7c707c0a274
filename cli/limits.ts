/** Bounds of the command line; those of what it looks at are in inspection/limits.ts. */

/** Pages of the log, 1 MB each, that the search for one id reads unless told otherwise. */
export const searchPagesDefault = 64;
/** Lines of a list that the reader has not asked to be longer. */
export const rowsDefault = 20;
/** Seconds back that a look at what goes on may reach: a day. */
export const windowSecondsMax = 86_400;
/** Items that an audit reads back. */
export const auditItemsDefault = 1_000;
export const auditItemsMax = 100_000;
/** Parked BASE transactions that one command lets go on. */
export const resumedMax = 1_000;
/** Characters of a failure in a line of a list. */
export const failureTextMax = 80;
