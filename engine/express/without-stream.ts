/**
 * What a request is told that no block takes, in a deployment of tables alone: nothing else is
 * there that could take it.
 */
import { InvalidRequestError, tooLarge, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CommitRequest, WriteHashes } from "../../core/types.ts";
import { fitsBlock } from "./block-plan.ts";

/**
 * Why no block takes the request now; it may be tried again.
 * @param of.writes of its payload, in order; undefined: it aborts an id that somebody asks for.
 * @param of.denied what the log's table has answered, if it has denied a block.
 * @throws TransactionTooLargeError, InvalidRequestError for one that no block ever takes.
 */
export function withoutStream(
  { payload }: Pick<CommitRequest, "payload">,
  of: { readonly writes: (() => readonly WriteHashes[]) | undefined; readonly denied: unknown },
): UnavailableError {
  const { writes, denied } = of;
  const fits = payload.kind === "none" || fitsBlock({ payload, writes: writes?.() ?? [] });
  if (!fits) {
    const actual = payload.kind === "inline" ? payload.bytes.length : payload.byteLength;
    throw tooLarge(
      { name: "blockBytesMax", max: limits.blockBytesMax, actual },
      "this deployment has no stream to take it: split the work into smaller transactions",
    );
  }
  if (denied !== undefined) {
    throw new InvalidRequestError(
      "commit",
      "this deployment has no stream, and this process may not append to its log: add the policy " +
        "express beside read-write",
      { cause: denied },
    );
  }
  return new UnavailableError(
    "this deployment has no stream, and this process can append no block now: the log's table " +
      "throttles or does not answer, or says no time",
  );
}
