import type { Decision, Verdict } from "./types.ts";

/** Whether the verdict decides its id (I3): the others only say how things stand. */
export function isDecision(verdict: Verdict): verdict is Decision {
  return verdict.kind === "committed" || verdict.kind === "aborted";
}
