/** What errors mean to a step: worth another run, or how it has ended. */
import { InvariantViolation } from "../../core/assert.ts";
import { CommitUnknownError, StoreError, TransactionError } from "../../core/errors.ts";
import { ReservedError } from "./held.ts";

/** Nothing is wrong with what was asked for. */
export function isWorthAnother(error: unknown): boolean {
  if (error instanceof CommitUnknownError || error instanceof StoreError) return true;
  return error instanceof TransactionError && error.retryable;
}

/** Of the application's, or final: to run the step again would end the same way. */
export function isOfBody(error: unknown): boolean {
  if (error instanceof InvariantViolation || error instanceof ReservedError) return false;
  return error instanceof Error && !isWorthAnother(error) && error.name !== "AbortError";
}
