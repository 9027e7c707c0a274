/**
 * The Salt paper's evaluation (OSDI 2014, §5): contended work as BASE transactions, beside the same
 * as ACID ones and beside plain calls without any guarantee. All in virtual time, and the same for
 * the same seed.
 *
 *     npm run bench:salt [-- --only contention,waiting] [-- --seed 1] [-- --brief] [-- --out file]
 */
import { Command, InvalidArgumentError } from "commander";
import { seedNumber } from "../harness/command-line.ts";
import { resultFiles } from "../report/result-files.ts";
import { markdownOf } from "../report/stored-figures.ts";
import { type FigureName, figureNames, runFigure, type SaltRows } from "./figures.ts";
import { briefPlan, fullPlan } from "./plan.ts";
import { storedFigures, storeFigures, tablesOf } from "./results.ts";

function someFigures(text: string): readonly FigureName[] {
  return text.split(",").map((name) => {
    const known = figureNames.find((figure) => figure === name);
    if (known !== undefined) return known;
    throw new InvalidArgumentError(`there are ${figureNames.join(", ")}`);
  });
}

const { only, seed, brief, out } = new Command("bench:salt")
  .description("BASE transactions beside ACID ones and beside plain calls, projected")
  .option("--only <figures>", `some of ${figureNames.join(", ")}; the others stay`, someFigures)
  .option("--seed <n>", "of all draws", seedNumber, 1)
  .option("--brief", "as small as it can be, and stored only where --out says", false)
  .option("--out <file>", "write there instead of bench/results/salt.json")
  .parse()
  .opts<{
    readonly only?: readonly FigureName[];
    readonly seed: number;
    readonly brief: boolean;
    readonly out?: string;
  }>();

const file = out ?? (brief ? undefined : resultFiles.salt);
const plan = brief ? briefPlan : fullPlan;

// Figures that are not asked for stay as they were run before, with the same seed.
let figures: SaltRows = file !== undefined && only !== undefined ? storedFigures(file, seed) : {};
for (const name of only ?? figureNames) {
  const rows = await runFigure(name, {
    ...{ seed, plan },
    onRow: (row) => {
      process.stderr.write(`${name}: ${JSON.stringify(row)}\n`);
    },
  });
  figures = { ...figures, [name]: rows };
  if (file !== undefined) storeFigures(file, seed, figures);
}
for (const table of tablesOf(figures)) console.log(markdownOf(table));
