/**
 * What a workload has in hand once all is calm: new processes, dead ones, and time. Nothing else is
 * at work then, so what a chance meeting shows in one run of thousands can be brought about.
 */
import type { Client } from "../sdk/index.ts";
import type { TestCloud } from "../testing/test-cloud.ts";
import type { TestProcess } from "../testing/test-process.ts";
import type { TestClientOptions } from "../testing/test-cloud-options.ts";
import { Operator } from "./operator.ts";

export class CalmStage {
  readonly cloud: TestCloud;
  readonly operator: Operator;
  readonly #clientOptions: (name: string) => TestClientOptions;
  readonly #onCrash: (process: string) => void;

  constructor(parts: {
    readonly cloud: TestCloud;
    readonly clientOptions: (name: string) => TestClientOptions;
    readonly onCrash: (process: string) => void;
  }) {
    this.cloud = parts.cloud;
    this.operator = new Operator(parts.cloud);
    this.#clientOptions = parts.clientOptions;
    this.#onCrash = parts.onCrash;
  }

  /** The client of a new process, whose transactions are recorded. */
  client(name: string, { clockOffsetMs = 0 } = {}): Client {
    return this.#start(name, { clockOffsetMs }).client;
  }

  /** The same; the process dies as soon as it hears of a commit, before it installs it. */
  dying(name: string): Dying {
    let process: TestProcess | undefined = undefined;
    const started = this.#start(name, {
      onEvent: ({ kind }) => {
        if (kind === "certified") process?.crash();
      },
    });
    process = started;
    const died = new Promise<void>((resolve) => {
      started.onCrash(resolve);
    });
    return { client: started.client, died };
  }

  /** By the right time. */
  async sleepUntil(ms: number): Promise<void> {
    const restMs = ms - this.operator.nowMs;
    if (restMs > 0) await this.cloud.clock.sleep(restMs);
  }

  #start(name: string, options: TestClientOptions): TestProcess {
    const recorded = this.#clientOptions(name);
    const process = this.cloud.startProcess(name, {
      ...recorded,
      ...options,
      onEvent: (event) => {
        recorded.onEvent?.(event);
        options.onEvent?.(event);
      },
    });
    process.onCrash(() => {
      this.#onCrash(name);
    });
    return process;
  }
}

export type Dying = {
  readonly client: Client;
  /** A promise of a dead process never settles. */
  readonly died: Promise<void>;
};
