/**
 * The one place where the simulation meets the real event loop: a turn of it, by which all promise
 * reactions that could run have run. No time is measured and none passes in the simulation. The
 * only real timer is for a test that never lets virtual time pass at all.
 */
import { clearTimeout, setImmediate, setTimeout } from "node:timers";

/**
 * Taken at once, from Node itself: a test runner's fake timers would never let a turn end, and some
 * environments have no global one.
 */
const endOfTurn = setImmediate;
const startTimer = setTimeout;
const stopTimer = clearTimeout;

export function microtasksDone(): Promise<void> {
  return new Promise((resolve) => {
    endOfTurn(resolve);
  });
}

/** Outside of a simulation only. Returns what cancels it. */
export function afterRealTime(delayMs: number, run: () => void): () => void {
  const timer = startTimer(run, delayMs);
  return () => {
    stopTimer(timer);
  };
}
