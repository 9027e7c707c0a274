/** Random behaviours of the model, by TLC's simulation. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fetchChecker, modelFolder, runChecker } from "./checker.ts";
import { type Trace, traceOfSimulation } from "./trace.ts";

/** Longer than any behaviour: each ends by itself, when nothing is left to do. */
const stepsMax = "200";

/**
 * Writes the behaviours into `folder` as TLC has them, and reads them. One seed gives the same
 * ones.
 */
export async function simulate(options: {
  readonly folder: string;
  readonly count: string;
  readonly seed: string;
}): Promise<readonly Trace[]> {
  const { folder, count, seed } = options;
  const config = readFileSync(join(modelFolder, "traces.cfg"), "utf8");
  const window = Number(/^ *Window = (\d+)$/m.exec(config)?.[1]);
  const result = await runChecker(fetchChecker(), {
    module: "TidemarkTraces",
    config,
    extra: [
      ...["-simulate", `file=${join(folder, "trace")},num=${count}`],
      ...["-depth", stepsMax, "-seed", seed, "-workers", "1"],
    ],
  });
  if (result.kind !== "holds") throw new Error(result.output);
  return readdirSync(folder)
    .sort()
    .map((file) => traceOfSimulation(readFileSync(join(folder, file), "utf8"), window));
}
