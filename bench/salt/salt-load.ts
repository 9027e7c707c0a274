/**
 * Many processes of few clients, each of which runs one operation after the other in virtual time.
 * A BASE transaction counts when everybody sees it: its client waits for that.
 */
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { putPlainRows } from "../../testing/table-contents.ts";
import type {
  BenchItem,
  BenchRandom,
  BenchTable,
  Operation,
  Workload,
} from "../harness/workload.ts";
import { LatencySamples, type Percentiles } from "../projection/latency-samples.ts";
import { ProjectedDeployment } from "../projection/projected-deployment.ts";
import { type SaltClient, type SaltContestant, startSaltClient } from "./contestants.ts";

export type SaltWorkload = Pick<Workload, "tables" | "rows" | "next">;

export type SaltLoad = {
  readonly seed: number;
  readonly processes: number;
  readonly clientsPerProcess: number;
  /** Virtual. */
  readonly warmUpSeconds: number;
  readonly seconds: number;
};

export type SaltFigures = {
  readonly committedPerSecond: number;
  /** By the operation's name; until its caller is answered. */
  readonly answerMs: Readonly<Record<string, Percentiles>>;
  /** By the operation's name; until all see it. */
  readonly latencyMs: Readonly<Record<string, Percentiles>>;
  readonly failures: Readonly<Record<string, number>>;
};

export async function runSaltLoad(
  contestant: SaltContestant,
  workload: SaltWorkload,
  load: SaltLoad,
): Promise<SaltFigures> {
  const deployment = await ProjectedDeployment.create({
    seed: load.seed,
    consumer: "fan-out",
    tables: workload.tables.map((table) => ({ ...table, base: contestant === "BASE" })),
  });
  fill(deployment, workload.rows());
  return deployment.run(() => measure(deployment, { contestant, workload, load }));
}

function fill(
  { world }: ProjectedDeployment,
  rows: Iterable<{ readonly table: BenchTable; readonly item: BenchItem }>,
): void {
  world.limitedDynamoDb.fill(() => {
    for (const { table, item } of rows) {
      const described = { ...table, history: false, access: "transactional" } as const;
      putPlainRows(world.dynamodb, described, [item]);
    }
  });
}

class Tally {
  committed = 0;
  readonly answers = new Map<string, LatencySamples>();
  readonly latencies = new Map<string, LatencySamples>();
  readonly failures: Record<string, number> = {};
}

async function measure(
  deployment: ProjectedDeployment,
  {
    contestant,
    workload,
    load,
  }: {
    readonly contestant: SaltContestant;
    readonly workload: SaltWorkload;
    readonly load: SaltLoad;
  },
): Promise<SaltFigures> {
  const { time, random } = deployment.world;
  let tally = new Tally();
  let isOver = false;
  const work = async (client: SaltClient, worker: number): Promise<void> => {
    const own = random.fork(`worker ${worker.toString()}`);
    // Clients of a real service do not begin in the same microsecond.
    await time.sleep(own.between(0, 100));
    while (!isOver) await runOne(client, workload.next(asBenchRandom(own), worker));
  };
  const runOne = async (client: SaltClient, operation: Operation): Promise<void> => {
    const beganMs = time.nowMs;
    try {
      const { kind, answerMs } = await client(operation);
      if (kind === "rolled-back") return;
      tally.committed += 1;
      samplesOf(tally.answers, operation.name).add(answerMs);
      samplesOf(tally.latencies, operation.name).add(time.nowMs - beganMs);
    } catch (error) {
      const name = error instanceof Error ? error.name : "unknown";
      tally.failures[name] = (tally.failures[name] ?? 0) + 1;
    }
  };
  const running = Array.from({ length: load.processes }, (_, process) => {
    const client = startSaltClient(contestant, deployment);
    const first = process * load.clientsPerProcess;
    return Promise.all(
      Array.from({ length: load.clientsPerProcess }, (__, at) => work(client, first + at)),
    );
  });
  await time.sleep(load.warmUpSeconds * 1_000);
  tally = new Tally();
  await time.sleep(load.seconds * 1_000);
  const { committed, answers, latencies, failures } = tally;
  isOver = true;
  await Promise.all(running);
  return {
    committedPerSecond: committed / load.seconds,
    answerMs: percentilesOf(answers),
    latencyMs: percentilesOf(latencies),
    failures,
  };
}

function samplesOf(all: Map<string, LatencySamples>, name: string): LatencySamples {
  const found = all.get(name) ?? new LatencySamples();
  all.set(name, found);
  return found;
}

function percentilesOf(all: ReadonlyMap<string, LatencySamples>): Record<string, Percentiles> {
  return Object.fromEntries(Array.from(all, ([name, samples]) => [name, samples.percentiles]));
}

function asBenchRandom(random: SeededRandom): BenchRandom {
  return {
    fraction: () => random.next(),
    below: (below) => Math.floor(random.next() * below),
  };
}
