/** Runs a plan: each case in a world of its own, from the same seed. */
import { plainRows } from "../../testing/table-contents.ts";
import { type Arrival, type Body, Load, type LoadResult } from "./load.ts";
import { costRow, countsOf, type CostRow } from "./monthly-cost.ts";
import type { TableAccess } from "../../core/types.ts";
import type { CommitPreference } from "../../engine/types.ts";
import type {
  BesideCase,
  ContentionCase,
  CostCase,
  HotRowCase,
  LatencyCase,
  MixedCase,
  ProcessCase,
  ProjectionPlan,
  ThroughputCase,
} from "./plan.ts";
import { functionSettings } from "../../functions/shared/settings.ts";
import { ProjectedDeployment, projectionTable } from "./projected-deployment.ts";
import {
  auroraDsqlHotRowPerSecond,
  callLatencies,
  type Consumer,
  deliveryLatencies,
  hoursPerMonth,
  pricesDollars,
  processorFigures,
  serviceLimits,
} from "./published-figures.ts";
import { nativeLatency } from "./native-latency.ts";
import type {
  BesideRow,
  ContentionRow,
  HotRowRow,
  LatencyRow,
  MixedRow,
  ProjectionResult,
  ThroughputRow,
} from "./result.ts";
import { hotItemId, increment, readAndWrite } from "./transactions.ts";

/** So many that two transactions under way hardly ever meet. */
const spreadKeys = 100_000;
/** Of an item without filler, about. */
const itemBytes = 100;
const contentionProcesses = 8;
const contentionClientsPerProcess = 8;

type Case = {
  readonly seed: number;
  readonly consumer: Consumer;
  readonly commit: CommitPreference;
  readonly processes: number;
  readonly arrival: Arrival;
  readonly body: Body;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly settle?: boolean;
  readonly access?: TableAccess;
};

async function runCase(options: Case): Promise<LoadResult> {
  const { load } = await prepare(options);
  return load.run();
}

async function prepare({ seed, consumer, access = "transactional", ...load }: Case): Promise<{
  readonly deployment: ProjectedDeployment;
  readonly load: Load;
}> {
  const deployment = await ProjectedDeployment.create({ seed, consumer, access });
  return { deployment, load: new Load(deployment, load) };
}

async function mixedRow({ seed, plan }: Run, task: MixedCase): Promise<MixedRow> {
  const { commit, access, onlyRead, perSecond, seconds } = task;
  const { latency, phases } = await runCase({
    ...{ seed, commit, access, consumer: "fan-out", processes: 1, seconds },
    warmUpSeconds: plan.warmUpSeconds,
    arrival: { kind: "open", perSecond },
    body: readAndWrite({ items: 2 + onlyRead, onlyRead, keys: spreadKeys }),
  });
  return {
    ...{ commit, access, onlyRead, samples: latency.count, latency: latency.percentiles },
    phases: {
      body: phases.body.percentiles,
      certify: phases.certify.percentiles,
      install: phases.install.percentiles,
    },
  };
}

type Run = { readonly seed: number; readonly plan: ProjectionPlan };

async function latencyRow({ seed, plan }: Run, task: LatencyCase): Promise<LatencyRow> {
  const { commit, consumer, perSecond, processes, seconds } = task;
  const { latency, phases, expressShare } = await runCase({
    ...{ seed, commit, consumer, processes, seconds, warmUpSeconds: plan.warmUpSeconds },
    arrival: { kind: "open", perSecond },
    body: readAndWrite({ items: 2, keys: spreadKeys }),
  });
  return {
    ...{ commit, consumer, perSecond, processes, expressShare, samples: latency.count },
    latency: latency.percentiles,
    curve: latency.curve,
    phases: {
      body: phases.body.percentiles,
      certify: phases.certify.percentiles,
      install: phases.install.percentiles,
    },
  };
}

function throughputOf(
  result: LoadResult,
  around: Pick<
    ThroughputRow,
    "commit" | "consumer" | "itemsPerTransaction" | "itemBytes" | "processes" | "clients"
  >,
): ThroughputRow {
  const { usage, seconds, latency } = result;
  const { client, oracle, replay } = usage;
  const throttled = client.throttled + oracle.throttled + replay.throttled;
  return {
    ...around,
    committedPerSecond: result.committedPerSecond,
    expressShare: result.expressShare,
    latency: latency.percentiles,
    recordsPerSecond: client.records / seconds,
    recordBytesPerSecond: client.recordBytes / seconds,
    logWriteUnitsPerSecond: (oracle.writeUnits + client.blockWriteUnits) / seconds,
    logReadUnitsPerSecond: (client.queryReadUnits + replay.queryReadUnits) / seconds,
    throttledPerSecond: throttled / seconds,
    watermarkLagMs: result.watermarkLagMs,
  };
}

async function throughputRow({ seed, plan }: Run, task: ThroughputCase): Promise<ThroughputRow> {
  const { commit, consumer, processes, clientsPerProcess, fillerBytes } = task;
  const result = await runCase({
    ...{ seed, commit, consumer, processes, warmUpSeconds: plan.warmUpSeconds },
    seconds: plan.throughputSeconds,
    arrival: { kind: "closed", clientsPerProcess },
    body: readAndWrite({ items: 2, keys: spreadKeys, fillerBytes }),
  });
  return throughputOf(result, {
    ...{ commit, consumer, processes, clients: processes * clientsPerProcess },
    itemsPerTransaction: 2,
    itemBytes: itemBytes + fillerBytes,
  });
}

async function processRow({ seed, plan }: Run, task: ProcessCase): Promise<ThroughputRow> {
  const { commit, processes, perSecond } = task;
  const consumer = "fan-out";
  const result = await runCase({
    ...{ seed, commit, consumer, processes, warmUpSeconds: plan.warmUpSeconds },
    seconds: plan.throughputSeconds,
    arrival: { kind: "open", perSecond },
    body: readAndWrite({ items: 2, keys: spreadKeys }),
  });
  return throughputOf(result, {
    ...{ commit, consumer, processes, clients: 0, itemsPerTransaction: 2, itemBytes },
  });
}

async function contentionRow({ seed, plan }: Run, task: ContentionCase): Promise<ContentionRow> {
  const { commit, consumer, keys } = task;
  const processes = contentionProcesses;
  const result = await runCase({
    ...{ seed, commit, consumer, processes, warmUpSeconds: plan.warmUpSeconds },
    seconds: plan.contentionSeconds,
    arrival: { kind: "closed", clientsPerProcess: contentionClientsPerProcess },
    body: readAndWrite({ items: 2, keys }),
  });
  const { early, oracle } = result.conflicts;
  return {
    ...{ commit, consumer, keys, processes, clients: processes * contentionClientsPerProcess },
    committedPerSecond: result.committedPerSecond,
    expressShare: result.expressShare,
    conflictShare: result.conflictShare,
    earlyShare: early + oracle === 0 ? 0 : early / (early + oracle),
    latency: result.latency.percentiles,
  };
}

async function hotRowRow({ seed, plan }: Run, task: HotRowCase): Promise<HotRowRow> {
  const { commit, consumer, processes, clientsPerProcess } = task;
  const { deployment, load } = await prepare({
    ...{ seed, commit, consumer, processes, warmUpSeconds: plan.warmUpSeconds },
    seconds: plan.hotRowSeconds,
    arrival: { kind: "closed", clientsPerProcess },
    body: increment,
  });
  const result = await load.run();
  await deployment.run(() => deployment.settled());
  assertCounted(deployment, load);
  const { committed, conflicts, committedPerSecond, latency, expressShare, usage } = result;
  return {
    ...{ commit, consumer, processes, clientsPerProcess, committedPerSecond, expressShare },
    putsPerBlock: usage.client.blockPuts / Math.max(1, usage.client.blocks),
    timesAuroraDsql: committedPerSecond / auroraDsqlHotRowPerSecond,
    attemptsPerCommit: (committed + conflicts.early + conflicts.oracle) / Math.max(1, committed),
    latency: latency.percentiles,
  };
}

/**
 * A figure for increments that were lost would be worth nothing. Those of unknown outcome may be
 * stored or not.
 */
function assertCounted(
  deployment: ProjectedDeployment,
  { totalCommitted, totalUnknown }: Pick<Load, "totalCommitted" | "totalUnknown">,
): void {
  const rows = plainRows(deployment.world.dynamodb, {
    name: projectionTable,
    partitionKey: { name: "id", type: "S" },
  });
  const stored = Number(rows.find((row) => row["id"] === hotItemId)?.["balanceCents"]);
  if (stored >= totalCommitted && stored <= totalCommitted + totalUnknown) return;
  throw new Error(
    `${totalCommitted.toString()} increments committed, ${totalUnknown.toString()} unknown, ` +
      `${stored.toString()} stored`,
  );
}

async function costOf({ seed, plan }: Run, task: CostCase): Promise<CostRow> {
  const { commit, consumer, items, perSecond, shards, processes, seconds } = task;
  const { usage, usageCommits, expressShare } = await runCase({
    ...{
      seed,
      commit,
      consumer,
      processes,
      seconds,
      warmUpSeconds: plan.warmUpSeconds,
      settle: true,
    },
    arrival: { kind: "open", perSecond: perSecond / shards },
    body: readAndWrite({ items, keys: spreadKeys }),
  });
  const { oracle, replay } = functionSettings;
  const memoryMb = { oracle: oracle.memoryMb, replay: replay.memoryMb };
  return costRow({
    ...{ commit, consumer, itemsPerTransaction: items, perSecond, shards, processes, expressShare },
    counts: countsOf(usage, usageCommits, memoryMb),
  });
}

/** Clients that keep to the stream, at a fixed load, beside others in a closed loop. */
async function besideRow({ seed, plan }: Run, task: BesideCase): Promise<BesideRow> {
  const { consumer, perSecond, processes, loud, seconds } = task;
  const around = { seconds, warmUpSeconds: plan.warmUpSeconds };
  const { deployment, load } = await prepare({
    ...{ seed, consumer, processes, ...around },
    commit: "stream",
    arrival: { kind: "open", perSecond },
    body: readAndWrite({ items: 2, keys: spreadKeys }),
  });
  const { commit, clientsPerProcess } = loud;
  const others = new Load(deployment, {
    ...{ commit, processes: loud.processes, ...around },
    arrival: { kind: "closed", clientsPerProcess },
    body: readAndWrite({ items: 2, keys: spreadKeys }),
  });
  const [quiet, beside] = await deployment.run(() =>
    Promise.all([load.measure(), others.measure()]),
  );
  return {
    ...{ consumer, perSecond, processes, loud, latency: quiet.latency.percentiles },
    samples: quiet.latency.count,
    besidePerSecond: beside.committedPerSecond,
    besideExpressShare: beside.expressShare,
  };
}

async function inTurn<Task, Row>(
  tasks: readonly Task[],
  run: (task: Task) => Promise<Row>,
  done: (row: Row) => void,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const task of tasks) {
    const row = await run(task);
    rows.push(row);
    done(row);
  }
  return rows;
}

/** @param onRow called after each case, with the name of its part. */
export async function project(
  run: Run,
  onRow: (part: string, row: unknown) => void = () => undefined,
): Promise<ProjectionResult> {
  const { seed, plan } = run;
  const { oracle, replay } = functionSettings;
  const part =
    (name: string) =>
    (row: unknown): void => {
      onRow(name, row);
    };
  return {
    bench: "projection",
    seed,
    complete: plan.complete,
    assumptions: {
      ...{ callLatencies, deliveryLatencies, serviceLimits, processorFigures },
      ...{ pricesDollars, hoursPerMonth, functionSettings: { oracle, replay } },
    },
    commitLatency: await inTurn(
      plan.latency,
      (task) => latencyRow(run, task),
      part("commit latency"),
    ),
    transactWriteItems: nativeLatency(seed).percentiles,
    beside: await inTurn(plan.beside, (task) => besideRow(run, task), part("beside")),
    shardThroughput: await inTurn(
      plan.throughput,
      (task) => throughputRow(run, task),
      part("shard throughput"),
    ),
    processes: await inTurn(plan.processes, (task) => processRow(run, task), part("processes")),
    contention: await inTurn(
      plan.contention,
      (task) => contentionRow(run, task),
      part("contention"),
    ),
    mixed: await inTurn(plan.mixed, (task) => mixedRow(run, task), part("mixed")),
    hotRow: await inTurn(plan.hotRow, (task) => hotRowRow(run, task), part("hot row")),
    cost: await inTurn(plan.cost, (task) => costOf(run, task), part("cost")),
  };
}
