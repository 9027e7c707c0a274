/** Observability where none is wanted: simulators, benchmarks, tests, a client that keeps house. */
import type { Observability } from "./observability.ts";

function ignore(): void {
  // There is no listener.
}

export const silentObservability: Observability = {
  log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  metrics: { count: ignore, milliseconds: ignore, bytes: ignore },
};
