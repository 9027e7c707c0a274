/**
 * Several shards, as the Centiman paper evaluates its validators: what certification costs, how
 * throughput grows, aborts for nothing, read-only transactions, outliers, and commits over two
 * shards. All but the oracles' processor time is in virtual time, and the same for the same seed.
 *
 *     npm run bench:shards [-- --only work,throughput] [-- --seed 1] [-- --brief] [-- --out file]
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { pageOf } from "../report/page.ts";
import { resultFiles } from "../report/result-files.ts";
import { markdownOf } from "../report/stored-figures.ts";
import { runFigure, type ShardsFigures } from "./figures.ts";
import { briefPlan, figureNames, fullPlan } from "./plan.ts";
import { storedFigures, storedShards, storeFigures } from "./stored-shards.ts";
import { tablesOf } from "./tables.ts";

// A transaction of more than ten parts has as many listeners on one signal, and Node.js warns.

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    seed: { type: "string", default: "1" },
    brief: { type: "boolean", default: false },
    out: { type: "string" },
  },
});

const seed = Number(values.seed);
if (!Number.isSafeInteger(seed)) throw new TypeError("--seed is a whole number");
const wanted = values.only?.split(",").map((name) => {
  const known = figureNames.find((figure) => figure === name);
  if (known === undefined) throw new TypeError(`--only is some of ${figureNames.join(", ")}`);
  return known;
});
const out = values.out ?? (values.brief ? undefined : resultFiles.shards);
const plan = values.brief ? briefPlan : fullPlan;

// Figures that are not asked for stay as they were run before, with the same seed.
let figures: Partial<ShardsFigures> = {};
if (out !== undefined && wanted !== undefined) figures = storedFigures(out, seed);
for (const name of wanted ?? figureNames) {
  const rows = await runFigure(name, {
    ...{ seed, plan },
    onRow: (figure, row) => {
      const { over: _over, ...shown } = row as Record<string, unknown>;
      process.stderr.write(`${figure}: ${JSON.stringify(shown)}\n`);
    },
  });
  figures = { ...figures, [name]: rows };
  if (out !== undefined) storeFigures(out, seed, figures);
}
for (const table of tablesOf(figures)) console.log(markdownOf(table));
if (out !== undefined) {
  const report = `${out.replace(/\.json$/u, "")}.html`;
  const sections = storedShards(out);
  writeFileSync(report, await pageOf({ title: "Tidemark: several shards", summary: [], sections }));
  console.log(`written to ${out}; drawn: ${report}`);
}
