/**
 * The Mediator paper's evaluation on mixed tables: what native operations notice of transactions,
 * from which share of them on mixed tables are faster than everything transactified, snapshot
 * isolation beside serializable, and spurious aborts. Writes bench/results/mediator.json, of which
 * `npm run bench:report` draws a section.
 *
 *     npm run bench:mediator [-- --only beside,grid,isolation] [--seconds N] [--repetitions N]
 *                            [--concurrency N] [--store dynamodb-local] [--seed N] [--json file]
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { dirname } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { positive, repetitionCount, seedNumber } from "../harness/command-line.ts";
import type { Plan, Scene } from "../harness/plan.ts";
import { cellLine, cellsHeader, ratiosTo } from "../harness/print.ts";
import type { BenchResults, MeasuredCell } from "../harness/results.ts";
import { spreadOf } from "../harness/results.ts";
import { runPlan } from "../harness/run-plan.ts";
import { setStage } from "../harness/stage.ts";
import { type BenchStore, benchStores } from "../options.ts";
import { resultFiles } from "../report/result-files.ts";
import { mediatorName } from "../workloads/mediator.ts";
import { runBeside } from "./beside.ts";
import { equilibria, type Grid, gridPoints, mixedSide, transactifiedSide } from "./equilibrium.ts";
import { besideTable, isolationTable, type MediatorResult } from "./result.ts";

const parts = ["beside", "grid", "isolation"] as const;
type Part = (typeof parts)[number];

function someParts(text: string): readonly Part[] {
  return text.split(",").map((name) => {
    const found = parts.find((known) => known === name);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`there are ${parts.join(", ")}`);
  });
}

const options = new Command("bench:mediator")
  .description("the Mediator paper's evaluation, on mixed tables")
  .addOption(
    new Option("--store <store>", "what serves DynamoDB").choices(benchStores).default("dynalite"),
  )
  .option("--only <parts>", `some of ${parts.join(", ")}`, someParts, parts)
  .option("--seconds <n>", "each timed run", positive, 1)
  .option("--repetitions <n>", "timed runs", repetitionCount, 3)
  .option("--concurrency <n>", "operations at a time, of the grid", positive, 64)
  .option("--seed <n>", "of all draws", seedNumber, 1)
  .option("--json <file>", "write there instead of bench/results/mediator.json")
  .parse()
  .opts<{
    readonly store: BenchStore;
    readonly only: readonly Part[];
    readonly seconds: number;
    readonly repetitions: number;
    readonly concurrency: number;
    readonly seed: number;
    readonly json?: string;
  }>();
const { store, only, seconds, repetitions, concurrency, seed } = options;

// It would be said by every process; CONTRIBUTING.md says which Node to use.
process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";

const startedAt = new Date().toISOString();
const loadAverage = loadavg();
const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

const grids: readonly Grid[] = [
  {
    accessesMax: 4,
    readShares: [0, 0.25, 0.5, 0.75, 0.9, 1],
    nativeShares: [0, 0.25, 0.5, 0.75, 0.9, 1],
  },
  { accessesMax: 20, readShares: [0, 0.5, 0.9], nativeShares: [0, 0.5, 0.9] },
];
const isolationShares = [0.5, 0.9];

function play(name: string, scenes: readonly Scene[]): Promise<BenchResults> {
  const plan: Plan = {
    ...{ name, scenes, seconds, repetitions, seed },
    place: { kind: "local", store },
    ratePerSecond: undefined,
    warmUpSeconds: 1,
    processes: 1,
    countedOperations: 0,
  };
  return runPlan(plan, {
    say,
    onCell: (cell) => {
      console.log(cellLine(cell));
    },
  });
}

async function beside(): Promise<MediatorResult["beside"]> {
  const stage = await setStage({ kind: "local", store }, say);
  try {
    const rates = { native: 100, u4: 20, u20: 6 };
    // Longer runs: what is compared are percentiles of an open loop far below what is possible.
    const settings = { seconds: 5 * seconds, repetitions, seed, rates };
    return [...(await runBeside(stage, settings, say))];
  } finally {
    await stage.stop();
  }
}

function cellOf(
  results: BenchResults,
  workload: string,
  contestant: string,
): MeasuredCell | undefined {
  return results.cells.find(
    (cell): cell is MeasuredCell =>
      cell.kind === "measured" && cell.workload === workload && cell.contestant === contestant,
  );
}

async function overGrid(): Promise<MediatorResult["grids"]> {
  const scenes = grids.flatMap(({ accessesMax, readShares, nativeShares }) =>
    readShares.flatMap((readShare) =>
      nativeShares.map((nativeShare) => ({
        workload: mediatorName({ accessesMax, readShare, nativeShare }),
        concurrencies: [concurrency],
        contestants: [mixedSide, transactifiedSide] as const,
      })),
    ),
  );
  const results = await play("ρ × ν", scenes);
  return grids.map((grid) => {
    const points = gridPoints(results, grid);
    return {
      accessesMax: grid.accessesMax,
      points: points.map((point) => {
        const workload = mediatorName({ accessesMax: grid.accessesMax, ...point });
        return { ...point, retries: cellOf(results, workload, mixedSide)?.conflictsPerCommit ?? 0 };
      }),
      equilibria: equilibria(points).map(({ readShare, nativeShare = null }) => ({
        readShare,
        nativeShare,
      })),
    };
  });
}

type Isolated = Pick<MediatorResult, "isolation" | "spurious">;

async function isolation(): Promise<Isolated> {
  const pairs = [
    { tables: "transactional", snapshot: "tidemark-snapshot", serializable: transactifiedSide },
    { tables: "mixed", snapshot: "tidemark-mixed-snapshot", serializable: mixedSide },
  ] as const;
  const scenes = isolationShares.map((readShare) => ({
    workload: mediatorName({ accessesMax: 4, readShare, nativeShare: 0 }),
    concurrencies: [16],
    contestants: pairs.flatMap(({ snapshot, serializable }) => [snapshot, serializable]),
  }));
  const disjoint = { workload: "disjoint", concurrencies: [16], contestants: [mixedSide] as const };
  const results = await play("isolation", [...scenes, disjoint]);
  const rows = pairs.flatMap(({ tables, snapshot, serializable }) =>
    isolationShares.flatMap((readShare) => {
      const workload = mediatorName({ accessesMax: 4, readShare, nativeShare: 0 });
      const cell = cellOf(results, workload, snapshot);
      const ratio = cell && ratiosTo(results, cell, serializable);
      return ratio === undefined
        ? []
        : [{ tables, readShare, ratio: { ...spreadOf([]), ...ratio } }];
    }),
  );
  const spurious = cellOf(results, "disjoint", mixedSide)?.conflictsPerCommit ?? null;
  return { isolation: rows, spurious };
}

console.log(cellsHeader);
const none: Isolated = { isolation: [], spurious: null };
const result: MediatorResult = {
  format: "tidemark-bench-mediator",
  ...{ startedAt, store, loadAverage, cores: availableParallelism() },
  settings: { seconds, repetitions, seed },
  beside: only.includes("beside") ? await beside() : [],
  grids: only.includes("grid") ? await overGrid() : [],
  ...(only.includes("isolation") ? await isolation() : none),
};
for (const { title, head, rows } of [besideTable(result), isolationTable(result)]) {
  if (rows.length === 0) continue;
  console.log(`\n${title ?? ""}\n${[head, ...rows].map((row) => row.join("  |  ")).join("\n")}`);
}
for (const { accessesMax, equilibria: found } of result.grids) {
  const curve = found.map(
    ({ readShare, nativeShare }) => `ρ ${readShare}: ν ${nativeShare?.toFixed(2) ?? "never"}`,
  );
  console.log(`\nequilibrium, U${accessesMax}: ${curve.join(", ")}`);
}
if (result.spurious !== null) console.log(`\nspurious aborts per transaction: ${result.spurious}`);
const out = options.json ?? resultFiles.mediator;
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, `${JSON.stringify(result, undefined, 1)}\n`);
console.log(`written to ${out}`);
