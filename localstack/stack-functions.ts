/**
 * The functions of a deployment and what drives each, as Terraform sets it up on AWS; schedules are
 * shorter here, since nobody pays for invocations.
 */
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

export const stackFunctions: readonly FunctionDefinition[] = [
  {
    name: "oracle",
    handlerFile: "functions/oracle/handler.ts",
    // Never fails on content, so a batch needs no partial answer; every millisecond of window is
    // latency.
    sources: [{ kind: "stream", batchSize: 500, windowMs: 0, partialBatchResponse: false }],
    invocationMsMax: 30_000,
  },
  {
    name: "replay",
    handlerFile: "functions/replay/handler.ts",
    sources: [
      // Within its window clients say what they have installed, and replay need not look.
      { kind: "stream", batchSize: 1_000, windowMs: 1_000, partialBatchResponse: true },
      { kind: "schedule", everyMs: 5_000 },
    ],
    invocationMsMax: 60_000,
  },
  {
    name: "reaper",
    handlerFile: "functions/reaper/handler.ts",
    sources: [{ kind: "schedule", everyMs: 60_000 }],
    invocationMsMax: 60_000,
  },
  {
    name: "api",
    handlerFile: "functions/api/handler.ts",
    sources: [{ kind: "http" }],
    invocationMsMax: 30_000,
  },
];
