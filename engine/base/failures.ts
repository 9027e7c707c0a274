/**
 * How often, and for how long, the handler of a BASE transaction is run that fails. What it calls
 * may be out for long: so the pauses grow, and it is parked when both so much time has gone by and
 * so many runs have failed. Both are recorded with it, so that whoever takes it over goes by them.
 *
 *     after failure n it rests for     (0.5 to 1) · min(cap, 1 s · 2^(n-1))
 *     where cap is                     min(5 min, parkAfterMs / 12)
 *     it is parked by failure n        where n ≥ 10, and the first one was parkAfterMs ago
 */
import * as limits from "../../core/limits.ts";
import type { Random } from "../../core/ports.ts";
import { kept } from "./step-end.ts";
import type { BaseHead, ShownHead } from "./record.ts";

export type HandlerFailure = {
  readonly failure: string;
  /** Another run would fail in the same way. */
  readonly isFinal: boolean;
  /** Of its definition. */
  readonly parkAfterMs: number;
};

/** Of one whose handler has failed once more. */
export function failedHead(
  head: BaseHead,
  { failure, isFinal, parkAfterMs }: HandlerFailure,
  { nowMs, random }: { readonly nowMs: number; readonly random: Random },
): BaseHead {
  const failures = head.failures + 1;
  const failingSinceMs = head.failingSinceMs ?? nowMs;
  const isOften = failures >= limits.baseFailuresMin;
  const isLong = nowMs - failingSinceMs >= parkAfterMs;
  const failed = { ...head, failures, failingSinceMs, failure: kept(failure), lastMs: nowMs };
  if (isFinal || (isOften && isLong)) return { ...failed, phase: "parked", restMs: undefined };
  return { ...failed, restMs: restMs(failures, parkAfterMs, random) };
}

/** After the failure of that number, from 1. At least half of its bound: the pauses do grow. */
function restMs(failure: number, parkAfterMs: number, random: Random): number {
  const shareMs = Math.floor(parkAfterMs / limits.baseRestsOfParking);
  const capMs = Math.min(limits.baseRestMsMax, shareMs);
  const boundMs = Math.min(capMs, limits.baseRestMsMin * 2 ** Math.min(failure - 1, 30));
  return Math.round((boundMs * (1 + random.next())) / 2);
}

/**
 * For so long after it was heard of nobody tries it again.
 * Undefined: it does not rest, and may be under way.
 */
export function restOf({ restMs }: Pick<ShownHead, "restMs">): number | undefined {
  // A longer one nobody writes: no strange record keeps runners away for good.
  return restMs === undefined ? undefined : Math.min(restMs, limits.baseRestMsMax);
}

/** Before that no runner tries it again; undefined: it does not rest. */
export function retryAtMsOf(
  head: Pick<ShownHead, "restMs" | "lastMs" | "phase">,
): number | undefined {
  const rest = restOf(head);
  const isOpen = head.phase === "running" || head.phase === "requested";
  return rest === undefined || !isOpen ? undefined : head.lastMs + rest;
}
