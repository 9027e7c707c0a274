/**
 * The same for all contestants that retry: under contention the deadline decides, not a count. The
 * defaults of the SDK (10 runs) would turn a hot row's queue into failures, and throughput into
 * that of whoever gives up first.
 */
export const retryLimits = { attemptsMax: 1_000, deadlineMs: 30_000 } as const;
