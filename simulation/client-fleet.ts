/**
 * The application processes of a run: each works through steps of the workload, one after another
 * or some at a time; one that dies is replaced. They stop beginning new steps once the planned
 * number has begun.
 */
import { CommitUnknownError, InvalidRequestError, TransactionError } from "../core/errors.ts";
import { HandlerSilentError } from "../engine/base/handler-silent.ts";
import type { Isolation, TransactionId } from "../core/types.ts";
import type { SeededRandom } from "../testing/kernel/seeded-random.ts";
import type { TestClientOptions } from "../testing/test-cloud-options.ts";
import type { TestCloud } from "../testing/test-cloud.ts";
import type { TestProcess } from "../testing/test-process.ts";
import type { Mood } from "./balance.ts";
import { Operator } from "./operator.ts";
import type { RestService } from "./rest-service.ts";
import type { SeedPlan } from "./seed-plan.ts";
import { WorkloadFinding, type StepContext, type Workload } from "./workloads/workload.ts";

export type FleetCounts = {
  begun: number;
  done: number;
  /** By the code of the error that ended a step. */
  readonly errors: Map<string, number>;
  crashed: number;
};

const replacedMsMin = 50;
const replacedMsMax = 3_000;
const pauseShareMin = 0.2;
/** While there are few conflicts, clients hurry and prefer the same items. */
const hurryFactor = 0.02;
const hotExponent = 3;
/** How much longer than the busy client's those are of who comes by now and then. */
const visitorPauses = 100;
/**
 * While there are few commits, each rests for so long, times the number of them all, and lingers
 * within its bodies only for a moment.
 */
const restMs = 500;
const briefMs = 5;
/** Pauses above this are not for lingering: a workload waits for something. */
const lingerMsMax = 1_000;
/** A run out of balance goes on, up to so many times the planned number of transactions; */
const longerFactor = 6;
/** and from here on without faults. */
const calmFactor = 3;

export class ClientFleet {
  readonly counts: FleetCounts = { begun: 0, done: 0, errors: new Map(), crashed: 0 };
  readonly findings: string[] = [];
  /** Ids of transactions whose outcome their client does not know. */
  readonly unknown: TransactionId[] = [];
  readonly #cloud: TestCloud;
  readonly #workload: Workload;
  readonly #plan: SeedPlan;
  readonly #random: SeededRandom;
  readonly #clientOptions: (process: string) => TestClientOptions;
  readonly #onCrash: (process: string) => void;
  readonly #rest: RestService;
  readonly #operator: Operator;
  readonly #mood: () => Mood;
  readonly #isNeeded: () => boolean;
  readonly #processes: { readonly name: string; readonly process: TestProcess }[] = [];
  #living = 0;
  #started = 0;

  constructor(parts: {
    readonly cloud: TestCloud;
    readonly workload: Workload;
    readonly plan: SeedPlan;
    readonly clientOptions: (process: string) => TestClientOptions;
    readonly onCrash: (process: string) => void;
    readonly rest: RestService;
    /** What the run needs just now. */
    readonly mood: () => Mood;
    /** Whether something is under way that is to happen while clients work. */
    readonly isNeeded: () => boolean;
  }) {
    this.#cloud = parts.cloud;
    this.#workload = parts.workload;
    this.#plan = parts.plan;
    this.#clientOptions = parts.clientOptions;
    this.#onCrash = parts.onCrash;
    this.#rest = parts.rest;
    this.#operator = new Operator(parts.cloud);
    this.#mood = parts.mood;
    this.#isNeeded = parts.isNeeded;
    this.#random = parts.cloud.world.random.fork("fleet");
  }

  start(): void {
    for (let i = 0; i < this.#plan.clients; i += 1) this.#startClient();
  }

  /** Whether no client will do anything more. */
  get isIdle(): boolean {
    return this.#living === 0;
  }

  /**
   * Closes every client whose process lives. An engine that is closed asserts that nobody holds or
   * waits for anything in it any more: a turn that got stuck shows here.
   */
  async close(): Promise<void> {
    const living = this.#processes.filter(({ process }) => process.state === "running");
    await Promise.all(
      living.map(async ({ name, process }) => {
        try {
          await process.client.close();
        } catch (error) {
          this.findings.push(`liveness: ${name} does not close: ${String(error)}`);
        }
      }),
    );
  }

  #startClient(): void {
    this.#started += 1;
    const nth = this.#started;
    const name = `client-${nth.toString()}`;
    const process = this.#cloud.startProcess(name, this.#clientOptions(name));
    const random = this.#random.fork(name);
    this.#processes.push({ name, process });
    this.#living += 1;
    // A process that is through with its steps may still crash, over installs that it has left
    // running.
    let isWorking = true;
    const ends = (): void => {
      if (isWorking) this.#living -= 1;
      isWorking = false;
    };
    process.onCrash(() => {
      ends();
      this.counts.crashed += 1;
      this.#onCrash(name);
      if (this.#isOver()) return;
      this.#cloud.world.time.after(random.between(replacedMsMin, replacedMsMax), () => {
        if (!this.#isOver()) this.#startClient();
      });
    });
    const lanes = Array.from({ length: this.#plan.lanes }, (_unused, lane) =>
      lane === 0
        ? this.#work(process, { name, nth }, random)
        : this.#work(
            process,
            { name: `${name}/${lane.toString()}`, nth },
            random.fork(`lane ${lane.toString()}`),
          ),
    );
    void Promise.all(lanes).then(ends);
  }

  #isOver(): boolean {
    const { transactions } = this.#plan;
    if (this.counts.begun < transactions) return false;
    if (this.counts.begun >= transactions * longerFactor) return true;
    return this.#mood() === "even" && !this.#isNeeded();
  }

  async #work(
    process: TestProcess,
    { name, nth }: { readonly name: string; readonly nth: number },
    random: SeededRandom,
  ): Promise<void> {
    const rest = this.#rest.callOf(name, (durationMs) => process.clock.sleep(durationMs));
    while (!this.#isOver()) {
      const mood = this.#mood();
      random.pickExponent = mood === "crowded" ? hotExponent : 1;
      await process.clock.sleep(random.between(pauseShareMin, 2) * this.#pauseMs(mood, nth));
      if (this.#isOver()) return;
      this.counts.begun += 1;
      if (this.counts.begun === this.#plan.transactions * calmFactor) this.#cloud.calm();
      // Most of the clients may be frozen for long, and the one that is left meets nobody.
      if (mood === "crowded" && this.counts.begun % this.#plan.transactions === 0) {
        this.#startClient();
      }
      const unique = `${name}/${this.counts.begun.toString()}`;
      await this.#step({
        client: process.client,
        random,
        isolation: this.#isolation(random),
        unique,
        pause: (durationMs) => process.clock.sleep(this.#lingerMs(durationMs)),
        suspend: async (durationMs) => {
          process.freeze(durationMs, "stand");
          await process.clock.sleep(briefMs);
        },
        nowMs: () => process.clock.nowMs(),
        rest,
        operator: this.#operator,
      });
    }
  }

  #pauseMs(mood: Mood, nth: number): number {
    const { pauseMs, clients, lanes, visits, closings } = this.#plan;
    if (visits && nth % clients !== 1) return pauseMs * visitorPauses;
    if (mood === "spread") return Math.max(pauseMs, restMs * clients * lanes);
    // The operators take their time, and the clients are to be there for as long.
    return mood === "crowded" && closings === 0 ? pauseMs * hurryFactor : pauseMs;
  }

  #lingerMs(durationMs: number): number {
    const isBrief = this.#mood() === "spread" && durationMs <= lingerMsMax;
    return isBrief ? Math.min(durationMs, briefMs) : durationMs;
  }

  async #step(context: StepContext): Promise<void> {
    try {
      await this.#workload.step(context);
      this.counts.done += 1;
    } catch (error) {
      if (error instanceof WorkloadFinding) {
        this.findings.push(`${context.unique}: ${error.message}`);
      } else if (error instanceof TransactionError) {
        this.counts.errors.set(error.code, (this.counts.errors.get(error.code) ?? 0) + 1);
        if (error instanceof CommitUnknownError) this.unknown.push(error.transactionId);
        const text = `${error.name}: ${error.message}`;
        if (this.#plan.closings > 0 && isDenied(error)) return;
        if (refusalCodes.has(error.code)) {
          this.findings.push(`${context.unique}: ${ownRequestRefused}: ${text}`);
        } else if (unexpectedCodes.has(error.code)) {
          this.findings.push(`${context.unique}: ${text}`);
        }
      } else if (error instanceof HandlerSilentError) {
        // Processes sleep for longer than their handlers may be silent.
        this.counts.errors.set(error.name, (this.counts.errors.get(error.name) ?? 0) + 1);
      } else {
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        this.findings.push(`${context.unique}: an error that is not of ours: ${text}`);
      }
    }
  }

  #isolation(random: SeededRandom): Isolation {
    const { isolation } = this.#plan;
    if (isolation !== "mixed") return isolation;
    return random.chance(0.5) ? "serializable" : "snapshot";
  }
}

/** Whom a fault denies to append has no way while there is no stream, and is told the remedy. */
function isDenied(error: TransactionError): boolean {
  return error instanceof InvalidRequestError && error.field === "commit";
}

/** In findings: a call of the workload itself was taken for one that nobody may make. */
export const ownRequestRefused = "its own request was refused";

/** Errors that no fault excuses: nothing asks for too much … */
const refusalCodes: ReadonlySet<string> = new Set(["invalid-request", "transaction-too-large"]);

/** … or holds what was never stored. */
const unexpectedCodes: ReadonlySet<string> = new Set(["corrupt-data", "idempotency-key-reused"]);
