/** The border between the stores' errors and those that callers see. */
import { InvariantViolation } from "../core/assert.ts";
import {
  CorruptDataError,
  FrameError,
  InvalidRequestError,
  StoreError,
  TransactionError,
  UnavailableError,
} from "../core/errors.ts";

/** What leaves the engine is a TransactionError, a bug, or the caller's own error, untouched. */
export function publicError(error: unknown): unknown {
  if (error instanceof TransactionError || error instanceof InvariantViolation) return error;
  if (error instanceof FrameError) {
    return new CorruptDataError(`stored bytes do not decode: ${error.message}`, { cause: error });
  }
  if (!(error instanceof StoreError)) return error;
  return error.fault === "rejected"
    ? new InvalidRequestError("request", `the store refused the request: ${error.message}`, {
        cause: error,
      })
    : new UnavailableError(`the store did not answer: ${error.message}`, { cause: error });
}
