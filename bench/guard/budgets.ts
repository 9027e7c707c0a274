/**
 * What the guard judges: counts, the budgets committed for them, and the file that these stand in.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";

const groupSchema = z.strictObject({
  unit: z.string().min(1),
  /** Why a rise matters. */
  why: z.string().min(1),
  /** A new budget is the figure and this much more, rounded up to a whole `step`. */
  headroomPercent: z.number().min(0).max(20),
  step: z.number().positive(),
  /** By the count's name. */
  budgets: z.record(z.string(), z.number().nonnegative()),
});

const budgetsSchema = z.record(z.string(), groupSchema);

/** By group. */
export type Budgets = z.output<typeof budgetsSchema>;
export type BudgetGroup = Budgets[string];

export type Count = {
  /** Its group in the budgets. */
  readonly group: string;
  readonly name: string;
  readonly figure: number;
  /**
   * What the project wants to reach, as far as it has said so. Missing it is told, and no failure.
   */
  readonly targetMax?: number | undefined;
};

const file = new URL("budgets.json", import.meta.url);

/** @throws ZodError for a file that is none. */
export function readBudgets(): Budgets {
  return budgetsSchema.parse(JSON.parse(readFileSync(file, "utf8")));
}

/** As the formatter would write it. */
export function writeBudgets(budgets: Budgets): void {
  writeFileSync(file, `${JSON.stringify(budgets, undefined, 2)}\n`);
}

/** What `--tighten` would set: little more than the figure. */
export function budgetFor(
  figure: number,
  { headroomPercent, step }: Pick<BudgetGroup, "headroomPercent" | "step">,
): number {
  // Sums of fractions are not exact: what exceeds a step by less than a millionth of it does not.
  const steps = Math.ceil((figure * (1 + headroomPercent / 100)) / step - 1e-6);
  return Number((steps * step).toFixed(6));
}
