/** The border between the stores' errors and those that callers see. */
import { InvariantViolation } from "../core/assert.ts";
import {
  InvalidRequestError,
  StoreError,
  TransactionError,
  UnavailableError,
} from "../core/errors.ts";

/** What leaves the engine is a TransactionError, a bug, or the caller's own error, untouched. */
export function publicError(error: unknown): unknown {
  if (error instanceof TransactionError || error instanceof InvariantViolation) return error;
  if (!(error instanceof StoreError)) return error;
  return error.fault === "rejected"
    ? new InvalidRequestError("request", `the store refused the request: ${error.message}`, {
        cause: error,
      })
    : new UnavailableError(`the store did not answer: ${error.message}`, { cause: error });
}
