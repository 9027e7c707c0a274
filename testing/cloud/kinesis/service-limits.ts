/**
 * Bounds of Kinesis itself, from its documentation. Not Tidemark's: those are in core/limits.ts.
 */

export const recordsPerPutMax = 500;
/** Data and partition key of one record, and of one PutRecords. */
export const recordBytesMax = 1024 * 1024;
export const putBytesMax = 5 * 1024 * 1024;
export const partitionKeyLengthMax = 256;
export const recordsPerGetMax = 10_000;
export const getBytesMax = 10 * 1024 * 1024;
export const iteratorAgeMsMax = 5 * 60_000;
export const iteratorLengthMax = 512;
export const retentionHoursMin = 24;
export const retentionHoursMax = 8_760;
/** Shards of one answer of DescribeStream. */
export const describedShardsMax = 10_000;
/** Of a stream whose capacity is the service's own affair. */
export const onDemandShards = 4;
/** Hash keys lie in `[0, hashKeys)`. */
export const hashKeys = 2n ** 128n;
