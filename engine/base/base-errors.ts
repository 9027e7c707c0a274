/** What callers are told of a BASE transaction that is not, or is not yet, what they ask for. */
import {
  BaseRefusedError,
  InvalidRequestError,
  UnavailableError,
  type BaseRefusal,
} from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { utf8Length } from "../../core/utf8.ts";
import { isWaiting, type BaseHead } from "./record.ts";

/** @throws InvalidRequestError */
export function assertId(id: string): void {
  const bytes = utf8Length(id);
  if (bytes >= 1 && bytes <= limits.baseIdBytesMax) return;
  throw new InvalidRequestError(
    "id",
    `the id of a BASE transaction has 1 to ${limits.baseIdBytesMax} bytes in UTF-8; got ${bytes}`,
  );
}

export function unknownBase(base: string): InvalidRequestError {
  return new InvalidRequestError(
    "id",
    `there is no BASE transaction ${base}: it has not begun, or its record has expired`,
  );
}

export function otherVersion(base: string, requested: number, own: number): InvalidRequestError {
  return new InvalidRequestError(
    "version",
    `BASE transaction ${base} is requested for version ${requested} of its handler, and this is ` +
      `version ${own}: it waits for a runner that has the former, or may be cancelled`,
  );
}

/** Of one that never began, and never will. */
export function refusedBase(base: string, { phase, refusal }: BaseHead): BaseRefusedError {
  if (phase === "cancelled" || refusal === undefined) {
    return new BaseRefusedError(
      `BASE transaction ${base} was cancelled before it began; ask for another one under a new id`,
      undefined,
    );
  }
  const by = refusal.step === undefined ? "" : ` by its first step, "${refusal.step}"`;
  return new BaseRefusedError(
    `BASE transaction ${base} was refused${by}: ${refusal.name}: ${refusal.message}`,
    refusal,
  );
}

/** Its first step would not have it, and nobody knows whether that is recorded. */
export function refusalUnknown(
  base: string,
  { refusal, cause }: { readonly refusal: BaseRefusal; readonly cause: unknown },
): UnavailableError {
  return new UnavailableError(
    `BASE transaction ${base} has not begun: ${refusal.name}: ${refusal.message}; whether that ` +
      "is recorded is not known, so that a runner may yet begin it: look at its status, or cancel",
    { cause },
  );
}

export function notEnded(base: string, head: BaseHead, deadlineMs: number): UnavailableError {
  const { phase, startedMs, steps, failures, failure } = head;
  const since = new Date(startedMs).toISOString();
  const made = steps === 1 ? "1 step" : `${steps} steps`;
  const failed =
    failure === undefined ? "" : `, and its handler has failed (${failures}), last by ${failure}`;
  const state = isWaiting(head)
    ? `${phase === "parked" ? "is parked" : "waits for a runner"} after ${deadlineMs} ms; it was ` +
      `requested at ${since} and has not begun`
    : `${phase === "parked" ? "is parked" : "goes on"} after ${deadlineMs} ms; it has made ` +
      `${made} since ${since}`;
  return new UnavailableError(`BASE transaction ${base} ${state}${failed}`);
}
