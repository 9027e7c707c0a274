/** Tries every order, up to a bound: the last word on small histories. */
import type { RunState } from "./run-state.ts";

/** `none`: there is no order. `unknown`: none was found in the time allowed. */
export type Search = "found" | "none" | "unknown";

/** Points tried, over all orders. */
const stepsMax = 100_000;
/** Points of a history whose orders are all tried, if need be; also the depth of the recursion. */
const pointsMax = 1000;

/** @param state of which nothing has run. */
export function tryAll(state: RunState): Search {
  if (state.left > pointsMax) return "unknown";
  const search = new Exhaustive(state);
  if (search.try(state.ready())) return "found";
  return search.steps > stepsMax ? "unknown" : "none";
}

class Exhaustive {
  steps = 0;
  readonly #state: RunState;

  constructor(state: RunState) {
    this.#state = state;
  }

  /** @param ready the points whose predecessors have run. */
  try(ready: readonly number[]): boolean {
    const state = this.#state;
    this.steps += 1;
    if (this.steps > stepsMax) return false;
    const before = state.log.length;
    let open = [...ready];
    for (;;) {
      const harmless = open.find((point) => state.store.isHarmless(point) && state.mayRun(point));
      if (harmless === undefined) break;
      const freed = state.run(harmless);
      open = open.filter((point) => point !== harmless).concat(freed);
    }
    if (state.left === 0) return true;
    const next = open
      .filter((point) => state.mayRun(point) && this.#isUseful(point))
      .sort((a, b) => state.deadline(a) - state.deadline(b) || a - b);
    for (const point of next) {
      const freed = state.run(point);
      if (this.try(open.filter((other) => other !== point).concat(freed))) return true;
      state.undo();
    }
    while (state.log.length > before) state.undo();
    return false;
  }

  /** An optional one that nobody can have read need not be tried out. */
  #isUseful(point: number): boolean {
    const { store, problem } = this.#state;
    if (!this.#state.isOptional(point)) return true;
    return problem.reads.some((read) => store.explains(point, read));
  }
}
