/**
 * `npm run sim:mutants`: breaks the protocol in many ways, one at a time, and says after how many
 * seeds the judges noticed. The exit code is 1 if one was never noticed.
 */
import { availableParallelism } from "node:os";
import { Command, InvalidArgumentError } from "commander";
import { buildInstrumented } from "../instrumented-build.ts";
import { runSeeds } from "../seed-pool.ts";
import type { SeedOrder } from "../seed-process.ts";
import { mutants } from "./catalogue.ts";
import type { Mutant } from "./mutant.ts";
import { noticed } from "./noticed.ts";

type Options = {
  readonly jobs: number;
  readonly seedsMax: number;
  readonly trials: number;
  readonly only?: string;
};

/** Seeds of different trials lie far apart. */
const trialStride = 100_000;
/** Where so many are given up in real time, the rest would be, too. */
const lostSeedsMax = 5;

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError("give 1 or more");
  return value;
}

const program = new Command("sim:mutants")
  .description("breaks the protocol in many ways and counts the seeds until that is noticed")
  .option("--jobs <n>", "seeds at a time", positiveInteger, availableParallelism())
  .option("--seeds-max <n>", "give up on a mutant after so many seeds", positiveInteger, 1_000)
  .option("--trials <n>", "count from so many different first seeds", positiveInteger, 1)
  .option("--only <text>", "mutants whose name contains this");

type Catch = { readonly seeds: number; readonly finding: string };
type Search = { readonly best: Catch | undefined; readonly provesNothing: string | undefined };

async function main(): Promise<void> {
  const options = program.parse().opts<Options>();
  const chosen = mutants.filter(({ name }) => name.includes(options.only ?? ""));
  const medians: number[] = [];
  const missed: string[] = [];
  for (const mutant of chosen) {
    const { file } = await buildInstrumented({
      name: `mutant-${mutant.name}`,
      mutant,
    });
    const caught: Catch[] = [];
    let provesNothing: string | undefined;
    for (let trial = 0; trial < options.trials; trial += 1) {
      const found = await firstCatch(file, mutant, {
        ...options,
        firstSeed: 1 + trial * trialStride,
      });
      if (found.best !== undefined) caught.push(found.best);
      provesNothing ??= found.provesNothing;
    }
    if (caught.length < options.trials) missed.push(mutant.name);
    const seeds = caught.map((each) => each.seeds);
    if (seeds.length > 0) medians.push(median(seeds));
    const shown = seeds.length === 0 ? "never" : `after ${seeds.join(", ")}`;
    console.log(
      `${mutant.name.padEnd(34)} ${shown.padEnd(16)} ${caught[0]?.finding.slice(0, 110) ?? ""}`,
    );
    if (provesNothing !== undefined) console.log(`  ${provesNothing.slice(0, 200)}`);
  }
  const { length } = chosen;
  console.log(
    `${length.toString()} mutants, ${(length - missed.length).toString()} caught; median of ` +
      `seeds ${median(medians).toString()}, most ${Math.max(...medians).toString()}`,
  );
  if (missed.length > 0) console.log(`not caught: ${missed.join(", ")}`);
  process.exitCode = missed.length > 0 ? 1 : 0;
}

/** The number of seeds, in their order, up to the first that a judge finds. */
async function firstCatch(
  file: string,
  mutant: Mutant,
  options: Options & { readonly firstSeed: number },
): Promise<Search> {
  let best: Catch | undefined;
  let provesNothing: string | undefined;
  let lost = 0;
  function* orders(): Generator<SeedOrder> {
    for (let i = 0; i < options.seedsMax && best === undefined && lost < lostSeedsMax; i += 1) {
      yield { seed: options.firstSeed + i, changes: mutant.changes ?? {} };
    }
  }
  for await (const result of runSeeds(file, orders(), options.jobs)) {
    const said = noticed(result);
    const isShown = said.kind === "refused" && mutant.refuses === true;
    if (said.kind === "lost") lost += 1;
    if (said.kind !== "caught" && said.kind !== "unnoticed" && !isShown) {
      provesNothing ??= `${said.kind}, which proves nothing: ${said.finding}`;
    }
    if (said.kind !== "caught" && !isShown) continue;
    const { finding } = said;
    const seeds = result.order.seed - options.firstSeed + 1;
    if (best === undefined || seeds < best.seeds) best = { seeds, finding };
  }
  return { best, provesNothing };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

await main();
