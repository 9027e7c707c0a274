/** Bounds of stacks on one machine; those of the product itself are in core/limits.ts. */

/** API Gateway's own, of a body. */
export const gatewayRequestBytesMax = 10 * 1024 * 1024;
/** Requests under way when the gateway closes are waited for so long. */
export const gatewayDrainMsMax = 5_000;
/** Bytes of a request that registers tables: far more than all names that an account may have. */
export const tablesRequestBytesMax = 1024 * 1024;
/** A process of the stack that has not reported by then is ended, and counts as having died. */
export const processReadyMsMax = 30_000;
/**
 * Lines of a process's error output that are kept to explain its end: a stack of twenty frames, the
 * ten of an error and the ten of who awaits it, with what Node writes above and below.
 */
export const processErrorLinesMax = 40;
/** A process that has not stopped by then is killed: a function's, after its last invocation. */
export const functionStopMsMax = 10_000;
export const storesStopMsMax = 10_000;
/** The same for the programs of others, which take longer to start (a Java VM, Python). */
export const dynamodbLocalReadyMsMax = 60_000;
export const dynamodbLocalStopMsMax = 5_000;
export const cloudReadyMsMax = 60_000;
export const cloudStopMsMax = 10_000;
/** The last of a local cloud's output, kept for the message that it did not start. */
export const cloudLogBytesMax = 4 * 1024 * 1024;
/** Failures in a row that are everyday events; more are told as a warning. */
export const quietFailuresMax = 4;
/** Pages of 1,000 shards; far above what an account may have. */
export const shardPagesMax = 100;
/**
 * A full data folder is used again once so much is free: opening the stores writes the logs of both
 * anew, of 4 MB each, and joins tables of 2 MB.
 */
export const storesRoomBytes = 16 * 1024 * 1024;
