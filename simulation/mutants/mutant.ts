/** What a mutant is. */
import type { Patch } from "../instrumented-build.ts";
import type { SeedPlan } from "../seed-plan.ts";

export type Mutant = {
  readonly name: string;
  /** What is broken, and what must come of it. */
  readonly breaks: string;
  readonly patches: readonly Patch[];
  /** Where the change can show; seeds keep everything else. */
  readonly changes?: Partial<SeedPlan>;
};

/** One change of one place. */
export function patch(file: string, find: string, replace: string): readonly Patch[] {
  return [{ file, find, replace }];
}
