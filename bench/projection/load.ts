/**
 * Load on a projected deployment, in virtual time: clients that each run one transaction after the
 * other (*closed*), or transactions that begin at random moments whether or not others have ended
 * (*open*: latency then counts from the moment at which a transaction was due, and no slow one
 * keeps others from being measured).
 */
import { type Client, CommitUnknownError, type Snapshot } from "../../sdk/index.ts";
import type { Receipt, Transaction } from "../../sdk/index.ts";
import type { Acknowledgement, CommitPreference, EngineEvent } from "../../engine/types.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { RolledBack } from "../harness/workload.ts";
import { LatencySamples } from "./latency-samples.ts";
import type { ProjectedDeployment } from "./projected-deployment.ts";
import type { PartUsage } from "./usage-ledger.ts";

/** @param process number of the process that it runs in, from 0. */
export type Body = (
  transaction: Transaction,
  random: SeededRandom,
  process: number,
) => Promise<void>;

/** One transaction, drawn before it first runs: its body does the same whenever it runs again. */
export type Task = {
  readonly readOnly: boolean;
  readonly body: (reads: Snapshot, transaction: Transaction | undefined) => Promise<void>;
  /** Called once, of what has written. */
  readonly committed?: (receipt: Receipt) => void;
};

export type DrawTask = (
  random: SeededRandom,
  who: { readonly process: number; readonly worker: number },
) => Task;

export type Arrival =
  | { readonly kind: "closed"; readonly clientsPerProcess: number }
  | { readonly kind: "open"; readonly perSecond: number };

export type LoadOptions = {
  /** Which way its clients commit. */
  readonly commit: CommitPreference;
  readonly processes: number;
  readonly arrival: Arrival;
  readonly body: Body;
  /** In place of `body`. A task that only reads is a snapshot. */
  readonly tasks?: DrawTask;
  /** When a transaction counts as done. Default: when it is installed. */
  readonly ack?: Acknowledgement;
  /** Told of what happens in each process. */
  readonly onEvent?: (event: EngineEvent, process: number) => void;
  /** Virtual seconds that pass before anything counts. */
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /**
   * Count consumption from a standstill to a standstill, the last commit replayed, instead of
   * within the measured time: replay lags behind, and what it does for the warm-up's commits
   * belongs to those. Default false.
   */
  readonly settle?: boolean;
};

export type LoadResult = {
  readonly seconds: number;
  readonly committed: number;
  /** Of these, snapshots. */
  readonly readOnly: number;
  /** Ended by what the workload itself asks for. */
  readonly rolledBack: number;
  readonly committedPerSecond: number;
  /**
   * Runs of a body that ended without a commit, found on the client's own tail or by the oracle.
   */
  readonly conflicts: { readonly early: number; readonly oracle: number };
  /** Aborted by a conflict, of all runs of a body. */
  readonly conflictShare: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly latency: LatencySamples;
  readonly phases: { readonly [Phase in PhaseName]: LatencySamples };
  readonly usage: PartUsage;
  /** How many commits `usage` is for. */
  readonly usageCommits: number;
  /** Of the commits, those by blocks of their own process. */
  readonly expressShare: number;
  /** At the end of the measured time. */
  readonly watermarkLagMs: number;
};

export type PhaseName = "body" | "certify" | "install";

const transactOptions = { attemptsMax: 1_000, deadlineMs: 60_000 } as const;

type Who = Parameters<DrawTask>[1];

class Tally {
  committed = 0;
  readOnly = 0;
  rolledBack = 0;
  early = 0;
  oracle = 0;
  express = 0;
  stream = 0;
  readonly failures: Record<string, number> = {};
  readonly latency = new LatencySamples();
  readonly phases = {
    body: new LatencySamples(),
    certify: new LatencySamples(),
    install: new LatencySamples(),
  };
}

export class Load {
  readonly #deployment: ProjectedDeployment;
  readonly #options: LoadOptions;
  readonly #random: SeededRandom;
  #tally = new Tally();
  #stopped = false;
  /** All commits, those before and after the measured time included. */
  totalCommitted = 0;
  /**
   * Of all that was ever begun: sent, and not heard of before the deadline. Each may have
   * committed.
   */
  totalUnknown = 0;

  constructor(deployment: ProjectedDeployment, options: LoadOptions) {
    this.#deployment = deployment;
    this.#options = options;
    this.#random = deployment.world.random.fork("load");
  }

  /** Runs the load, and lets what is under way end before it returns. */
  run(): Promise<LoadResult> {
    return this.#deployment.run(() => this.measure());
  }

  /** Beside others, within one run of the deployment. */
  async measure(): Promise<LoadResult> {
    const { warmUpSeconds, seconds, processes, commit, settle = false } = this.#options;
    const { world } = this.#deployment;
    const clients = Array.from({ length: processes }, (_, process) =>
      this.#deployment.startClient(commit, (event) => {
        this.#note(event);
        this.#options.onEvent?.(event, process);
      }),
    );
    if (settle) await this.#warmUp(clients);
    const before = this.totalCommitted;
    world.ledger.reset();
    const running = this.#start(clients);
    if (!settle) {
      await world.time.sleep(warmUpSeconds * 1_000);
      world.ledger.reset();
    }
    this.#tally = new Tally();
    await world.time.sleep(seconds * 1_000);
    const measured = this.#tally;
    const usage = world.ledger.snapshot();
    this.#stopped = true;
    this.#tally = new Tally();
    const watermarkLagMs = await this.#deployment.watermarkLagMs();
    await running;
    if (!settle) {
      return resultOf(measured, {
        ...{ seconds, usage, watermarkLagMs },
        usageCommits: measured.committed,
      });
    }
    await this.#deployment.settled();
    return resultOf(measured, {
      ...{ seconds, watermarkLagMs },
      usage: world.ledger.snapshot(),
      usageCommits: this.totalCommitted - before,
    });
  }

  /** Everything is started, and at rest again. */
  async #warmUp(clients: readonly Client[]): Promise<void> {
    const random = this.#random.fork("warm-up");
    await Promise.all(
      clients.map((client, process) => this.#transact(client, random, { process, worker: 0 })),
    );
    await this.#deployment.settled();
  }

  async #start(clients: readonly Client[]): Promise<void> {
    const { arrival } = this.#options;
    if (arrival.kind === "open") {
      await this.#runOpen(clients, arrival.perSecond);
      return;
    }
    const workers = clients.flatMap((client, process) =>
      Array.from({ length: arrival.clientsPerProcess }, (_, worker) => {
        const random = this.#random.fork(`worker ${process.toString()}/${worker.toString()}`);
        return this.#work(client, random, { process, worker });
      }),
    );
    await Promise.all(workers);
  }

  async #work(client: Client, random: SeededRandom, who: Who): Promise<void> {
    const { time } = this.#deployment.world;
    // Clients of a real service do not begin in the same microsecond.
    await time.sleep(random.between(0, 100));
    while (!this.#stopped) await this.#transact(client, random, who);
  }

  async #runOpen(clients: readonly Client[], perSecond: number): Promise<void> {
    const { time } = this.#deployment.world;
    const arrivals = this.#random.fork("arrivals");
    const underWay = new Set<Promise<void>>();
    while (!this.#stopped) {
      await time.sleep((-Math.log(1 - arrivals.next()) / perSecond) * 1_000);
      const [process, client] = arrivals.pick([...clients.entries()]);
      const one = this.#transact(client, arrivals, { process, worker: 0 }).finally(() =>
        underWay.delete(one),
      );
      underWay.add(one);
    }
    await Promise.all(underWay);
  }

  async #transact(client: Client, random: SeededRandom, who: Who): Promise<void> {
    const { time } = this.#deployment.world;
    const beganMs = time.nowMs;
    try {
      const receipt = await this.#once(client, random, who);
      this.totalCommitted += 1;
      const tally = this.#tally;
      tally.committed += 1;
      tally.latency.add(time.nowMs - beganMs);
      if (receipt === undefined) {
        tally.readOnly += 1;
        return;
      }
      tally.phases.body.add(receipt.phases.bodyMs);
      tally.phases.certify.add(receipt.phases.certifyMs);
      tally.phases.install.add(receipt.phases.installMs);
    } catch (error) {
      if (error instanceof RolledBack) {
        this.#tally.rolledBack += 1;
        return;
      }
      const name = error instanceof Error ? error.name : "unknown";
      if (error instanceof CommitUnknownError) this.totalUnknown += 1;
      this.#tally.failures[name] = (this.#tally.failures[name] ?? 0) + 1;
    }
  }

  async #once(client: Client, random: SeededRandom, who: Who): Promise<Receipt | undefined> {
    const { tasks, body, ack = "installed" } = this.#options;
    const task = tasks?.(random, who);
    if (task?.readOnly === true) {
      await client.snapshot(transactOptions, (reads) => task.body(reads, undefined));
      return undefined;
    }
    const { receipt } = await client.transact({ ...transactOptions, ack }, (transaction) =>
      task === undefined
        ? body(transaction, random, who.process)
        : task.body(transaction, transaction),
    );
    task?.committed?.(receipt);
    return receipt;
  }

  #note(event: EngineEvent): void {
    if (event.kind === "certified") this.#tally[event.via] += 1;
    if (event.kind !== "attempt-aborted" || event.reason !== "conflict") return;
    if (event.early) this.#tally.early += 1;
    else this.#tally.oracle += 1;
  }
}

function resultOf(
  tally: Tally,
  around: Pick<LoadResult, "seconds" | "usage" | "usageCommits" | "watermarkLagMs">,
): LoadResult {
  const { committed, early, oracle, failures, latency, phases, express, stream } = tally;
  const { readOnly, rolledBack } = tally;
  const conflicts = early + oracle;
  return {
    ...around,
    ...{ committed, readOnly, rolledBack },
    expressShare: express / Math.max(1, express + stream),
    committedPerSecond: committed / around.seconds,
    conflicts: { early, oracle },
    conflictShare: conflicts === 0 ? 0 : conflicts / (conflicts + committed),
    failures,
    latency,
    phases,
  };
}
