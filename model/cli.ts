/**
 * Checks the formal model (model/README.md) and makes traces from it.
 *
 *     npm run model                 every configuration that CI checks
 *     npm run model -- install      one by name; `full` takes hours
 *     npm run model:mutants         every deliberate mistake must violate what it breaks
 *     npm run model -- --changed    only what is not on record in model/checked.json
 *     npm run model:reached         what must happen in the model does; by name, with the trace
 *     npm run model:traces          makes model/traces anew
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { isChecked, keepChecked, type Run } from "./harness/checked.ts";
import { type CheckResult, fetchChecker, modelFolder, runChecker } from "./harness/checker.ts";
import { type ModelMutant, modelMutants } from "./harness/mutants.ts";
import { reachedStates, type ReachedState } from "./harness/reached-states.ts";
import { selectTraces } from "./harness/select-traces.ts";
import { simulate } from "./harness/simulate.ts";
import { formatTrace } from "./harness/trace.ts";

/**
 * `whole` (a crash and a copy in one run) and `install` (overlapping replays, deletes, the reaper)
 * are the others to run after a change of the model; CI has no time for them.
 */
const expressConfigs = ["express", "express-crash", "express-reports", "express-tables"];
const closingConfigs = ["closing", "closing-crash"];
const nativeConfigs = [
  "native-one-item",
  "native-crossing",
  "native-fences",
  "native-local",
  "native-real-time",
  "native-sessions",
  "native-logs",
  "native-logs-in-time",
  "native-liveness",
  "native-logs-liveness",
];
const shardsConfigs = [
  "shards-crossing",
  "shards-votes",
  "shards-votes-together",
  "shards-votes-moving",
  "shards-past",
  "shards-join-parts",
];
/** The larger ones, -readers, -past, -chains and -writers, are for after a change of the model. */
const baseConfigs = [
  "base-waiting",
  "base-beside",
  "base-steps",
  "base-liveness",
  "base-roll-forward",
];
const ciConfigs = [
  "whole-crash",
  "whole-copy",
  "resend",
  ...expressConfigs,
  ...closingConfigs,
  "liveness",
  ...nativeConfigs,
  ...shardsConfigs,
  ...baseConfigs,
];

/** The module that a configuration is of. */
function moduleOf(config: string): string {
  if (config.startsWith("native")) return "TidemarkNativeConfigs";
  if (config.startsWith("shards")) return "TidemarkShardsConfigs";
  if (config.startsWith("base")) return "TidemarkBaseConfigs";
  if (config.startsWith("closing")) return "TidemarkClosing";
  return config.startsWith("express") ? "TidemarkExpress" : "TidemarkConfigs";
}

function configOf(name: string, settings: Readonly<Record<string, string>> = {}): string {
  let text = readFileSync(join(modelFolder, `${name}.cfg`), "utf8");
  for (const [constant, value] of Object.entries(settings)) {
    const line = new RegExp(`^( *${constant} =).*$`, "m");
    if (!line.test(text)) throw new Error(`${name}.cfg sets no ${constant}`);
    text = text.replace(line, `$1 ${value}`);
  }
  return text;
}

function figures({ distinctStates, generatedStates, depth, seconds }: CheckResult): string {
  const format = (count: number): string => count.toLocaleString("en");
  return (
    `${format(distinctStates)} states (${format(generatedStates)} generated), depth ${depth}, ` +
    `${seconds} s`
  );
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

type Chosen = {
  /** Those that are named, and those that the record does not have as they are. */
  readonly changed?: boolean;
};

async function check(names: readonly string[], { changed }: Chosen): Promise<void> {
  const jar = fetchChecker();
  const all = names.length === 0 || changed === true ? ciConfigs : names;
  const chosen = all.filter(
    (name) => changed !== true || names.includes(name) || !isChecked(name, runOf(name)),
  );
  sayLeftOut(all.length - chosen.length);
  await sideBySide(chosen, async (name) => {
    const run = runOf(name);
    const result = await runChecker(jar, {
      ...run,
      onProgress: (line) => {
        say(`${name}: ${line}`);
      },
    });
    if (result.kind === "holds") {
      say(`${name}: every invariant holds in ${figures(result)}`);
      keepChecked(name, run, result);
      return;
    }
    say(result.output);
    say(`${name}: ${result.violated ?? "the checker"} failed after ${figures(result)}`);
    process.exitCode = 1;
  });
}

function runOf(name: string): Run {
  return { module: moduleOf(name), config: configOf(name) };
}

function sayLeftOut(count: number): void {
  if (count > 0) say(`${count} are as they were when model/checked.json was told of them`);
}

/** As many at a time as there are processors. */
async function sideBySide<Task>(
  tasks: readonly Task[],
  run: (task: Task) => Promise<void>,
): Promise<void> {
  const left = [...tasks];
  const lane = async (): Promise<void> => {
    for (let task = left.shift(); task !== undefined; task = left.shift()) await run(task);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
}

function withInvariant(config: string, name: string): string {
  return config.replace(/^INVARIANTS.*$/m, `INVARIANTS ${name}`);
}

function mutantRunOf({ name, config, settings, only }: ModelMutant): Run {
  const text = configOf(config, { ...settings, Mutant: `"${name}"` });
  return {
    module: moduleOf(config),
    config: only === undefined ? text : withInvariant(text, only),
  };
}

function titleOf({ name, config, only }: ModelMutant): string {
  return [name, `in ${config}`, ...(only === undefined ? [] : [`by ${only} alone`])].join(" ");
}

async function checkMutant(jar: string, mutant: ModelMutant): Promise<void> {
  const { name, violates } = mutant;
  const run = mutantRunOf(mutant);
  const result = await runChecker(jar, { ...run, isBrief: true });
  if (result.violated !== undefined && violates.includes(result.violated)) {
    say(`${name}: violates ${result.violated} after ${figures(result)}`);
    keepChecked(titleOf(mutant), run, result);
    return;
  }
  if (result.kind === "broken") say(result.output);
  const wanted = violates.join(" or ");
  say(`${name}: ${result.violated ?? "nothing"} violated, where ${wanted} should be`);
  process.exitCode = 1;
}

async function checkMutants(names: readonly string[], { changed }: Chosen): Promise<void> {
  const jar = fetchChecker();
  const unknown = names.filter((name) => modelMutants.every((mutant) => mutant.name !== name));
  if (unknown.length > 0) throw new Error(`no mutant of the name ${unknown.join(", ")}`);
  const isMeant = (mutant: ModelMutant): boolean =>
    names.includes(mutant.name) ||
    (changed === true ? !isChecked(titleOf(mutant), mutantRunOf(mutant)) : names.length === 0);
  const chosen = modelMutants.filter(isMeant);
  if (changed === true) sayLeftOut(modelMutants.length - chosen.length);
  await sideBySide(chosen, (mutant) => checkMutant(jar, mutant));
}

/** The checker's trace to the state is printed for those that are asked for by name. */
async function checkReached(names: readonly string[]): Promise<void> {
  const jar = fetchChecker();
  const chosen = reachedStates.filter(
    ({ deniedBy }) => names.length === 0 || names.includes(deniedBy),
  );
  if (chosen.length === 0) throw new Error("no invariant of this name is meant to fail");
  await sideBySide(chosen, (state) => checkOneReached(jar, state, names.length > 0));
}

async function checkOneReached(
  jar: string,
  { deniedBy, config, shows }: ReachedState,
  isTraced: boolean,
): Promise<void> {
  const result = await runChecker(jar, {
    module: moduleOf(config),
    isBrief: true,
    config: withInvariant(configOf(config), deniedBy),
  });
  if (result.violated === deniedBy) {
    if (isTraced) say(result.output);
    say(`${config}: reached, ${shows} (not ${deniedBy}), after ${figures(result)}`);
    return;
  }
  if (result.kind === "broken") say(result.output);
  say(`${config}: never reached, ${shows} (${deniedBy} holds), in ${figures(result)}`);
  process.exitCode = 1;
}

/**
 * Simulates, keeps a small set of behaviours in which every kind of step and answer occurs, and
 * writes them.
 */
async function makeTraces(options: {
  readonly seed: string;
  readonly count: string;
}): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "tidemark-traces-"));
  try {
    const traces = await simulate({ folder: work, ...options });
    const chosen = selectTraces(traces, 36);
    const folder = join(modelFolder, "traces");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    for (const [index, trace] of chosen.entries()) {
      const name = (index + 1).toString().padStart(2, "0");
      writeFileSync(join(folder, `${name}.jsonl`), formatTrace(trace));
    }
    say(`${chosen.length} of ${traces.length} behaviours written to model/traces`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const program = new Command("model").description("checks the formal model of the protocol");
program
  .command("check", { isDefault: true })
  .argument("[configurations...]", "names of model/*.cfg; by default those that CI checks")
  .option("--changed", "and those that model/checked.json does not have as they are")
  .action(check);
program
  .command("mutants")
  .argument("[names...]", "by default all")
  .option("--changed", "and those that model/checked.json does not have as they are")
  .action(checkMutants);
program
  .command("reached")
  .argument("[invariants...]", "those that deny what is to be traced; by default all")
  .action(checkReached);
program
  .command("traces")
  .option("--seed <number>", "of the simulation", "1")
  .option("--count <number>", "behaviours to choose from", "400")
  .action(makeTraces);
await program.parseAsync();
