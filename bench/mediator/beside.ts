/**
 * What native operations notice of transactions (Mediator, figure "latency of native operations"):
 * a process of native gets and puts in an open loop, alone, beside another process's transactions
 * on other rows of the same store, and beside them on its own rows. The second differs from the
 * first by what the machine and the store have to do besides, the third from the second by the
 * protocol alone.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Cost } from "../cost.ts";
import { ClientGroup, type GroupTask } from "../harness/client-processes.ts";
import type { ContestantName, InProcessContestant } from "../harness/contestant.ts";
import { loadTables } from "../harness/load-tables.ts";
import { spreadOf, type Spread } from "../harness/results.ts";
import type { Stage } from "../harness/stage.ts";
import { type Repetition, summarized } from "../harness/summarize.ts";
import { makeWorkload } from "../workloads/catalogue.ts";
import { mediatorName } from "../workloads/mediator.ts";
import type { BesideRow } from "./result.ts";

const contestant = "tidemark-mixed" satisfies InProcessContestant & ContestantName;
const natives = mediatorName({ accessesMax: 4, readShare: 0.5, nativeShare: 1 });

type Company = BesideRow["company"];

export type BesideSettings = {
  readonly seconds: number;
  readonly repetitions: number;
  readonly seed: number;
  /** Native operations that are due per second, transactions of U4, and of U20. */
  readonly rates: { readonly native: number; readonly u4: number; readonly u20: number };
};

type Others = { readonly workload: string; readonly ratePerSecond: number };

const nativeWorkers = 16;
const otherWorkers = 8;
const countedEach = 64;

function othersOf(company: Company, rates: BesideSettings["rates"]): Others | undefined {
  if (company === "alone") return undefined;
  const accessesMax = company.endsWith("u20") ? 20 : 4;
  const aside = company.startsWith("aside");
  return {
    workload: mediatorName({ accessesMax, readShare: 0.5, nativeShare: 0, aside }),
    ratePerSecond: accessesMax === 20 ? rates.u20 : rates.u4,
  };
}

const companies: readonly Company[] = ["alone", "aside u4", "among u4", "aside u20", "among u20"];

type Groups = { readonly native: ClientGroup; readonly others: ClientGroup };

/** Companies in turns, so that whatever else the machine does meets all of them. */
export async function runBeside(
  stage: Stage,
  settings: BesideSettings,
  say: (line: string) => void,
): Promise<readonly BesideRow[]> {
  const { clientScript: script, environment, target } = stage;
  for (const company of ["among u4", "aside u4"] as const) {
    const { workload = natives } = othersOf(company, settings.rates) ?? {};
    await loadTables(target, contestant, await makeWorkload(workload));
  }
  const start = () =>
    ClientGroup.start({
      ...{ script, environment, processes: 1, profileFolder: undefined },
      settings: { contestant, target },
    });
  const groups: Groups = { native: await start(), others: await start() };
  try {
    const found = new Map(companies.map((company) => [company, [] as Measured[]]));
    for (let repetition = 0; repetition <= settings.repetitions; repetition += 1) {
      for (const company of companies) {
        const measured = await measure(groups, { company, repetition, settings });
        // The first round is the warm-up.
        if (repetition > 0) found.get(company)?.push(measured);
      }
      say(`native operations: round ${repetition} of ${settings.repetitions}`);
    }
    const rows: BesideRow[] = [];
    for (const company of companies) {
      const calls = await count(groups, { company, settings });
      rows.push(rowOf(company, found.get(company) ?? [], calls));
    }
    return rows;
  } finally {
    await groups.native.stop();
    await groups.others.stop();
  }
}

type Measured = { readonly native: Repetition; readonly others: Repetition | undefined };

async function measure(
  { native, others }: Groups,
  {
    company,
    repetition,
    settings,
  }: {
    readonly company: Company;
    readonly repetition: number;
    readonly settings: BesideSettings;
  },
): Promise<Measured> {
  const { seconds, seed, rates } = settings;
  const task = (workload: string, ratePerSecond: number, concurrency: number): GroupTask => ({
    ...{ workload, concurrency, durationMs: seconds * 1_000, seed: seed + repetition },
    loop: { kind: "open", ratePerSecond },
    countedEach: undefined,
  });
  const beside = othersOf(company, rates);
  const running = beside && others.run(task(beside.workload, beside.ratePerSecond, otherWorkers));
  const runs = await native.run(task(natives, rates.native, nativeWorkers));
  const otherRuns = await running;
  await sleep(restMs);
  return {
    native: { runs, spentMs: {} },
    others: otherRuns && { runs: otherRuns, spentMs: {} },
  };
}

/** Between two runs: installs and the watermark come to their end. */
const restMs = 300;

/** Calls of one native operation, while the others go on. */
async function count(
  { native, others }: Groups,
  { company, settings }: { readonly company: Company; readonly settings: BesideSettings },
): Promise<number> {
  const { seconds, seed, rates } = settings;
  const beside = othersOf(company, rates);
  const shared = { seed, durationMs: seconds * 1_000 };
  const running =
    beside &&
    others.run({
      ...{ ...shared, workload: beside.workload, concurrency: otherWorkers },
      loop: { kind: "open", ratePerSecond: beside.ratePerSecond },
      countedEach: undefined,
    });
  const runs = await native.run({
    ...{ ...shared, workload: natives, concurrency: nativeWorkers, countedEach },
    loop: { kind: "closed" },
  });
  await running;
  const calls = runs.reduce((sum, { cost }: { readonly cost: Cost }) => sum + cost.calls, 0);
  return calls / (nativeWorkers * countedEach);
}

function rowOf(company: Company, measured: readonly Measured[], calls: number): BesideRow {
  const key = { contestant, concurrency: nativeWorkers, ratePerSecond: null } as const;
  const none = { drainMs: undefined, costs: undefined };
  const cells = measured.map(({ native }) =>
    summarized({ ...key, workload: natives }, [native], none),
  );
  const of = (name: "native read" | "native write", percentile: "p50" | "p99"): Spread =>
    spreadOf(cells.map(({ operations }) => operations[name]?.latencyMs[percentile] ?? 0));
  return {
    company,
    readP50Ms: of("native read", "p50"),
    readP99Ms: of("native read", "p99"),
    writeP50Ms: of("native write", "p50"),
    writeP99Ms: of("native write", "p99"),
    processorMs: spreadOf(cells.map(({ clientProcessorMs }) => clientProcessorMs?.median ?? 0)),
    transactionsPerSecond: spreadOf(
      measured.map(({ others }) =>
        others === undefined
          ? 0
          : summarized({ ...key, workload: company }, [others], none).perSecond.median,
      ),
    ),
    calls,
    failures: cells
      .flatMap(({ failures }) => Object.values(failures))
      .reduce((sum, number) => sum + number, 0),
  };
}
