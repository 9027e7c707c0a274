/**
 * A client process: one contestant, as an application's process would have it, running what the
 * benchmark asks for.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openContestant } from "../contestants/catalogue.ts";
import { type Cost, subtract } from "../cost.ts";
import { processMeter } from "../metering/process-meter.ts";
import { makeWorkload } from "../workloads/catalogue.ts";
import type { ClientAnswer, ClientRun, ClientSettings, ClientTask } from "./client-messages.ts";
import type { ContestantClient } from "./contestant.ts";
import { runLoad } from "./drivers.ts";
import { benchRandom } from "./random.ts";
import { Recorder, type Operated } from "./recorder.ts";
import type { Workload } from "./workload.ts";

type RunTask = Extract<ClientTask, { kind: "run" }>;

const workloads = new Map<string, Promise<Workload>>();
let contestant: ContestantClient | undefined;

/** One per process and workload: it may remember what its workers did before. */
function workloadOf(name: string): Promise<Workload> {
  let found = workloads.get(name);
  if (found === undefined) {
    found = makeWorkload(name);
    workloads.set(name, found);
  }
  return found;
}

async function operate(
  client: ContestantClient,
  operation: Operated["operation"],
): Promise<Operated> {
  try {
    return { operation, outcome: await client.run(operation) };
  } catch (error) {
    return { operation, error };
  }
}

async function run(client: ContestantClient, task: RunTask): Promise<ClientRun> {
  const workload = await workloadOf(task.workload);
  const randoms = Array.from({ length: task.workers }, (_, worker) =>
    benchRandom(task.seed, task.firstWorker + worker),
  );
  const recorder = new Recorder();
  const meter = processMeter();
  const before: Cost = { ...meter.cost };
  meter.count(task.countedEach !== undefined);
  const cpuStart = process.cpuUsage();
  const report = await runLoad<Operated>({
    loop: task.loop,
    workers: task.workers,
    durationMs: task.durationMs,
    operationsEach: task.countedEach,
    clock: { nowMs: () => performance.now(), sleep },
    operate: (worker) => {
      const random = randoms[worker] ?? benchRandom(task.seed, worker);
      return operate(client, workload.next(random, task.firstWorker + worker));
    },
    record: (operated, latencyMs) => {
      recorder.record(operated, latencyMs);
    },
  });
  const { user, system } = process.cpuUsage(cpuStart);
  meter.count(false);
  const cost = subtract(meter.cost, before);
  return { ...report, cpuMs: (user + system) / 1_000, recorded: recorder.result(), cost };
}

async function answer(task: ClientTask): Promise<ClientAnswer | undefined> {
  if (contestant === undefined) throw new Error("no settings yet");
  switch (task.kind) {
    case "run":
      return { kind: "ran", run: await run(contestant, task) };
    case "check": {
      const { violations } = await workloadOf(task.workload);
      const found = violations === undefined ? [] : await contestant.read(violations);
      return { kind: "checked", violations: found };
    }
    case "stop":
      await contestant.close();
      process.disconnect();
      return undefined;
  }
}

function tell(message: ClientAnswer): void {
  process.send?.(message);
}

process.on("message", (message) => {
  const work =
    contestant === undefined ? open(message as ClientSettings) : answer(message as ClientTask);
  work.then(
    (result) => {
      if (result !== undefined) tell(result);
    },
    (error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      tell({ kind: "failed", message: text });
    },
  );
});

async function open({ contestant: name, target }: ClientSettings): Promise<ClientAnswer> {
  contestant = await openContestant[name](target);
  return { kind: "ready" };
}

// Whoever started it is gone: nobody is left to work for.
process.on("disconnect", () => process.exit(0));
