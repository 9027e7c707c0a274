/** Events go to whoever listens; what a listener throws is no failure of what it listens to. */
import type { EngineEvent } from "./types.ts";

export type Listener = (event: EngineEvent) => void;

export function quiet(listener: Listener): Listener {
  return (event) => {
    try {
      listener(event);
    } catch {
      // The listener's own affair.
    }
  };
}
