/** `npm run bench -- <name> [options]`, as text in, plan out. */
import { resolve } from "node:path";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { benchNames, workloadsOf } from "../suites.ts";
import { discover } from "../../sdk/discovery.ts";
import { type BenchStore, benchStores } from "../options.ts";
import { contestantNames, type ContestantName } from "./contestant.ts";
import { countedOperationsUsual, type Plan } from "./plan.ts";

export type BenchOrder = {
  readonly plan: Plan;
  readonly json: string | undefined;
  readonly html: string | undefined;
};

type Options = {
  readonly contestants: readonly ContestantName[];
  readonly store: BenchStore;
  readonly endpoint?: string;
  readonly deployment?: string;
  readonly region?: string;
  readonly concurrency: readonly number[];
  readonly rate?: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly repetitions: number;
  readonly processes: number;
  readonly seed: number;
  readonly count: boolean;
  readonly json?: string;
  readonly html?: string;
  readonly profile?: string;
};

const workersMax = 4_096;
const processesMax = 64;

export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < Infinity)) throw new InvalidArgumentError("give a number above 0");
  return value;
}

function whole(max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= 1 && value <= max) return value;
    throw new InvalidArgumentError(`give a whole number from 1 to ${max}`);
  };
}

export const repetitionCount = whole(100);
export const seedNumber = whole(2 ** 31 - 1);

function concurrencies(text: string): readonly number[] {
  return text.split(",").map(whole(workersMax));
}

export function contestants(text: string): readonly ContestantName[] {
  return text.split(",").map((name) => {
    const found = contestantNames.find((known) => known === name);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`there are ${contestantNames.join(", ")}`);
  });
}

function aName(text: string): string {
  if (workloadsOf(text) !== undefined) return text;
  throw new InvalidArgumentError(`there are ${benchNames.join(", ")}`);
}

export function benchCommand(): Command {
  return new Command("bench")
    .description("runs workloads against Tidemark and its peers, interleaved in one run")
    .addArgument(new Argument("<name>", "a workload or a group of them").argParser(aName))
    .option("--contestants <names>", "who takes part", contestants, ["tidemark-auto", "native"])
    .addOption(
      new Option("--store <store>", "what serves DynamoDB here")
        .choices(benchStores)
        .default("dynalite"),
    )
    .option("--endpoint <url>", "an embedded stack that runs already, in place of a store")
    .option("--deployment <name>", "a deployment on AWS, in place of a store")
    .option("--region <name>", "its region")
    .option("--concurrency <numbers>", "transactions at a time", concurrencies, [1, 16, 64])
    .option("--rate <n>", "open loop: transactions due per second", positive)
    .option("--seconds <n>", "each timed run", positive, 5)
    .option("--warm-up <n>", "seconds before, per workload and contestant", positive, 3)
    .option("--repetitions <n>", "timed runs", repetitionCount, 3)
    .option("--processes <n>", "client processes of each contestant", whole(processesMax), 1)
    .option("--seed <n>", "of all draws", seedNumber, 1)
    .option("--no-count", "without the extra run that counts calls and units")
    .option("--json <file>", "write the results there")
    .option("--html <file>", "write a report there")
    .option(
      "--profile <folder>",
      "write a processor profile of each client process there; viewers draw it as a flame graph",
    );
}

/**
 * @throws CommanderError for a command line that cannot be one, if `command` was told not to exit.
 * @throws InvalidRequestError, UnavailableError when no stack answers at `--endpoint`.
 */
export async function readCommandLine(
  argv: readonly string[],
  command = benchCommand(),
): Promise<BenchOrder> {
  command.parse(argv, { from: "user" });
  const [name = ""] = command.args;
  const options = command.opts<Options>();
  if (options.endpoint !== undefined && options.deployment !== undefined) {
    command.error("error: --endpoint and --deployment exclude each other");
  }
  const { seconds, repetitions, processes, seed } = options;
  const plan: Plan = {
    name,
    place: await placeOf(options),
    scenes: (workloadsOf(name) ?? []).map((workload) => ({
      workload,
      concurrencies: options.concurrency,
      contestants: options.contestants,
    })),
    ratePerSecond: options.rate,
    seconds,
    warmUpSeconds: options.warmUp,
    repetitions,
    processes,
    seed,
    countedOperations: options.count ? countedOperationsUsual : 0,
    ...(options.profile === undefined ? {} : { profileFolder: resolve(options.profile) }),
  };
  return { plan, json: options.json, html: options.html };
}

async function placeOf(options: Options): Promise<Plan["place"]> {
  if (options.endpoint !== undefined) {
    return { kind: "deployment", target: await discover(options.endpoint) };
  }
  if (options.deployment !== undefined) {
    const region = options.region ?? process.env["AWS_REGION"] ?? "us-east-1";
    return {
      kind: "deployment",
      target: { deployment: options.deployment, region, endpoints: undefined },
    };
  }
  return { kind: "local", store: options.store };
}
