/** What no judge within a run can see, its parent sees: code that never gives its turn back. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { runSeeds } from "../../simulation/seed-pool.ts";

const file = join(import.meta.dirname, "fixtures", "spinning-process.mjs");

test("a process whose event loop stands still is ended; one that takes long is not", async () => {
  const orders = [{ seed: 1 }, { seed: 2 }];
  const patience = { seedMs: 60_000, standstillMs: 4_000 };
  const results = new Map<number, string>();
  for await (const result of runSeeds(file, orders, 2, patience)) {
    results.set(result.order.seed, result.kind === "lost" ? result.reason : result.kind);
  }
  expect(results.get(1)).toContain("its event loop stands still");
  expect(results.get(2)).toBe("answered");
});
