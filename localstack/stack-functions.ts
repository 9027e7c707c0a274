/**
 * The functions of a deployment and what drives each, as on AWS (functions/shared/settings.ts) but
 * for the changes that are named here.
 */
import {
  batchSettings,
  rolesOf,
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

const definitions = [
  definition("oracle", [{ kind: "stream", ...batchSettings("oracle") }]),
  definition("replay", [
    { kind: "stream", ...batchSettings("replay") },
    { kind: "schedule", everyMs: scheduleMs("replay", { everyMs: { value: 5_000, because } }) },
  ]),
  definition("reaper", [
    { kind: "schedule", everyMs: scheduleMs("reaper", { everyMs: { value: 60_000, because } }) },
  ]),
  definition("housekeeping", [
    {
      kind: "schedule",
      everyMs: scheduleMs("housekeeping", { everyMs: { value: 5_000, because } }),
    },
  ]),
  definition("splitter", [
    { kind: "schedule", everyMs: scheduleMs("splitter", { everyMs: { value: 2_000, because } }) },
  ]),
  definition("api", [{ kind: "http" }]),
];

/** Of a deployment with a stream. */
export const stackFunctions = functionsOf("stream");
/** Of a deployment of tables alone. */
export const tablesOnlyFunctions = functionsOf("tables");
/** Of one that is to split busy shards by itself, beside the others. */
export const splittingFunctions = definitions.filter(({ name }) => name === "splitter");
/** The files of all their handlers, by name. */
export const handlerFiles: ReadonlyMap<string, string> = new Map(
  definitions.map(({ name, handlerFile }) => [name, handlerFile]),
);

function functionsOf(kind: "stream" | "tables"): readonly FunctionDefinition[] {
  const roles = new Set<string>(rolesOf(kind));
  return definitions.filter(({ name }) => roles.has(name));
}

function definition(role: FunctionRole, sources: readonly EventSource[]): FunctionDefinition {
  return {
    name: role,
    handlerFile: `functions/${role}/handler.ts`,
    sources,
    invocationMsMax: timeLimitMs(role),
  };
}
