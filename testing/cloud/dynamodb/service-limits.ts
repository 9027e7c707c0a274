/**
 * Bounds of DynamoDB itself, from its documentation. Not Tidemark's: those are in core/limits.ts.
 */

export const itemBytesMax = 400 * 1024;
export const itemDepthMax = 32;
export const partitionKeyBytesMax = 2_048;
export const sortKeyBytesMax = 1_024;
/** Of a page of Query or Scan, counted before it is filtered. */
export const pageBytesMax = 1024 * 1024;
export const batchGetKeysMax = 100;
export const batchGetBytesMax = 16 * 1024 * 1024;
export const batchWriteItemsMax = 25;
export const tokenAgeMsMax = 10 * 60_000;
export const segmentsMax = 1_000_000;
export const listedTablesMax = 100;
export const localIndexesMax = 5;
export const globalIndexesMax = 20;
