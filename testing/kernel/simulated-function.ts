/**
 * A function as Lambda runs it: instances that are started when none is idle, frozen between
 * invocations, killed at their time limit, and sometimes lost. A timed-out or abandoned invocation
 * may wake up minutes later and go on beside its successor, which is what the protocol must
 * survive.
 */
import type { Faults } from "./faults.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Trace } from "./trace.ts";
import type { VirtualTime } from "./virtual-time.ts";

export type InvocationContext = { readonly remainingMs: () => number };

export type Handler<Event, Answer> = (event: Event, context: InvocationContext) => Promise<Answer>;

export type FunctionDefinition<Event, Answer> = {
  readonly name: string;
  readonly timeLimitMs: number;
  /** Runs in a new instance: builds its ports and services. */
  readonly start: (process: SimulatedProcess) => Handler<Event, Answer>;
};

/** The invocation ended without an answer; it may have run fully, partly or not at all. */
export class InvocationFailedError extends Error {
  override readonly name = "InvocationFailedError";
}

type Instance<Event, Answer> = {
  readonly process: SimulatedProcess;
  readonly handler: Handler<Event, Answer>;
};

const coldStartMsMin = 150;
const coldStartMsMax = 1_500;
/** How long a stopped invocation sleeps before it wakes up beside its successor. */
const frozenMsMin = 1_000;
const frozenMsMax = 30 * 60_000;
/** The invocation runs for a while before it stops. */
const runsBeforeFrozenMsMax = 200;
/** When the service notices that an invocation will not answer. */
const noticedMsMax = 5_000;

export type FunctionWorld = {
  readonly time: VirtualTime;
  readonly faults: Faults;
  readonly random: SeededRandom;
  readonly trace: Trace;
  readonly startProcess: (name: string) => SimulatedProcess;
  /** Told what a handler threw: whoever invokes it tries again, and nobody else hears of it. */
  readonly threw?: (name: string, error: unknown) => void;
};

export class SimulatedFunction<Event, Answer> {
  readonly #definition: FunctionDefinition<Event, Answer>;
  readonly #world: FunctionWorld;
  readonly #idle: Instance<Event, Answer>[] = [];
  #started = 0;

  constructor(definition: FunctionDefinition<Event, Answer>, world: FunctionWorld) {
    this.#definition = definition;
    this.#world = world;
  }

  get name(): string {
    return this.#definition.name;
  }

  /**
   * Runs outside of every process: the caller is the service itself.
   * @throws InvocationFailedError for a crash or a timeout; what the handler throws.
   */
  async invoke(event: Event): Promise<Answer> {
    const { time, faults } = this.#world;
    const instance = await this.#instance();
    const { process, handler } = instance;
    const endsAtMs = time.nowMs + this.#definition.timeLimitMs;
    process.thaw();
    const answer = await new Promise<Answer>((resolve, reject) => {
      const context = { remainingMs: () => endsAtMs - time.nowMs };
      process.onCrash(() => {
        time.after(this.#world.random.between(1, noticedMsMax), () => {
          reject(new InvocationFailedError(`${process.name} exited`));
        });
      });
      const cancelLimit = time.after(this.#definition.timeLimitMs, () => {
        // What does not end in time is stopped. Some of it wakes up again.
        if (faults.isOn("frozen-invocation")) this.#freeze(process);
        else process.crash();
        reject(new InvocationFailedError(`${process.name} took too long`));
      });
      this.#maybeFreeze(process, () => {
        cancelLimit();
        reject(new InvocationFailedError(`${process.name} does not answer`));
      });
      process.deliver(() => {
        handler(event, context).then(
          (result) => {
            cancelLimit();
            resolve(result);
          },
          (error: unknown) => {
            cancelLimit();
            this.#world.threw?.(this.name, error);
            reject(error instanceof Error ? error : new Error(String(error)));
          },
        );
      });
    }).finally(() => {
      // Lambda freezes an instance that is not invoked, whatever still goes on in it.
      if (process.state === "running") {
        process.freeze();
        this.#idle.push(instance);
      }
    });
    return answer;
  }

  async #instance(): Promise<Instance<Event, Answer>> {
    const { time, faults, random } = this.#world;
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!faults.strikes("cold-start", this.name)) return idle;
      idle.process.crash();
    }
    await time.sleep(random.between(coldStartMsMin, coldStartMsMax));
    this.#started += 1;
    const process = this.#world.startProcess(`${this.name}.${this.#started.toString()}`);
    return { process, handler: this.#definition.start(process) };
  }

  #maybeFreeze(process: SimulatedProcess, abandoned: () => void): void {
    const { time, faults } = this.#world;
    if (!faults.strikes("frozen-invocation", process.name)) return;
    const random = faults.of("frozen-invocation");
    time.after(random.between(0, runsBeforeFrozenMsMax), () => {
      if (process.state !== "running") return;
      this.#freeze(process);
      abandoned();
    });
  }

  #freeze(process: SimulatedProcess): void {
    const random = this.#world.faults.of("frozen-invocation");
    process.freeze(random.logarithmic(frozenMsMin, frozenMsMax));
  }
}
