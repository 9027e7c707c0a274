/** What a mutant is, and the few ways in which it changes a marked place. */
import type { SeedPlan } from "../seed-plan.ts";

/**
 * What becomes of what stands below a mark: a statement, a property or an expression. Its
 * condition is that of an `if` or of `?:`; its value is what it returns, throws, assigns or is
 * initialized with, what an `if` does, or else the expression itself.
 */
export type Edit =
  | { readonly kind: "omitted" }
  | { readonly kind: "condition"; readonly condition: string }
  | { readonly kind: "value"; readonly value: (own: string) => string }
  | { readonly kind: "preceded"; readonly statement: string };

/** It is left out. */
export const omitted: Edit = { kind: "omitted" };
/** Its condition holds. */
export const always: Edit = { kind: "condition", condition: "true" };
/** Its condition does not hold. */
export const never: Edit = { kind: "condition", condition: "false" };
/** It has another condition. */
export const when = (condition: string): Edit => ({ kind: "condition", condition });
/** It has another value, which may contain its own. */
export const instead = (value: string | ((own: string) => string)): Edit => ({
  kind: "value",
  value: typeof value === "string" ? () => value : value,
});
/** A statement comes before it. */
export const preceded = (statement: string): Edit => ({ kind: "preceded", statement });

export type Mutant = {
  readonly name: string;
  /** What is broken, and what must come of it. */
  readonly breaks: string;
  /**
   * What becomes of every place marked `// mutant: <name>`, or, where a break needs changes of
   * several kinds, one for each name of a mark.
   */
  readonly edit: Edit | Readonly<Record<string, Edit>>;
  /** It fails requests that are fine: a refusal is what it shows itself by. */
  readonly refuses?: true;
  /** Where the change can show; seeds keep everything else. */
  readonly changes?: Partial<SeedPlan>;
};

/** The names of the marks that a mutant changes, with what becomes of them. */
export function editsOf({ name, edit }: Mutant): ReadonlyMap<string, Edit> {
  return new Map(isOne(edit) ? [[name, edit]] : Object.entries(edit));
}

function isOne(edit: Mutant["edit"]): edit is Edit {
  return typeof edit.kind === "string";
}
