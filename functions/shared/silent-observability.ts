/** Observability for whoever does not observe: simulators, benchmarks, tests. */
import type { Observability } from "./observability.ts";

function ignore(): void {
  // Nobody listens.
}

export const silentObservability: Observability = {
  log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  metrics: { count: ignore, milliseconds: ignore, bytes: ignore },
};
