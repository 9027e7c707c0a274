/** What errors mean to a step: worth another run, or how it has ended. */
import { InvariantViolation } from "../../core/assert.ts";
import {
  CommitUnknownError,
  InvalidRequestError,
  StoreError,
  TransactionError,
} from "../../core/errors.ts";
import { ReservedError } from "./held.ts";

/** Nothing is wrong with what was asked for. */
export function isWorthAnother(error: unknown): boolean {
  if (error instanceof CommitUnknownError || error instanceof StoreError) return true;
  return error instanceof TransactionError && error.retryable;
}

/** A right is missing, a table, or a signature that is believed: a matter of the deployment. */
export function isRefusedByStore(error: unknown): boolean {
  return error instanceof InvalidRequestError && error.cause instanceof StoreError;
}

/** Of the application's, or final: to run the step again would end the same way. */
export function isOfBody(error: unknown): boolean {
  if (error instanceof InvariantViolation || error instanceof ReservedError) return false;
  return error instanceof Error && !isWorthAnother(error) && error.name !== "AbortError";
}
