/** Transaction ids as callers hand them in. What they are made of: transaction-id.ts. */
import { InvalidRequestError } from "../core/errors.ts";
import type { TransactionId } from "../core/types.ts";

/**
 * 32 lower-case hexadecimal digits, of which the first 14 are a timestamp of at most 2^53 - 1. As
 * one expression, so that docs/openapi.json can say it too.
 */
export const transactionIdPattern = /^[01][0-9a-f]{31}$/;

export function isTransactionId(text: unknown): text is TransactionId {
  return typeof text === "string" && transactionIdPattern.test(text);
}

/** @throws InvalidRequestError unless the text is an id as `makeTransactionId` gives it. */
export function parseTransactionId(text: string): TransactionId {
  if (isTransactionId(text)) return text;
  throw new InvalidRequestError(
    "transactionId",
    "a transaction id is the 32 lower-case hexadecimal digits that a receipt or an error gave",
  );
}
