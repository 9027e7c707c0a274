/**
 * Every workload beside its peers in one run of at most 30 minutes on 2 cores, written to
 * bench/results: last.json, and the report drawn from it. With Java and Maven on DynamoDB Local,
 * which alone knows TransactWriteItems and so ScalarDB; without them on dynalite, beside native
 * only.
 *
 *     npm run bench:all [-- --minutes 5] [--contestants tidemark,native]
 *                       [--repetitions N] [--seed N]
 */
import { Command } from "commander";
import { commandExists } from "./harness/command-exists.ts";
import { contestants, positive, repetitionCount, seedNumber } from "./harness/command-line.ts";
import { contestantNames, type ContestantName } from "./harness/contestant.ts";
import type { Scene } from "./harness/plan.ts";
import { cellLine, cellsHeader, printSummary } from "./harness/print.ts";
import { runPlan } from "./harness/run-plan.ts";
import { writeReport, writeResults } from "./report/result-files.ts";
import { contentionKeySpaces } from "./workloads/catalogue.ts";

const minutesDefault = 28;
/** Each timed run at the default; shorter runs are shorter in proportion. */
const secondsDefault = 2;
const warmUpShare = 0.6;

const withoutScalarDb = ["tidemark", "native", "transact-write-items"] as const;
const everybody = [...withoutScalarDb, "scalardb"] as const;
const besideNative = ["tidemark", "native"] as const;
const bothWays = ["tidemark-stream", "tidemark-express"] as const;

function scene(
  workload: string,
  concurrencies: readonly number[],
  contestants: readonly ContestantName[] = withoutScalarDb,
): Scene {
  return { workload, concurrencies, contestants };
}

/** Those that targets speak of come first: if the time runs out, others are left out. */
const scenes: readonly Scene[] = [
  scene("ycsb-ph1", [1, 16, 64], everybody),
  scene("u1", [1], [...besideNative, ...bothWays]),
  scene("tpcc", [1, 16], everybody),
  scene("hot-row", [1, 16, 64]),
  scene("u4", [1, 64], [...withoutScalarDb, ...bothWays]),
  scene("u1", [64]),
  scene("u20", [64]),
  scene("ycsb-c", [1, 64], besideNative),
  scene("disjoint", [64], ["tidemark"]),
  ...["ycsb-a", "ycsb-b", "ycsb-d", "ycsb-e", "ycsb-f"].map((name) =>
    scene(name, [64], besideNative),
  ),
  scene("tatp", [16]),
  scene("ticketing", [16]),
  ...contentionKeySpaces.map((keys) =>
    scene(`contention-${keys}`, [16], ["tidemark", "transact-write-items"]),
  ),
  // As the paper has it: 50 clients, and a store without transactions updates ten rows in turn.
  scene("ycsb-ph1-uniform", [50], [...besideNative, "native-in-turn"]),
];

const program = new Command("bench:all")
  .description("runs every workload beside its peers, and writes bench/results")
  .option("--minutes <n>", "begin no workload after these", positive, minutesDefault)
  .option("--contestants <names>", "who takes part", contestants, contestantNames)
  .option("--repetitions <n>", "timed runs", repetitionCount, 3)
  .option("--seed <n>", "of all draws", seedNumber, 1)
  .parse();
const options = program.opts<{
  readonly minutes: number;
  readonly contestants: readonly ContestantName[];
  readonly repetitions: number;
  readonly seed: number;
}>();
const { minutes, repetitions, seed } = options;

// It would be said by every process; CONTRIBUTING.md says which Node to use.
process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";

const seconds = secondsDefault * Math.min(1, minutes / minutesDefault);
const store = commandExists("java") && commandExists("mvn") ? "dynamodb-local" : "dynalite";
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
    warmUpSeconds: seconds * warmUpShare,
    repetitions,
    processes: 1,
    seed,
    counted: true,
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
writeResults(results);
await writeReport(results);
console.log(`written to bench/results in ${results.minutes.toFixed(1)} minutes`);
