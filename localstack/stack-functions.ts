/**
 * The functions of a deployment and what drives each, as on AWS (functions/shared/settings.ts) but
 * for the changes that are named here.
 */
import {
  batchSettings,
  scheduleMs,
  timeLimitMs,
  type FunctionRole,
} from "../functions/shared/settings.ts";
import type { EventSource } from "./process-messages.ts";

export type FunctionDefinition = {
  /** Also the name of its process. */
  readonly name: string;
  /** The Lambda handler, relative to the repository. */
  readonly handlerFile: string;
  readonly sources: readonly EventSource[];
  /** The function's timeout. */
  readonly invocationMsMax: number;
};

const because = "nobody pays for invocations here, and somebody sits before the result";

export const stackFunctions: readonly FunctionDefinition[] = [
  definition("oracle", [{ kind: "stream", ...batchSettings("oracle") }]),
  definition("replay", [
    { kind: "stream", ...batchSettings("replay") },
    { kind: "schedule", everyMs: scheduleMs("replay", { everyMs: { value: 5_000, because } }) },
  ]),
  definition("reaper", [
    { kind: "schedule", everyMs: scheduleMs("reaper", { everyMs: { value: 60_000, because } }) },
  ]),
  definition("api", [{ kind: "http" }]),
];

function definition(role: FunctionRole, sources: readonly EventSource[]): FunctionDefinition {
  return {
    name: role,
    handlerFile: `functions/${role}/handler.ts`,
    sources,
    invocationMsMax: timeLimitMs(role),
  };
}
