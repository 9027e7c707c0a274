import type { Decision, Timestamp, Verdict } from "./types.ts";

/** Whether the verdict decides its id (I3): the others only say how things stand. */
export function isDecision(verdict: Verdict): verdict is Decision {
  return verdict.kind === "committed" || verdict.kind === "aborted";
}

/**
 * Where a verdict stands in its log: timestamps rise strictly by place (I2). A part that commits
 * counts at another timestamp, at or below its place.
 */
export function placeOf(verdict: {
  readonly timestamp: Timestamp;
  readonly placed?: Timestamp;
}): Timestamp {
  return verdict.placed ?? verdict.timestamp;
}
