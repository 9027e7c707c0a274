/**
 * Operators who change the deployment while clients are at work, step by step. What is done is
 * remembered, like Terraform's state; whoever does it may die at any call, or between two steps,
 * and then another one goes on.
 */
import { StoreError } from "../core/errors.ts";
import { timeLimitMs } from "../functions/shared/settings.ts";
import type { SeededRandom } from "../testing/kernel/seeded-random.ts";
import type { SimulatedProcess } from "../testing/kernel/simulated-process.ts";
import type { TestCloud } from "../testing/test-cloud.ts";

export type OperatorStep = {
  readonly name: string;
  /** Repeatable: whoever dies in it may have done all of it, or nothing. */
  readonly act: (operator: SimulatedProcess) => Promise<void>;
  /** Two may be at it side by side, and the slower one comes by whenever it likes. */
  readonly byTwo?: true;
};

/** How one operator's try at a step ended. */
type End = "done" | "failed" | "dead";

/** Between two steps, and before a try is repeated. */
const pauseMs = { min: 1, max: 3_000 };
const crashShare = 0.1;
const twoShare = 0.25;

export class Operators {
  readonly findings: string[] = [];
  readonly #cloud: TestCloud;
  readonly #name: string;
  readonly #random: SeededRandom;
  readonly #steps: readonly OperatorStep[];
  readonly #isNotYet: (error: unknown) => boolean;
  #done = 0;
  #operators = 0;

  constructor(
    cloud: TestCloud,
    work: {
      /** Of each of them. */
      readonly name: string;
      readonly random: SeededRandom;
      readonly steps: readonly OperatorStep[];
      /** Whether a refusal means that the step is to be tried later. */
      readonly isNotYet: (error: unknown) => boolean;
    },
  ) {
    this.#cloud = cloud;
    this.#name = work.name;
    this.#random = work.random;
    this.#steps = work.steps;
    this.#isNotYet = work.isNotYet;
  }

  /** Begins with the first step; the last one may come long after. */
  start(): void {
    void this.#work();
  }

  get isDone(): boolean {
    return this.#done === this.#steps.length;
  }

  /** What is left to do, for who has waited in vain. */
  get next(): string {
    return this.#steps[this.#done]?.name ?? "nothing";
  }

  async #work(): Promise<void> {
    const random = this.#random;
    let operator: SimulatedProcess | undefined;
    for (const step of this.#steps) {
      for (;;) {
        if (operator?.state !== "running" || random.chance(crashShare)) {
          operator?.crash();
          operator = this.#startOperator();
        }
        const isByTwo = step.byTwo === true && random.chance(twoShare);
        const another = isByTwo ? this.#try(step, this.#startOperator()) : undefined;
        const own = this.#try(step, operator);
        const ends = another === undefined ? [own] : [own, another];
        if (await anyDone(ends)) break;
        await this.#pause();
      }
      this.#done += 1;
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    await this.#cloud.world.time.sleep(this.#random.logarithmic(pauseMs.min, pauseMs.max));
  }

  /** As `provision`, which is a function: what takes too long is ended, frozen or not. */
  #try({ name, act }: OperatorStep, operator: SimulatedProcess): Promise<End> {
    const { time, trace } = this.#cloud.world;
    trace.note(time.nowMs, `${operator.name}: ${name}`);
    return new Promise((resolve) => {
      const cancelLimit = time.after(timeLimitMs("provision"), () => {
        operator.crash();
      });
      let isOver = false;
      const ended = (end: End): void => {
        if (isOver) return;
        isOver = true;
        cancelLimit();
        trace.note(time.nowMs, `${operator.name}: ${name}: ${end}`);
        resolve(end);
      };
      operator.onCrash(() => {
        ended("dead");
      });
      operator.deliver(() => {
        act(operator).then(
          () => {
            ended("done");
          },
          (error: unknown) => {
            if (!(error instanceof StoreError) && !this.#isNotYet(error)) {
              this.findings.push(`an error in an operator: ${name}: ${String(error)}`);
            }
            ended("failed");
          },
        );
      });
    });
  }

  #startOperator(): SimulatedProcess {
    this.#operators += 1;
    const name = `${this.#name} ${this.#operators.toString()}`;
    return this.#cloud.world.startProcess(name, { isAws: true });
  }
}

/** Whether one of them has done it; as soon as one has, or all have ended. */
async function anyDone(tries: readonly Promise<End>[]): Promise<boolean> {
  const done = tries.map(async (each) => {
    if ((await each) !== "done") throw new Error("not done");
    return true;
  });
  return Promise.any(done).catch(() => false);
}
