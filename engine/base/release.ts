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
  const open = [...first.dependsOn];
  for (let base = open.pop(); base !== undefined; base = open.pop()) {
    if (found.has(base)) continue;
    const state = await readState(base);
    if (state.phase === "released") continue;
    if (state.phase === "open") return { kind: "waits", for: base };
    found.set(base, state);
    open.push(...state.dependsOn);
    if (found.size > limits.baseDependenciesMax) return { kind: "waits", for: base };
  }
  return { kind: "ended", all: [...found.values()] };
}

export function releasedItem({ base }: BaseState): Item {
  return stateItem({ base, phase: "released", dependsOn: [] });
}
