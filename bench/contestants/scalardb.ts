/**
 * ScalarDB as a participant: a Java program (bench/peers) that has the workloads in its own words,
 * run anew for every repetition. Its process warms up each time before it measures, longer than
 * ours, since it starts cold each time.
 *
 * Units: ScalarDB's meter gives what the store reports, and DynamoDB Local reports too little for
 * transactions of several items; two units per item of a TransactWriteItems is DynamoDB's least, so
 * the larger figure is taken.
 */
import * as hdr from "hdr-histogram-js";
import { type Cost, noCost } from "../cost.ts";
import type { ClientRun } from "../harness/client-messages.ts";
import type { GroupTask } from "../harness/client-processes.ts";
import type { Participant } from "../harness/participants.ts";
import { latencyHistogram, type Recorded } from "../harness/recorder.ts";
import type { Stage } from "../harness/stage.ts";
import { buildScalarDb, runScalarDb, ScalarDbUnavailable } from "../peers/scalardb.ts";
import type { ScalarDbOptions } from "../peers/scalardb-arguments.ts";
import type { ScalarDbRun } from "../peers/scalardb-result.ts";
import { tpccSmallScale } from "../workloads/tpcc/scale.ts";
import { retryLimits } from "./retry-limits.ts";

const warmUpSecondsMin = 5;

type Say = (line: string) => void;
type Told = Pick<ScalarDbOptions, "workload" | "ycsb" | "tpcc">;

/** The workload in the peer's words; undefined if it has none of that name. */
function scalarDbWorkload(name: string): Told | undefined {
  const ycsb = /^(ycsb-(?:[a-f]|ph1))(-uniform)?$/.exec(name);
  const workload = ycsb?.[1];
  if (workload !== undefined) {
    const skewed = workload === "ycsb-d" ? "latest" : "zipfian";
    return { workload, ycsb: { distribution: ycsb?.[2] === undefined ? skewed : "uniform" } };
  }
  if (name === "tpcc") return { workload: name, tpcc: tpccSmallScale };
  return /^(?:hot-row|u\d+|contention-\d+)$/.test(name) ? { workload: name } : undefined;
}

export function scalarDbParticipant(stage: Stage, say: Say): Participant {
  const { endpoints, region } = stage.target;
  const filled = new Set<string>();
  const shared = { endpoint: endpoints?.dynamodb ?? "", region, ...retryLimits };
  const violations = new Map<string, readonly string[]>();
  return {
    name: "scalardb",
    alwaysCounts: true,
    async refusal({ name }) {
      if (scalarDbWorkload(name) === undefined) return "the peer has no such workload";
      if (!stage.knowsTransactWriteItems) return "dynalite knows no TransactWriteItems";
      if (endpoints === undefined) return "on AWS the peer is to be run by itself (bench/peers)";
      try {
        await buildScalarDb(say);
        return undefined;
      } catch (error) {
        if (error instanceof ScalarDbUnavailable) return error.message;
        throw error;
      }
    },
    async fill({ name }) {
      const told = toldOf(name);
      const tables = JSON.stringify({
        ...told,
        workload: told.workload.replace(/^ycsb-.*/, "ycsb"),
      });
      if (filled.has(tables)) return;
      await runScalarDb({ ...shared, ...told, load: true, run: false }, say);
      filled.add(tables);
    },
    // Each run is a process of its own and warms itself up.
    warmUp: () => Promise.resolve(),
    async run(task) {
      const result = await runScalarDb(
        { ...shared, ...toldOf(task.workload), load: false, run: true, ...measuring(task) },
        say,
      );
      if (result.run === null) throw new Error("the ScalarDB peer has run nothing");
      violations.set(task.workload, result.run.violations);
      return [clientRunOf(result.run)];
    },
    check: ({ name }) => Promise.resolve(violations.get(name)),
    stop: () => Promise.resolve(),
  };
}

function toldOf(name: string): Told {
  const told = scalarDbWorkload(name);
  if (told === undefined) throw new RangeError(`the ScalarDB peer has no workload "${name}"`);
  return told;
}

function measuring({ concurrency, durationMs, loop, seed }: GroupTask): Partial<ScalarDbOptions> {
  const seconds = durationMs / 1_000;
  const rate = loop.kind === "open" ? { rate: loop.ratePerSecond } : {};
  return {
    concurrency,
    seconds,
    warmUpSeconds: Math.max(warmUpSecondsMin, seconds),
    seed,
    ...rate,
  };
}

function clientRunOf(run: ScalarDbRun): ClientRun {
  const operations = Object.entries(run.operations).map(([name, counts]) => {
    const { committed, rolledBack, attempts, firstAttempts } = counts;
    const latencies = counts.latencyMs?.histogram ?? nothingRecorded();
    const readOnly = readOnlyOperations.has(name);
    const failed = counts.failures + counts.unknown;
    return [name, { readOnly, committed, rolledBack, failed, attempts, firstAttempts, latencies }];
  });
  return {
    elapsedMs: run.seconds * 1_000,
    cpuMs: run.processorSeconds * 1_000,
    unstarted: run.unstarted,
    recorded: {
      operations: Object.fromEntries(operations) as Recorded["operations"],
      failures: run.errors,
      phases: { count: 0, retryMs: 0, bodyMs: 0, certifyMs: 0, installMs: 0 },
    },
    cost: costOf(run),
  };
}

const readOnlyOperations = new Set(["read", "scan", "order-status", "stock-level"]);

function nothingRecorded(): string {
  return hdr.encodeIntoCompressedBase64(latencyHistogram());
}

function costOf({ store }: ScalarDbRun): Cost {
  const { calls } = store;
  const all = Object.values(calls).reduce((sum, count) => sum + count, 0);
  const single = ["PutItem", "UpdateItem", "DeleteItem"].reduce(
    (sum, name) => sum + (calls[name] ?? 0),
    0,
  );
  const byRule = single + 2 * store.transactItems;
  return {
    ...noCost,
    calls: all,
    readUnits: store.readUnits,
    writeUnits: Math.max(store.writeUnits, byRule),
  };
}
