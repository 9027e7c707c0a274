/**
 * Releasing what has ended, together with all that depends on each other: one commit, from which on
 * their locks are void. Anybody may make it; of two one finds it made. Paper: Salt §4.3.
 */
import * as limits from "../../core/limits.ts";
import type { Item } from "../../core/types.ts";
import { stateItem, type BaseState, type ReadState } from "./base-state.ts";

/** What of those that it depends on, at whatever distance, goes on; or what is released with it. */
export type Closure =
  | { readonly kind: "waits"; readonly for: string }
  | { readonly kind: "ended"; readonly all: readonly BaseState[] };

/** @param first has ended, and may stand nowhere yet. */
export async function closureOf(first: BaseState, readState: ReadState): Promise<Closure> {
  const found = new Map([[first.base, first]]);
  let next = new Set(first.dependsOn);
  while (next.size > 0) {
    const unknown = [...next].filter((base) => !found.has(base));
    const states = await Promise.all(unknown.map(readState));
    next = new Set();
    for (const state of states) {
      const { base } = state;
      if (state.phase === "released") continue;
      // mutant: released-with-what-is-open
      if (state.phase === "open") return { kind: "waits", for: base };
      found.set(base, state);
      // mutant: closure-of-direct-ones
      for (const each of state.dependsOn) next.add(each);
      if (found.size > limits.baseReleasedTogetherMax) return { kind: "waits", for: base };
    }
  }
  return { kind: "ended", all: [...found.values()] };
}

export function releasedItem({ base }: BaseState): Item {
  return stateItem({ base, phase: "released", dependsOn: [] });
}
