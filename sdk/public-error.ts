/**
 * The last gate of errors: what leaves the SDK is a `TransactionError`, the body's own error, or a bug
 * (`InvariantViolation`), which passes as it is. The inner kinds that an adapter or a decoder throws are
 * translated, with the original as `cause`.
 */
import {
  CorruptDataError,
  FrameError,
  InvalidRequestError,
  StoreError,
  UnavailableError,
} from "../core/errors.ts";

export function publicError(error: unknown): unknown {
  if (error instanceof StoreError) {
    // A refusal is for good: the table is missing, access is denied, the call is not valid.
    return error.fault === "rejected"
      ? new InvalidRequestError("store", `the store refuses the call: ${error.message}`, {
          cause: error,
        })
      : new UnavailableError(`the store did not answer: ${error.message}`, { cause: error });
  }
  if (error instanceof FrameError) return new CorruptDataError(error.message, { cause: error });
  return error;
}
