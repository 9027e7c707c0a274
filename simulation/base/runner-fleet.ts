/**
 * Processes that go on with BASE transactions whose own ones have died, or whose handlers failed.
 * They die like clients, and are replaced. When clients are through, all that was accepted has to
 * come to its end.
 */
import { TransactionError, UnavailableError } from "../../core/errors.ts";
import type { Client } from "../../sdk/index.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { TestClientOptions } from "../../testing/test-cloud-options.ts";
import type { TestCloud } from "../../testing/test-cloud.ts";
import type { TestProcess } from "../../testing/test-process.ts";
import type { BasePart } from "../workloads/workload.ts";

export type RunnerParts = {
  readonly cloud: TestCloud;
  readonly part: BasePart;
  readonly clientOptions: (process: string) => TestClientOptions;
  readonly onCrash: (process: string) => void;
};

/** Two: so that what one is at the other takes for left. */
const runners = 2;
const takeOverMsMin = 500;
const takeOverMsMax = 5_000;
const pollMs = 1_500;
const replacedMsMin = 50;
const replacedMsMax = 3_000;
const lookMs = 1_000;

export class RunnerFleet {
  readonly findings: string[] = [];
  readonly #parts: RunnerParts;
  readonly #random: SeededRandom;
  readonly #stop = new AbortController();
  readonly #living = new Set<TestProcess>();
  #started = 0;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#random = parts.cloud.world.random.fork("runners");
  }

  start(): void {
    for (let i = 0; i < runners; i += 1) this.#startRunner();
  }

  /** None of them takes anything up any more. */
  stop(): void {
    this.#stop.abort();
  }

  get isIdle(): boolean {
    return this.#living.size === 0;
  }

  /**
   * Waits until nothing is open any more; what was parked is let go on.
   * @returns what is left when the time is up.
   */
  async untilReleased(watcher: Client, limitMs: number): Promise<readonly string[]> {
    const { cloud, part } = this.#parts;
    const { time } = cloud.world;
    const untilMs = time.nowMs + limitMs;
    const [definition] = part.handlers({
      random: this.#random,
      pause: (durationMs) => cloud.clock.sleep(durationMs),
    });
    for (;;) {
      const open = await openOf(watcher);
      // Runners are at them just now.
      if (open === undefined) continue;
      if (open.length === 0) return [];
      if (time.nowMs >= untilMs) return open.map(({ id, phase }) => `${id} is ${phase}`);
      for (const { name, id, phase } of open) {
        if (phase !== "parked" || definition === undefined) continue;
        await watcher.baseOf({ ...definition, name }, id).resume();
      }
      await time.sleep(lookMs);
    }
  }

  #startRunner(): void {
    const { cloud, clientOptions, onCrash } = this.#parts;
    this.#started += 1;
    const name = `runner-${this.#started.toString()}`;
    const random = this.#random.fork(name);
    const process = cloud.startProcess(name, clientOptions(name));
    this.#living.add(process);
    process.onCrash(() => {
      this.#living.delete(process);
      onCrash(name);
      if (this.#stop.signal.aborted) return;
      cloud.world.time.after(random.between(replacedMsMin, replacedMsMax), () => {
        if (!this.#stop.signal.aborted) this.#startRunner();
      });
    });
    void this.#run(process, { name, random }).then(() => this.#living.delete(process));
  }

  async #run(
    process: TestProcess,
    { name, random }: { readonly name: string; readonly random: SeededRandom },
  ): Promise<void> {
    const { part } = this.#parts;
    const pause = (durationMs: number): Promise<void> => process.clock.sleep(durationMs);
    const takeOverMs = Math.round(random.logarithmic(takeOverMsMin, takeOverMsMax));
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const handlers = part.handlers({ random, pause });
        await process.client.baseRunner({ handlers, takeOverMs, pollMs, signal });
      } catch (error) {
        if (!(error instanceof TransactionError)) {
          const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
          this.findings.push(`${name}: an error that is not of ours: ${text}`);
        }
        await pause(pollMs);
      }
    }
    await process.client.close();
  }
}

/** Undefined: not to be had for now. */
async function openOf(
  watcher: Client,
): Promise<Awaited<ReturnType<Client["openBases"]>> | undefined> {
  try {
    return await watcher.openBases();
  } catch (error) {
    if (error instanceof UnavailableError) return undefined;
    throw error;
  }
}
