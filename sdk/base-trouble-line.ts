/** What a runner of BASE transactions as a function tells CloudWatch; loaded with its first run. */
import * as limits from "../core/limits.ts";
import type { BaseTrouble } from "./base.ts";
import { emfLine } from "./emf-line.ts";

/**
 * Metrics by trouble, in the namespace `Tidemark`, of the dimension `FunctionName`: each counts
 * BASE transactions, once an invocation. The module's alarms stand on them.
 */
export const baseRunnerMetrics = {
  parked: "BaseParked",
  "no-handler": "BaseWithoutHandler",
  "handler-failed": "BaseHandlerFailed",
} as const satisfies Record<BaseTrouble["kind"], string>;

type Of = { readonly functionName: string | undefined; readonly nowMs: number };

/** A metric, with what it is of beside it, as a line without an end. */
export function troubleLine({ kind, name, id, version, cause }: BaseTrouble, of: Of): string {
  const whole = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const text = whole.slice(0, limits.baseErrorLengthMax);
  return lineOf(kind, 1, of, {
    ...{ base: name, id, version },
    ...(cause === undefined ? {} : { cause: text }),
  });
}

/** Of so many more, each of which has no line of its own. */
export function moreTroubleLine(kind: BaseTrouble["kind"], count: number, of: Of): string {
  return lineOf(kind, count, of, { more: count });
}

function lineOf(
  kind: BaseTrouble["kind"],
  value: number,
  { functionName, nowMs }: Of,
  beside: Readonly<Record<string, string | number>>,
): string {
  const dimensions = functionName === undefined ? {} : { FunctionName: functionName };
  const metric = { name: baseRunnerMetrics[kind], unit: "Count", value } as const;
  const about = { namespace: "Tidemark", dimensions, nowMs };
  return emfLine(about, [metric], { trouble: kind, ...beside });
}
