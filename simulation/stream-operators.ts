/**
 * Operators who take the stream away and bring it back while clients are at work, as Terraform and
 * `provision` do it (docs/operations.md, Taking the stream away). What is done is remembered, like
 * Terraform's state; whoever does it may die at any call, or between two steps, and then another
 * one goes on. The stream itself and its functions come and go at once: they are the cloud's.
 */
import { addShardsOfTables, leaveStream, useStream } from "../aws/stream-wish.ts";
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import { timeLimitMs } from "../functions/shared/settings.ts";
import type { SeededRandom } from "../testing/kernel/seeded-random.ts";
import type { SimulatedProcess } from "../testing/kernel/simulated-process.ts";
import type { TestCloud } from "../testing/test-cloud.ts";

type Step = {
  readonly name: string;
  /** Repeatable: whoever dies in it may have done all of it, or nothing. */
  readonly act: (operator: SimulatedProcess) => Promise<void>;
  /** Two may be at it side by side, and the slower one comes by whenever it likes. */
  readonly byTwo?: true;
};

/** How one operator's try at a step ended. */
type End = "done" | "failed" | "dead";

/** Before a closing, and for how long there is no stream. */
const restMs = { min: 300, max: 15_000 };
/** Between two steps, and before a try is repeated. */
const pauseMs = { min: 1, max: 3_000 };
/** `provision` waits for so long until the stream is drained; then it is called again. */
const drainMs = { min: 1, max: 120_000 };
const crashShare = 0.1;
const twoShare = 0.25;
/** Of closings: the same stream is opened again, drained or not. */
const reopenedShare = 0.4;
/** Of runs that end with a closing: nobody opens a stream after it. */
const endsWithoutShare = 0.5;

export class StreamOperators {
  readonly findings: string[] = [];
  readonly #cloud: TestCloud;
  readonly #random: SeededRandom;
  readonly #steps: readonly Step[];
  #done = 0;
  #operators = 0;

  /** @param closings how often the stream is closed; where there is none, one comes first. */
  constructor(cloud: TestCloud, closings: number) {
    this.#cloud = cloud;
    this.#random = cloud.world.random.fork("stream operators");
    this.#steps = closings === 0 ? [] : this.#planned(closings);
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

  #planned(closings: number): readonly Step[] {
    const random = this.#random;
    const steps: Step[] = this.#cloud.deployment.hasStream ? [] : this.#bringing();
    for (let n = 1; n <= closings; n += 1) {
      steps.push(this.#resting(restMs));
      if (random.chance(reopenedShare)) steps.push(this.#closing(), this.#opening());
      else {
        steps.push(...this.#takingAway());
        if (n < closings || !random.chance(endsWithoutShare)) {
          steps.push(this.#resting(restMs), ...this.#bringing());
        }
      }
    }
    return steps;
  }

  #resting({ min, max }: typeof restMs): Step {
    const durationMs = this.#random.logarithmic(min, max);
    return { name: "rest", act: ({ clock }) => clock.sleep(durationMs) };
  }

  /** By its end the stream is closed, and perhaps not drained. */
  #closing(): Step {
    const act: Step["act"] = async (operator) => {
      const { deployment } = this.#cloud;
      await leaveStream(deployment.portsOf(operator), 0).catch((error: unknown) => {
        if (!isNotYet(error)) throw error;
      });
    };
    return { name: "close", act, byTwo: true };
  }

  #opening(): Step {
    const act: Step["act"] = async (operator) => {
      const { deployment, world } = this.#cloud;
      const { kinesis } = world.handles(operator, { calm: false });
      await useStream(deployment.portsOf(operator), { kinesis, stream: deployment.stream });
    };
    return { name: "open", act };
  }

  #takingAway(): readonly Step[] {
    const { deployment } = this.#cloud;
    const waitMs = this.#random.logarithmic(drainMs.min, drainMs.max);
    return [
      {
        name: "close and drain",
        act: (operator) => leaveStream(deployment.portsOf(operator), waitMs),
        byTwo: true,
      },
      atOnce("take the functions away", () => {
        deployment.detachFunctions();
      }),
      atOnce("take the stream away", () => {
        deployment.deleteStream();
      }),
      {
        name: "look that it is not in use",
        act: (operator) => addShardsOfTables(deployment.portsOf(operator), undefined),
      },
    ];
  }

  /** Clients use it from when it is opened, whether its functions are there already or not. */
  #bringing(): Step[] {
    const { deployment } = this.#cloud;
    const make = atOnce("make a stream", () => {
      deployment.makeStream();
    });
    const attach = atOnce("deploy the functions", () => {
      deployment.attachFunctions();
    });
    const open = this.#opening();
    return this.#random.chance(0.5) ? [make, attach, open] : [make, open, attach];
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

  /** `provision` is a function: what takes too long is ended, frozen or not. */
  #try({ name, act }: Step, operator: SimulatedProcess): Promise<End> {
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
            if (!(error instanceof StoreError) && !isNotYet(error)) {
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
    const name = `stream operator ${this.#operators.toString()}`;
    return this.#cloud.world.startProcess(name, { isAws: true });
  }
}

function atOnce(name: string, act: () => void): Step {
  return {
    name,
    act: () => {
      act();
      return Promise.resolve();
    },
  };
}

/** The stream is in use still, or not drained yet. */
function isNotYet(error: unknown): boolean {
  return error instanceof InvalidRequestError && error.field === "stream";
}

/** Whether one of them has done it; as soon as one has, or all have ended. */
async function anyDone(tries: readonly Promise<End>[]): Promise<boolean> {
  const done = tries.map(async (each) => {
    if ((await each) !== "done") throw new Error("not done");
    return true;
  });
  return Promise.any(done).catch(() => false);
}
