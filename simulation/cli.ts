/**
 * `npm run sim`: runs seeds of the simulation and says what was found. A failure names its seed, is
 * made smaller, and comes with the command that runs it again.
 */
import { randomInt } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SingleBar } from "cli-progress";
import { Command, InvalidArgumentError } from "commander";
import { z } from "zod";
import { lastLines, summaryOf, testReport } from "./failure-summary.ts";
import { buildInstrumented, type InstrumentedBuild } from "./instrumented-build.ts";
import { readLongRun, writeLongRun } from "./long-run.ts";
import { failsLike, kindOf, minimized } from "./minimize.ts";
import { mutants } from "./mutants/catalogue.ts";
import type { Mutant } from "./mutants/mutant.ts";
import { planOf, type SeedPlan } from "./seed-plan.ts";
import type { SeedOrder } from "./seed-process.ts";
import { sweep, type SweepFailure, type SweepTotals } from "./sweep.ts";
import { workloadNames, type WorkloadName } from "./workloads/catalogue.ts";

type Options = {
  readonly seeds?: { readonly first: number; readonly last: number };
  readonly fresh?: true;
  readonly jobs: number;
  readonly minutes?: number;
  readonly workload?: WorkloadName;
  readonly transactions?: number;
  readonly calm?: true;
  readonly plan: Partial<SeedPlan>;
  readonly history?: string;
  readonly trace?: string;
  readonly json?: true;
  readonly keepGoing?: true;
  readonly coverage?: true;
  readonly minimize: boolean;
  readonly state?: string;
  readonly mutant?: Mutant;
};

const findingsShown = 10;
const minimizingRunsMax = 60;
/** Fresh seeds are drawn above those that anybody types. */
const freshSeedMin = 1_000_000;
const freshSeedMax = 2 ** 40;

function seedRange(text: string): NonNullable<Options["seeds"]> {
  const match = /^(\d+)(?:\.\.(\d+))?$/u.exec(text);
  const first = Number(match?.[1]);
  const last = Number(match?.[2] ?? match?.[1]);
  if (match === null || last < first) {
    throw new InvalidArgumentError("give one seed, such as 7, or a range, such as 1..100");
  }
  return { first, last };
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError("give a number above 0");
  return value;
}

function positiveInteger(text: string): number {
  const value = positiveNumber(text);
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError("give a whole number");
  return value;
}

function aWorkload(text: string): WorkloadName {
  const found = workloadNames.find((name) => name === text);
  if (found === undefined) throw new InvalidArgumentError(`there are ${workloadNames.join(", ")}`);
  return found;
}

function planChanges(text: string): Partial<SeedPlan> {
  const parsed = z.record(z.string(), z.unknown()).safeParse(JSON.parse(text));
  if (!parsed.success) throw new InvalidArgumentError("give parts of a plan, as a JSON object");
  return parsed.data;
}

function aMutant(text: string): Mutant {
  const found = mutants.find(({ name }) => name === text);
  if (found === undefined) {
    throw new InvalidArgumentError(`there are ${mutants.map(({ name }) => name).join(", ")}`);
  }
  return found;
}

const program = new Command("sim")
  .description("runs Tidemark in simulated clouds, under faults, and judges what it did")
  .option("--seeds <A..B>", "seeds to run", seedRange)
  .option("--fresh", "after those, seeds that nobody has run, until the time is up")
  .option("--minutes <n>", "begin no seed after so many minutes; a range is ended", positiveNumber)
  .option("--jobs <n>", "seeds at a time", positiveInteger, availableParallelism())
  .option("--workload <name>", "this workload for every seed", aWorkload)
  .option("--transactions <n>", "so many transactions per seed", positiveInteger)
  .option("--calm", "without faults")
  .option("--plan <json>", "parts of the plan, in place of what the seed gives", planChanges, {})
  .option("--history <dir>", "write each run's history there")
  .option("--trace <dir>", "write each run's events there")
  .option("--json", "one line of JSON per seed")
  .option("--keep-going", "run all seeds, failures or not")
  .option(
    "--coverage",
    "fail if a fault, a probe, an allowed anomaly or what is sought was never met",
  )
  .option("--no-minimize", "do not look for a smaller run that fails")
  .option("--mutant <name>", "with the protocol broken (simulation/mutants)", aMutant)
  .option("--state <file>", "go on where the last run with this file stopped; implies --fresh");

/**
 * Every seed once: the range, then fresh ones until the time is up. A slow machine ends its range
 * all the same: what it must reach was measured over all of it.
 */
function* seedsOf(options: Options, nextSeed: number | undefined): Generator<number> {
  const { minutes = Number.POSITIVE_INFINITY } = options;
  const endMs = Date.now() + minutes * 60_000;
  if (nextSeed === undefined && options.seeds !== undefined) {
    for (let seed = options.seeds.first; seed <= options.seeds.last; seed += 1) yield seed;
  }
  if (options.fresh === undefined && options.state === undefined) return;
  let seed = nextSeed ?? randomInt(freshSeedMin, freshSeedMax);
  for (; Date.now() < endMs; seed += 1) yield seed;
}

function* ordersOf(options: Options, nextSeed: number | undefined): Generator<SeedOrder> {
  const changes: Partial<SeedPlan> = {
    ...options.mutant?.changes,
    ...options.plan,
    ...(options.workload === undefined ? {} : { workload: options.workload }),
    ...(options.transactions === undefined ? {} : { transactions: options.transactions }),
    ...(options.calm === undefined ? {} : { faults: {} }),
  };
  for (const seed of seedsOf(options, nextSeed)) {
    const name = `seed-${seed.toString()}`;
    yield {
      seed,
      changes,
      ...(options.history === undefined ? {} : { historyFolder: join(options.history, name) }),
      ...(options.trace === undefined ? {} : { traceFile: join(options.trace, `${name}.txt`) }),
    };
  }
}

async function main(): Promise<void> {
  const options = program.parse().opts<Options>();
  if (options.seeds === undefined && options.fresh === undefined && options.state === undefined) {
    program.error("error: give --seeds, --fresh or --state");
  }
  if (options.trace !== undefined) mkdirSync(options.trace, { recursive: true });
  const build = await buildInstrumented({ name: "simulation", mutant: options.mutant });
  const totals = await run(options, build);
  report(totals);
  const { failures } = totals;
  const unreached = options.coverage === true ? totals.unreached : [];
  const reportFile = process.env["TIDEMARK_TEST_REPORT"];
  if (reportFile !== undefined) {
    mkdirSync(dirname(reportFile), { recursive: true });
    writeFileSync(reportFile, testReport({ failures, unreached }));
  }
  for (const failure of failures) await reportFailure(failure, build, options.minimize);
  for (const line of lastLines(failures)) console.log(line);
  process.exitCode = failures.length > 0 || unreached.length > 0 ? 1 : 0;
}

async function run(options: Options, build: InstrumentedBuild): Promise<SweepTotals> {
  const resumed = options.state === undefined ? undefined : readLongRun(options.state);
  const count = options.seeds === undefined ? 0 : options.seeds.last - options.seeds.first + 1;
  const bar = new SingleBar({ format: "{bar} {value}/{total} seeds, {commits} commits" });
  if (options.json !== true) bar.start(count, 0, { commits: 0 });
  let highest = 0;
  const totals = await sweep({
    build,
    orders: ordersOf(options, resumed?.nextSeed),
    jobs: options.jobs,
    stopAtFailure: options.keepGoing !== true,
    resumed,
    onResult: (result, so) => {
      highest = Math.max(highest, result.order.seed);
      if (options.state !== undefined) writeLongRun(options.state, so.state(highest + 1));
      const failure = so.failures.at(-1);
      // At once: a sweep may be ended from outside before it can report.
      if (failure?.order === result.order) console.error(`\n${summaryOf(failure)}`);
      if (options.json === true) console.log(JSON.stringify(result));
      else bar.update(so.seeds, { commits: so.commits });
    },
  });
  if (options.json !== true) bar.stop();
  return totals;
}

function report(totals: SweepTotals): void {
  const { seeds, commits, aborts, unknown, crashes, calls } = totals;
  const hours = totals.virtualMs / 3600_000;
  const ratio = totals.realMs === 0 ? 0 : totals.virtualMs / totals.realMs;
  console.log(
    `${seeds.toString()} seeds: ${commits.toString()} transactions committed, ` +
      `${aborts.toString()} aborted, ` +
      `${unknown.toString()} unknown; ${totals.faultsStruck.toString()} faults, ` +
      `${crashes.toString()} crashed clients; ` +
      `${calls.toString()} calls in ${hours.toFixed(1)} simulated hours, ${ratio.toFixed(0)} ` +
      "times real time",
  );
  console.log(`faults: ${counts(totals.struck)}`);
  console.log(`probes: ${counts(totals.probes)}`);
  console.log(`allowed by snapshot isolation: ${counts(totals.allowed)}`);
  console.log(`sought by workloads: ${counts(totals.sought)}`);
  if (totals.unreached.length > 0) console.log(`never reached: ${totals.unreached.join(", ")}`);
}

async function reportFailure(
  { order, findings }: SweepFailure,
  build: InstrumentedBuild,
  minimize: boolean,
): Promise<void> {
  console.log(`\nseed ${order.seed.toString()} FAILED`);
  for (const finding of findings.slice(0, findingsShown)) console.log(`  ${finding}`);
  let plan: SeedPlan = { ...planOf(order.seed), ...order.changes };
  if (minimize && findings[0] !== undefined) {
    plan = await minimized(plan, failsLike(build.file, kindOf(findings[0])), minimizingRunsMax);
  }
  const folder = fileURLToPath(new URL("../.cache/simulation/failures/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `seed-${order.seed.toString()}.json`);
  writeFileSync(file, `${JSON.stringify({ finding: findings[0], plan }, undefined, 2)}\n`);
  console.log(
    `  smaller: ${plan.transactions.toString()} transactions, ${plan.clients.toString()} ` +
      "clients, " +
      `${Object.keys(plan.faults).length.toString()} kinds of faults, ` +
      `${plan.strikesMax?.toString() ?? "any number of"} strikes`,
  );
  console.log(
    `  again: npm run sim -- --seeds ${order.seed.toString()} --no-minimize --plan ` +
      `'${JSON.stringify(plan)}'`,
  );
  console.log(`  to keep it: copy ${file} to test/regressions/`);
}

function counts(of: ReadonlyMap<string, number>): string {
  return [...of].map(([name, count]) => `${name} ${count.toString()}`).join(", ");
}

await main();
