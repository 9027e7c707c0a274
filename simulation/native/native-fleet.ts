/**
 * Programs beside the clients that know the workload's mixed tables by plain calls, one step after
 * another. They keep pace with the clients, so that there is no time in which either is alone; one
 * that dies is replaced.
 */
import { keyOf } from "../../core/attributes.ts";
import { StoreError, TransactionError } from "../../core/errors.ts";
import { createClientEngine } from "../../engine/client-engine.ts";
import type { ClientEngine } from "../../engine/types.ts";
import { registeredTable } from "../../testing/deployment-options.ts";
import type { HistoryRecorder } from "../../testing/history/recorder.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import type { TestCloud } from "../../testing/test-cloud.ts";
import { WorkloadFinding } from "../workloads/workload-finding.ts";
import type { NativePart } from "../workloads/workload.ts";
import { NativeItems, type ClearFence } from "./native-items.ts";
import type { NativeKind } from "./native-write.ts";

type Parts = {
  readonly cloud: TestCloud;
  readonly part: NativePart;
  readonly recorder: HistoryRecorder;
  readonly processes: number;
  /** Steps of all of them, for each one that the clients have begun. */
  readonly share: number;
  readonly pauseMs: number;
  /** How far the clients are, and whether they go on. */
  readonly clients: { readonly begun: number; readonly isIdle: boolean };
};

const replacedMsMin = 50;
const replacedMsMax = 3_000;
const pauseShareMin = 0.2;
/** While the clients are behind: one of them may sleep for half an hour. */
const aheadMs = 50;
/** Of aware ones, those that leave fences to others. */
const waitsShare = 0.3;

export class NativeFleet {
  readonly findings: string[] = [];
  readonly #parts: Parts;
  readonly #random: SeededRandom;
  #started = 0;
  #living = 0;
  #steps = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#random = parts.cloud.world.random.fork("native fleet");
  }

  start(): void {
    const { kinds } = this.#parts.part;
    for (let i = 0; i < this.#parts.processes; i += 1) {
      const kind = kinds[i % kinds.length];
      if (kind !== undefined) this.#startProcess(kind);
    }
  }

  /** Whether none of them will do anything more. */
  get isIdle(): boolean {
    return this.#living === 0;
  }

  #startProcess(kind: NativeKind): void {
    const { cloud, recorder } = this.#parts;
    this.#started += 1;
    const name = `native-${this.#started.toString()}-${kind}`;
    const process = cloud.world.startProcess(name);
    const random = this.#random.fork(name);
    this.#living += 1;
    let isWorking = true;
    const ends = (): void => {
      if (isWorking) this.#living -= 1;
      isWorking = false;
    };
    process.onCrash(() => {
      ends();
      recorder.abandon(name);
      if (this.#isOver()) return;
      cloud.world.time.after(random.between(replacedMsMin, replacedMsMax), () => {
        if (!this.#isOver()) this.#startProcess(kind);
      });
    });
    void this.#work({ process, name, kind, random }).then(ends);
  }

  #isOver(): boolean {
    return this.#parts.clients.isIdle;
  }

  async #work(program: {
    readonly process: SimulatedProcess;
    readonly name: string;
    readonly kind: NativeKind;
    readonly random: SeededRandom;
  }): Promise<void> {
    const { process, name, kind, random } = program;
    const { cloud, part, recorder, pauseMs, share, clients } = this.#parts;
    const mayClear = kind === "aware" && !random.chance(waitsShare);
    // Of Tidemark's, in its own process.
    const engine = mayClear
      ? createClientEngine(cloud.deployment.clientPortsOf(process), { commit: "auto" })
      : undefined;
    const { dynamodb } = cloud.world.handles(process, { calm: false, callTries: 1 });
    const items = new NativeItems({
      ...{ process: name, kind, dynamodb, clock: process.clock, random: process.random, recorder },
      clearFence: engine && clearFenceBy(engine),
    });
    const pause = (durationMs: number): Promise<void> => process.clock.sleep(durationMs);
    while (!this.#isOver()) {
      await pause(random.between(pauseShareMin, 2) * pauseMs);
      if (this.#isOver()) return;
      if (this.#steps > clients.begun * share) {
        await pause(aheadMs);
        continue;
      }
      this.#steps += 1;
      const unique = `${name}/${this.#steps.toString()}`;
      try {
        await part.step({ items, random, unique, pause });
      } catch (error) {
        const text = error instanceof WorkloadFinding ? error.message : textOf(error);
        this.findings.push(`${unique}: ${text}`);
      }
    }
  }
}

/** As an aware program asks for it (native/). What fails has changed nothing: it calls again. */
function clearFenceBy(engine: ClientEngine): ClearFence {
  return async (table, stored) => {
    const key = keyOf(registeredTable(table), stored);
    try {
      await engine.native.clearFence({ table: table.name, key });
    } catch (error) {
      const isOfTrouble = error instanceof TransactionError && error.retryable;
      if (!isOfTrouble && !(error instanceof StoreError)) throw error;
    }
  };
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `an error that is not of a native call: ${text}`;
}
