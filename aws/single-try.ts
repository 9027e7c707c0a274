/**
 * One try of a command, where its caller has something better to do than to repeat it: how often a
 * client tries is set for all of its calls, and the client may be an application's own. So a
 * middleware between the retry loop and the signer hides a failure in an error that no retry
 * strategy takes for one to try again.
 */
import { isNamed } from "./errors.ts";
import type { Handler, MiddlewareHost } from "./middleware.ts";

/** A failure, as the retry loop sees it: of no kind that it knows, and without a cause. */
class TriedOnce extends Error {
  override readonly name = "TriedOnce";
  readonly failure: () => unknown;

  constructor(failure: unknown) {
    super(failure instanceof Error ? failure.message : String(failure));
    this.failure = () => failure;
  }
}

/** What sends the command once. It fails as it would have without a retry loop. */
export function sentOnce<Options, Output>(
  command: MiddlewareHost,
  send: (options: Options) => Promise<Output>,
): (options: Options) => Promise<Output> {
  const middleware =
    (next: Handler): Handler =>
    async (args) => {
      try {
        return await next(args);
      } catch (error) {
        throw isOfSignature(error) ? error : new TriedOnce(error);
      }
    };
  command.middlewareStack.addRelativeTo(middleware as never, {
    name: "tidemarkOnce",
    relation: "before",
    toMiddleware: "httpSigningMiddleware",
  });
  return async (options) => {
    try {
      return await send(options);
    } catch (error) {
      throw error instanceof TriedOnce ? error.failure() : error;
    }
  };
}

/** It was not heard, and the SDK has learnt the service's time from it or signs anew. */
function isOfSignature(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { $metadata } = error as { $metadata?: { readonly clockSkewCorrected?: boolean } };
  return isNamed(error, "InvalidSignatureException") || $metadata?.clockSkewCorrected === true;
}
