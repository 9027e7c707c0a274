/**
 * The breaks of the protocol that judge the judges: each must still fit the sources that it breaks.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mutants } from "../../simulation/mutants/catalogue.ts";
import { planOf } from "../../simulation/seed-plan.ts";

const root = join(import.meta.dirname, "..", "..");

describe("every mutant", () => {
  test("has a name of its own, and there are 25 at least", () => {
    const names = mutants.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(25);
  });

  test.each(mutants)("$name changes a place that is there once", ({ patches }) => {
    expect(patches.length).toBeGreaterThan(0);
    for (const { file, find, replace } of patches) {
      const pieces = readFileSync(join(root, file), "utf8").split(find);
      expect(pieces, `${file}: ${find}`).toHaveLength(2);
      expect(replace).not.toBe(find);
    }
  });

  test.each(mutants)("$name changes parts of the plan that there are", ({ changes = {} }) => {
    const known = Object.keys(planOf(1));
    for (const name of Object.keys(changes)) expect(known).toContain(name);
  });
});
