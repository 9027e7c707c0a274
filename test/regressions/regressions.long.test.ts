/**
 * Runs that once found a bug, as plans of the simulator: each must pass now. `npm run sim` writes
 * such a file for every failure, already made smaller; what it found stays in it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { planOf, type SeedPlan } from "../../simulation/seed-plan.ts";
import { runSeed } from "../../simulation/seed-run.ts";

const folder = import.meta.dirname;
/** Some runs take seconds of processor time, on a machine that may have other work. */
const runMsMax = 5 * 60_000;
const regressionSchema = z.object({
  finding: z.string(),
  plan: z.looseObject({ seed: z.number().int() }),
});

for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  const { finding, plan } = regressionSchema.parse(
    JSON.parse(readFileSync(join(folder, file), "utf8")),
  );
  const title = `${file}: no more "${finding.slice(0, 80)}"`;
  test(title, { timeout: runMsMax }, async () => {
    // Those that do not say so are older than express commit, and than readers of the feed.
    const drawn: SeedPlan = { ...planOf(plan.seed), commit: "stream", feeds: false };
    const kept: SeedPlan = { ...drawn, ...(plan as Partial<SeedPlan>) };
    const { report } = await runSeed(kept);
    expect(report.findings).toEqual([]);
  });
}
