/**
 * Work on a request that may take long stops for a moment now and then: its deadline can pass, and
 * the requests beside it get on.
 */
import * as limits from "../../core/limits.ts";
import type { Clock } from "../../core/ports.ts";

/** To be called between steps. @throws the signal's reason once it has aborted. */
export type Pace = () => Promise<void>;

export function createPace(clock: Clock, signal: AbortSignal): Pace {
  let restedMs = clock.monotonicMs();
  return async () => {
    if (clock.monotonicMs() - restedMs < limits.restStretchMsMax) return;
    await clock.sleep(0, signal);
    restedMs = clock.monotonicMs();
  };
}
