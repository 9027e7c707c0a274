/** What functions of a simulated deployment say of themselves: counted, and else kept quiet. */
import type { Observability } from "../functions/shared/observability.ts";

/** @param onTaken an oracle lost its position, so many times in a row. */
export function countingObservability(
  metrics: Map<string, number>,
  onTaken: (tries: number) => void,
): Observability {
  const add = (name: string, value: number): void => {
    metrics.set(name, (metrics.get(name) ?? 0) + value);
  };
  const ignore = (): void => undefined;
  const taken: Observability["log"]["warn"] = (_message, fields) => {
    const { reason, tries } = fields ?? {};
    if (reason === "contention" && typeof tries === "number") onTaken(tries);
  };
  return {
    log: { debug: taken, info: ignore, warn: taken, error: ignore },
    metrics: { count: add, milliseconds: ignore, bytes: ignore },
  };
}
