/**
 * Every workload by every way to commit beside its peers, in one run on 2 cores, written to
 * bench/results under the store's name, and the report drawn from it. DynamoDB Local, for which
 * Java and Maven are needed, alone knows TransactWriteItems and so ScalarDB; on dynalite those are
 * left out.
 *
 *     npm run bench:all [-- --store dynalite] [--contestants tidemark-auto,native]
 *                       [--minutes N] [--seconds N] [--repetitions N] [--seed N]
 */
import { Command, Option } from "commander";
import { commandExists } from "./harness/command-exists.ts";
import { contestants, positive, repetitionCount, seedNumber } from "./harness/command-line.ts";
import { contestantNames, type ContestantName, tidemarkContestants } from "./harness/contestant.ts";
import { countedOperationsUsual, type Scene } from "./harness/plan.ts";
import { cellLine, cellsHeader, printSummary } from "./harness/print.ts";
import { runPlan } from "./harness/run-plan.ts";
import { type BenchStore, benchStores } from "./options.ts";
import { writeReport, writeResults } from "./report/result-files.ts";
import { contentionKeySpaces } from "./workloads/catalogue.ts";

const minutesDefault = 40;
const secondsDefault = 1;
const warmUpSeconds = 1.2;

const besideNative = [...tidemarkContestants, "native"] as const;
const withoutScalarDb = [...besideNative, "transact-write-items"] as const;
const everybody = [...withoutScalarDb, "scalardb"] as const;
const atEachLoad = [1, 16, 64];

function scene(
  workload: string,
  contestants: readonly ContestantName[] = withoutScalarDb,
  concurrencies: readonly number[] = atEachLoad,
): Scene {
  return { workload, concurrencies, contestants };
}

/** Those that targets speak of come first: if the time runs out, others are left out. */
const scenes: readonly Scene[] = [
  scene("u1"),
  scene("u4"),
  scene("ycsb-ph1", everybody),
  scene("tpcc", everybody, [1, 16]),
  scene("hot-row"),
  scene("u20"),
  scene("ycsb-c", besideNative),
  scene("disjoint", tidemarkContestants, [64]),
  // As the paper has it: 50 clients, and a store without transactions updates ten rows in turn.
  scene("ycsb-ph1-uniform", [...besideNative, "native-in-turn"], [50]),
  ...["tpcc-ph1", "tpcc-centiman", "tpcc-salt", "ticketing-salt"].map((name) =>
    scene(name, besideNative, [16]),
  ),
  ...["ycsb-a", "ycsb-b", "ycsb-d", "ycsb-e", "ycsb-f"].map((name) => scene(name, besideNative)),
  scene("tatp"),
  scene("ticketing", withoutScalarDb, [1, 16]),
  ...contentionKeySpaces.map((keys) =>
    scene(`contention-${keys}`, [...tidemarkContestants, "transact-write-items"], [16]),
  ),
];

const program = new Command("bench:all")
  .description("runs every workload beside its peers, and writes bench/results")
  .addOption(
    new Option("--store <store>", "what serves DynamoDB")
      .choices(benchStores)
      .default(commandExists("java") && commandExists("mvn") ? "dynamodb-local" : "dynalite"),
  )
  .option("--minutes <n>", "begin no workload after these", positive, minutesDefault)
  .option("--seconds <n>", "each timed run", positive, secondsDefault)
  .option("--contestants <names>", "who takes part", contestants, contestantNames)
  .option("--repetitions <n>", "timed runs", repetitionCount, 3)
  .option("--seed <n>", "of all draws", seedNumber, 1)
  .parse();
const options = program.opts<{
  readonly store: BenchStore;
  readonly minutes: number;
  readonly seconds: number;
  readonly contestants: readonly ContestantName[];
  readonly repetitions: number;
  readonly seed: number;
}>();
const { store, minutes, seconds, repetitions, seed } = options;

// It would be said by every process; CONTRIBUTING.md says which Node to use.
process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";

console.log(cellsHeader);
const results = await runPlan(
  {
    name: "all workloads",
    place: { kind: "local", store },
    scenes: scenes.map((one) => ({
      ...one,
      contestants: one.contestants.filter((name) => options.contestants.includes(name)),
    })),
    ratePerSecond: undefined,
    seconds,
    warmUpSeconds,
    repetitions,
    processes: 1,
    seed,
    countedOperations: countedOperationsUsual,
    minutesMax: minutes,
  },
  {
    say: (line) => process.stderr.write(`${line}\n`),
    onCell: (cell) => {
      console.log(cellLine(cell));
    },
  },
);
printSummary(results);
writeResults(results, store);
await writeReport(results, store);
console.log(`written to bench/results in ${results.minutes.toFixed(1)} minutes`);
