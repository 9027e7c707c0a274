/** Random interleavings on one item of a mixed table: transactions, native writers, late copies. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { OneItemWorld, type Scenario } from "./one-item-world.ts";

const native = fc.constantFrom(
  ...(["put", "delete", "update", "plain-put", "plain-delete", "plain-update"] as const),
);
const transaction = fc.record({
  reads: fc.boolean(),
  deletes: fc.boolean(),
  local: fc.boolean(),
});
const scenario: fc.Arbitrary<Scenario> = fc.record({
  first: fc.constantFrom("absent" as const, "bare" as const, "version" as const),
  transactions: fc.array(transaction, { minLength: 1, maxLength: 3 }),
  natives: fc.array(native, { maxLength: 4 }),
  choices: fc.array(fc.nat({ max: 60 }), { maxLength: 60 }),
});

test("I10: nothing is lost, and what was read is true at its place", async () => {
  const each = fc.asyncProperty(scenario, async (given) => {
    await new OneItemWorld(given).run();
    expect(given).toBeDefined();
  });
  await fc.assert(each, { numRuns: 4_000 });
});
