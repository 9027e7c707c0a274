/**
 * What a request is told that no block takes now, in a deployment of tables alone: nothing else is
 * there that could take it. What is too large for a block is spilled there, and then every
 * transaction has room in one: test/engine/express/block-plan.test.ts reckons with the largest.
 */
import { InvalidRequestError, StoreError, UnavailableError } from "../../core/errors.ts";

/**
 * Why no block takes the request now; it may be tried again.
 * @param denied what the log's table has answered, if it has denied a block.
 * @param last what the request has failed with so far, this answer included.
 * @throws InvalidRequestError where no block of this process is ever taken.
 */
export function withoutStream(denied: unknown, last: unknown): UnavailableError {
  if (denied !== undefined) {
    throw new InvalidRequestError(
      "commit",
      "this deployment has no stream, and this process may not append to its log: add the policy " +
        "express beside read-write",
      { cause: denied },
    );
  }
  const cause = last instanceof UnavailableError ? last.cause : last;
  const why =
    cause instanceof StoreError
      ? cause.message
      : "the log's table throttles or does not answer, or says no time";
  return new UnavailableError(
    `this deployment has no stream, and this process can append no block now: ${why}`,
    cause === undefined ? {} : { cause },
  );
}
