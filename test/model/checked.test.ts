/** What the record of checked configurations tells apart. */
import { describe, expect, test } from "vitest";
import { fingerprintOf, isChecked } from "../../model/harness/checked.ts";

const config = 'CONSTANTS\n  Mutant = "none"\nSPECIFICATION Spec\n';
const run = { module: "TidemarkExpress", config };

describe("a run of the checker", () => {
  test("is another one with another module, constant or invariant", () => {
    const others = [
      { ...run, module: "TidemarkClosing" },
      { ...run, config: config.replace("none", "no-checks") },
      { ...run, config: `${config}INVARIANTS I1\n` },
    ];
    const all = [run, ...others].map(fingerprintOf);
    expect(new Set(all).size).toBe(all.length);
  });

  test("is the same one with another comment or another layout", () => {
    const commented = `\\* What it is about.\n${config.replace("CONSTANTS\n", "CONSTANTS\n\n")}`;
    expect(fingerprintOf({ ...run, config: commented })).toBe(fingerprintOf(run));
  });

  test("is of all that its module extends", () => {
    const base = fingerprintOf({ ...run, module: "Tidemark" });
    expect(fingerprintOf({ ...run, module: "TidemarkConfigs" })).not.toBe(base);
  });

  test("is not on record under a name that nothing was checked by", () => {
    expect(isChecked("no such configuration", run)).toBe(false);
  });
});
