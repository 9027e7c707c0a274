/** What a runner of BASE transactions as a function tells CloudWatch; loaded with its first run. */
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

/** A metric, with what it is of beside it, as a line without an end. */
export function troubleLine(
  { kind, name, id, version, cause }: BaseTrouble,
  { functionName, nowMs }: { readonly functionName: string | undefined; readonly nowMs: number },
): string {
  const dimensions = functionName === undefined ? {} : { FunctionName: functionName };
  const metric = { name: baseRunnerMetrics[kind], unit: "Count", value: 1 } as const;
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  return emfLine({ namespace: "Tidemark", dimensions, nowMs }, [metric], {
    ...{ trouble: kind, base: name, id, version },
    ...(cause === undefined ? {} : { cause: text }),
  });
}
