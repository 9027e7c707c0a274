/**
 * The one place where the simulation meets the real event loop: a turn of it, by which all promise
 * reactions that could run have run. No time is measured and none passes in the simulation.
 */
import { setImmediate } from "node:timers";

/**
 * Taken at once, from Node itself: a test runner's fake timers would never let a turn end, and some
 * environments have no global one.
 */
const endOfTurn = setImmediate;

export function microtasksDone(): Promise<void> {
  return new Promise((resolve) => {
    endOfTurn(resolve);
  });
}
