/**
 * Runs a plan: per workload, tables filled for every contestant, everybody warmed up, then the
 * repetitions with the contestants interleaved (A B C, A B C, …), so that whatever else the machine
 * does meets all of them; then one counted run each, and the workload's own conditions.
 */
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cost, noCost, subtract } from "../cost.ts";
import { scalarDbParticipant } from "../contestants/scalardb.ts";
import { processorMs, whileMeasuring } from "../process-time.ts";
import { makeWorkload } from "../workloads/catalogue.ts";
import type { GroupTask } from "./client-processes.ts";
import { type ContestantName, isTidemark } from "./contestant.ts";
import type { Loop } from "./drivers.ts";
import { clientParticipant, type Participant } from "./participants.ts";
import type { Plan, Scene } from "./plan.ts";
import {
  type BenchResults,
  type Check,
  type Costs,
  type MeasuredCell,
  resultsVersion,
  type SkippedCell,
} from "./results.ts";
import { setStage, type Stage } from "./stage.ts";
import { costsOf, type Repetition, summarized } from "./summarize.ts";

type Say = (line: string) => void;

type Cell = MeasuredCell | SkippedCell;

export async function runPlan(
  plan: Plan,
  { say, onCell }: { readonly say: Say; readonly onCell: (cell: Cell) => void },
): Promise<BenchResults> {
  const startedAt = new Date();
  const loadAverage = loadavg();
  const stage = await setStage(plan.place, say);
  const run = new PlanRun(plan, stage, say);
  try {
    const { minutesMax = Infinity } = plan;
    for (const scene of plan.scenes) {
      if (Date.now() - startedAt.getTime() > minutesMax * 60_000) {
        for (const cell of run.leftOut(scene)) onCell(cell);
        continue;
      }
      for await (const cell of run.scene(scene)) onCell(cell);
    }
    return {
      format: "tidemark-bench",
      version: resultsVersion,
      name: plan.name,
      startedAt: startedAt.toISOString(),
      minutes: (Date.now() - startedAt.getTime()) / 60_000,
      machine: { ...machine(), loadAverage },
      settings: settingsOf(plan),
      workloads: run.descriptions,
      cells: run.cells,
      checks: run.checks,
    };
  } finally {
    await run.end();
    await stage.stop();
  }
}

class PlanRun {
  readonly cells: Cell[] = [];
  readonly checks: Check[] = [];
  readonly descriptions: Record<string, string> = {};
  readonly #plan: Plan;
  readonly #stage: Stage;
  readonly #say: Say;
  readonly #participants = new Map<ContestantName, Participant>();

  constructor(plan: Plan, stage: Stage, say: Say) {
    this.#plan = plan;
    this.#stage = stage;
    this.#say = say;
  }

  async end(): Promise<void> {
    for (const participant of this.#participants.values()) await participant.stop();
  }

  leftOut({ workload, contestants }: Scene): readonly Cell[] {
    const reason = "the time was up";
    return contestants.map((contestant) =>
      this.#keep({ kind: "skipped", workload, contestant, reason }),
    );
  }

  async *scene(scene: Scene): AsyncGenerator<Cell> {
    const workload = await makeWorkload(scene.workload);
    this.descriptions[scene.workload] = workload.description;
    const participants: Participant[] = [];
    for (const contestant of scene.contestants) {
      const participant = this.#participant(contestant);
      const reason = await participant.refusal(workload);
      if (reason === undefined) participants.push(participant);
      else yield this.#keep({ kind: "skipped", workload: scene.workload, contestant, reason });
    }
    const warmest = Math.max(...scene.concurrencies);
    for (const participant of participants) {
      this.#say(`${scene.workload}: tables and warm-up of ${participant.name}`);
      await participant.fill(workload);
      await participant.warmUp({
        ...this.#task(scene.workload, warmest, 0),
        durationMs: this.#plan.warmUpSeconds * 1_000,
        loop: { kind: "closed" },
      });
      await this.#drained();
    }
    for (const concurrency of scene.concurrencies) {
      for (const cell of await this.#cellsAt(scene.workload, concurrency, participants)) {
        yield this.#keep(cell);
      }
    }
    for (const participant of participants) {
      const violations = await participant.check(workload);
      if (violations === undefined) continue;
      const { name: contestant } = participant;
      this.checks.push({ workload: scene.workload, contestant, violations: [...violations] });
    }
  }

  async #cellsAt(
    workload: string,
    concurrency: number,
    participants: readonly Participant[],
  ): Promise<readonly MeasuredCell[]> {
    const entries = participants.map((participant) => ({
      participant,
      repetitions: [] as Repetition[],
      drainMs: undefined as number | undefined,
    }));
    for (let repetition = 1; repetition <= this.#plan.repetitions; repetition += 1) {
      for (const entry of entries) {
        const task = this.#task(workload, concurrency, repetition);
        const { processes } = this.#stage;
        const { result: runs, spentMs } = await whileMeasuring(processes, () =>
          entry.participant.run(task),
        );
        entry.repetitions.push({ runs, spentMs });
        const drainMs = await this.#drained();
        if (isTidemark(entry.participant.name)) entry.drainMs = drainMs;
      }
    }
    const cells: MeasuredCell[] = [];
    for (const { participant, repetitions, drainMs } of entries) {
      const task = this.#task(workload, concurrency, 0);
      const costs = participant.alwaysCounts
        ? costsOf(repetitions.at(-1)?.runs ?? [], new Map())
        : this.#plan.countedOperations > 0
          ? await this.#counted(participant, task)
          : undefined;
      const ratePerSecond = this.#plan.ratePerSecond ?? null;
      const key = { workload, contestant: participant.name, concurrency, ratePerSecond };
      cells.push(summarized(key, repetitions, { drainMs, costs }));
    }
    return cells;
  }

  async #counted(participant: Participant, task: GroupTask): Promise<Costs | undefined> {
    const { functions } = this.#stage;
    functions?.count(true);
    const before = (await functions?.read()) ?? new Map<string, Cost>();
    const runs = await participant.run({
      ...task,
      loop: { kind: "closed" },
      countedEach: Math.ceil(this.#plan.countedOperations / task.concurrency),
    });
    await this.#drained();
    const after = (await functions?.read()) ?? new Map<string, Cost>();
    functions?.count(false);
    // Functions idle beside the other contestants, and what they look up then is no cost of theirs.
    const spent = isTidemark(participant.name)
      ? differences(before, after)
      : new Map<string, Cost>();
    const costs = costsOf(runs, spent);
    if (costs?.total.calls === 0) throw new Error("the meter has seen no call");
    return costs;
  }

  #task(workload: string, concurrency: number, repetition: number): GroupTask {
    const { ratePerSecond, seconds, seed } = this.#plan;
    const loop: Loop =
      ratePerSecond === undefined ? { kind: "closed" } : { kind: "open", ratePerSecond };
    const durationMs = seconds * 1_000;
    return {
      workload,
      loop,
      concurrency,
      durationMs,
      seed: seed + repetition,
      countedEach: undefined,
    };
  }

  /**
   * Waits until the functions beside the clients rest, and says how long that took. Undefined where
   * they are out of reach.
   */
  async #drained(): Promise<number | undefined> {
    const startMs = performance.now();
    const ids = Object.entries(this.#stage.processes).flatMap(([name, id]) =>
      name === "stores" ? [] : [id],
    );
    if (ids.length === 0) return undefined;
    const spent = (): number => ids.reduce((sum, id) => sum + (processorMs(id) ?? 0), 0);
    for (let before = spent(); performance.now() - startMs < drainMsMax;) {
      await sleep(restWindowMs);
      const now = spent();
      if (now - before <= restSpentMsMax) break;
      before = now;
    }
    return performance.now() - startMs;
  }

  #participant(name: ContestantName): Participant {
    let participant = this.#participants.get(name);
    if (participant === undefined) {
      participant =
        name === "scalardb"
          ? scalarDbParticipant(this.#stage, this.#say)
          : clientParticipant(this.#stage, name, this.#plan);
      this.#participants.set(name, participant);
    }
    return participant;
  }

  #keep(cell: Cell): Cell {
    this.cells.push(cell);
    return cell;
  }
}

const restWindowMs = 150;
/** In one window; two ticks of the kernel's clock, which an idle process may spend. */
const restSpentMsMax = 20;
const drainMsMax = 20_000;

function differences(
  before: ReadonlyMap<string, Cost>,
  after: ReadonlyMap<string, Cost>,
): ReadonlyMap<string, Cost> {
  return new Map(
    Array.from(after, ([role, cost]) => [role, subtract(cost, before.get(role) ?? noCost)]),
  );
}

function settingsOf(plan: Plan): BenchResults["settings"] {
  const { place, seconds, warmUpSeconds, repetitions, processes, seed } = plan;
  const store = place.kind === "local" ? place.store : "deployment";
  return { store, seconds, warmUpSeconds, repetitions, processes, seed };
}

function machine(): Omit<BenchResults["machine"], "loadAverage"> {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? "unknown",
    memoryGb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  };
}
