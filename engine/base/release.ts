/**
 * Releasing what has ended, together with all that depends on each other: one commit, from which on
 * their locks are void. Anybody may make it; of two one finds it made. Paper: Salt §4.3.
 */
import * as limits from "../../core/limits.ts";
import type { Item } from "../../core/types.ts";
import type { ShownHead } from "./record.ts";
import { stateItem, type BaseState, type ReadState } from "./base-state.ts";

/** What of those that it depends on, at whatever distance, goes on; or what is released with it. */
export type Closure =
  | {
      readonly kind: "waits";
      readonly for: string;
      /** Of those that it depends on itself all that are not released: once is for good. */
      readonly dependsOn: readonly string[];
    }
  | { readonly kind: "ended"; readonly all: readonly BaseState[] };

/** @param first has ended, and may stand nowhere yet. */
export async function closureOf(first: BaseState, readState: ReadState): Promise<Closure> {
  const found = new Map([[first.base, first]]);
  let next = new Set(first.dependsOn);
  let dependsOn: readonly string[] | undefined;
  while (next.size > 0) {
    const unknown = [...next].filter((base) => !found.has(base));
    const states = await Promise.all(unknown.map(readState));
    const unreleased = states.filter(({ phase }) => phase !== "released");
    dependsOn ??= unreleased.map(({ base }) => base);
    next = new Set();
    for (const state of unreleased) {
      const { base } = state;
      // mutant: released-with-what-is-open
      if (state.phase === "open") return { kind: "waits", for: base, dependsOn };
      found.set(base, state);
      // mutant: closure-of-direct-ones
      for (const each of state.dependsOn) next.add(each);
      if (found.size > limits.baseReleasedTogetherMax) {
        return { kind: "waits", for: base, dependsOn };
      }
    }
  }
  return { kind: "ended", all: [...found.values()] };
}

/**
 * Whether one of those that it depends on, at whatever distance, was open when somebody looked at
 * all. Of many that wait for one each would else read the others at each look, and find it open.
 */
export function waitsForOpen(
  first: string,
  {
    heads,
    parked,
  }: { readonly heads: ReadonlyMap<string, Looked>; readonly parked: ReadonlySet<string> },
): boolean {
  const met = new Set([first]);
  for (const base of met) {
    const head = heads.get(base);
    if (parked.has(base) || head?.phase === "running") return true;
    // Of what is not known here the store decides.
    for (const each of head?.dependsOn ?? []) met.add(each);
  }
  return false;
}

type Looked = Pick<ShownHead, "phase" | "dependsOn">;

export function releasedItem({ base }: BaseState): Item {
  return stateItem({ base, phase: "released", dependsOn: [] });
}
