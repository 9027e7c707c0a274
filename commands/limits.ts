/** Bounds of commands that are answered by a transaction; beside expressions/limits.ts. */

/** DynamoDB's, of one BatchGetItem and one BatchWriteItem. */
export const batchGetKeysMax = 100;
export const batchWriteItemsMax = 25;
