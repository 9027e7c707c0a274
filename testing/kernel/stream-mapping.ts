/**
 * An event source mapping from one shard to a function in a simulated world. What Lambda decides
 * is testing/cloud/lambda/shard-delivery.ts; here are virtual time, and the faults that the
 * service's documentation admits: batches twice, cut, from an older checkpoint, to two instances
 * at once.
 */
import * as limits from "../../core/limits.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import { interpretBatchResponse, type BatchResult } from "../cloud/lambda/batch-response.ts";
import {
  doubledPauseMs,
  eventBytes,
  idleDelivery,
  stepDelivery,
  type DeliveryEffect,
  type DeliveryEvent,
} from "../cloud/lambda/shard-delivery.ts";
import type { Faults } from "./faults.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { SimulatedFunction } from "./simulated-function.ts";
import type { Trace } from "./trace.ts";
import type { VirtualTime } from "./virtual-time.ts";
import type { Weather } from "./weather.ts";

export type ShardBatch = { readonly shard: ShardId; readonly records: readonly StreamRecord[] };

/** Records that were not done, by the sequence number of the first. */
export type BatchAnswer = { readonly unfinishedFrom?: string | undefined };

export type MappingSettings = {
  readonly shard: ShardId;
  readonly batchSize: number;
  /** How long a batch that is not full waits for more. */
  readonly windowMs: number;
  readonly partialBatchResponse: boolean;
  /**
   * How long after a record's arrival the mapping has it: fan-out pushes, a standard consumer
   * polls.
   */
  readonly deliveryMs: { readonly min: number; readonly max: number };
};

export type MappingWorld = {
  readonly time: VirtualTime;
  readonly faults: Faults;
  readonly weather: Weather;
  readonly random: SeededRandom;
  readonly trace: Trace;
  readonly recordCount: () => number;
  readonly records: (start: number, end: number) => readonly StreamRecord[];
};

const retryMsMin = 100;
const retryMsMax = 10_000;
/** How far a consumer that restarts may fall back. */
const restartRecordsMax = 50;
const pausedLookMs = 250;

export class StreamMapping {
  readonly #settings: MappingSettings;
  readonly #function: SimulatedFunction<ShardBatch, BatchAnswer>;
  readonly #world: MappingWorld;
  /**
   * Records before this index are done. Records are never taken out, so an index is a checkpoint.
   */
  #checkpoint = 0;
  #delivery = idleDelivery;
  #paused = false;
  #stopped = false;
  #wake: (() => void) | undefined;
  readonly #name: string;

  constructor(
    settings: MappingSettings,
    fn: SimulatedFunction<ShardBatch, BatchAnswer>,
    world: MappingWorld,
  ) {
    this.#settings = settings;
    this.#function = fn;
    this.#world = world;
    this.#name = `${fn.name}-mapping`;
    world.weather.add("consumer-pause", this.#name);
  }

  /** Delivers nothing until `resume`. A batch under way goes on. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.wake();
  }

  /** The mapping is deleted: it delivers nothing more. What it has delivered goes on. */
  stop(): void {
    this.#stopped = true;
    this.wake();
  }

  /** Tells that the stream was written. */
  wake(): void {
    this.#wake?.();
  }

  /** Records that are not done yet. */
  get behind(): number {
    return this.#stopped ? 0 : this.#world.recordCount() - this.#checkpoint;
  }

  /** Resolves once it was stopped, and has its last answer. */
  async run(): Promise<void> {
    const { time, random, weather } = this.#world;
    const { min, max } = this.#settings.deliveryMs;
    while (!this.#hasStopped()) {
      if (this.#paused || weather.isActive("consumer-pause", this.#name)) {
        await time.sleep(pausedLookMs);
        continue;
      }
      if (this.behind === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      await time.sleep(random.between(min, max));
      await this.#deliver();
    }
  }

  /** `stop` may have been called during any await. */
  #hasStopped(): boolean {
    return this.#stopped;
  }

  #step(event: DeliveryEvent): readonly DeliveryEffect[] {
    const { batchSize, windowMs } = this.#settings;
    const settings = { batchSize, windowMs, eventBytesMax: limits.invocationPayloadBytesMax };
    const { state, effects } = stepDelivery(settings, this.#delivery, event);
    this.#delivery = state;
    return effects;
  }

  #look(): readonly DeliveryEffect[] {
    const { time, records } = this.#world;
    const end = Math.min(this.#world.recordCount(), this.#checkpoint + this.#settings.batchSize);
    const waitingBytes = records(this.#checkpoint, end).map(({ data }) => eventBytes(data.length));
    return this.#step({ kind: "look", nowMs: time.nowMs, waitingBytes, ended: false });
  }

  /** One batch, its window before it, until all of it is done. */
  async #deliver(): Promise<void> {
    const { time, random } = this.#world;
    for (let [effect] = this.#look(); effect !== undefined;) {
      if (this.#hasStopped()) return;
      if (effect.kind === "wait") {
        if (effect.untilMs === undefined) return;
        await time.sleep(effect.untilMs - time.nowMs);
      } else if (effect.kind === "invoke") {
        const failures = await this.#invokeAndStep();
        if (failures === 0) break;
        const pauseMs = doubledPauseMs({ minMs: retryMsMin, maxMs: retryMsMax }, failures);
        await time.sleep(random.between(0.5, 1) * pauseMs);
      }
      [effect] = this.#look();
    }
    this.#maybeFallBack();
  }

  /** How often the batch has failed; 0 when it is done. */
  async #invokeAndStep(): Promise<number> {
    const { faults } = this.#world;
    const whole = this.#delivery.batch;
    if (whole > 1 && faults.strikes("batch-cut", this.#name)) {
      this.#step({ kind: "cut", records: faults.of("batch-cut").integer(1, whole - 1) });
    }
    const result = await this.#invoke(this.#checkpoint, this.#checkpoint + this.#delivery.batch);
    let failures = 0;
    for (const effect of this.#step({ kind: "answered", result })) {
      if (effect.kind === "done") this.#checkpoint += effect.records;
      if (effect.kind === "retry") ({ failures } = effect);
    }
    return failures;
  }

  async #invoke(start: number, end: number): Promise<BatchResult> {
    const { time, faults, trace } = this.#world;
    const records = this.#world.records(start, end);
    const batch = { shard: this.#settings.shard, records };
    trace.note(time.nowMs, `${this.#name} delivers ${start.toString()} to ${end.toString()}`);
    const invocations = [this.#function.invoke(batch)];
    if (faults.strikes("consumer-overlap", this.#name)) {
      invocations.push(this.#function.invoke(batch));
    }
    // The service has one of the two in mind; what becomes of the other nobody asks.
    const kept = faults.of("consumer-overlap").integer(0, invocations.length - 1);
    const results = invocations.map((invocation) =>
      invocation.then(
        (answer) => answer,
        (error: unknown) => {
          trace.note(time.nowMs, `${this.#name} failed: ${String(error)}`);
          return undefined;
        },
      ),
    );
    const answer = await results[kept];
    if (answer === undefined) return { kind: "failed-from", index: 0 };
    if (!this.#settings.partialBatchResponse) return { kind: "done" };
    return interpretBatchResponse(responseOf(answer), records);
  }

  #maybeFallBack(): void {
    const { faults } = this.#world;
    let back = 0;
    if (faults.strikes("batch-redelivered", this.#name)) {
      back = faults.of("batch-redelivered").integer(1, 10);
    }
    if (faults.strikes("consumer-restart", this.#name)) {
      back = faults.of("consumer-restart").integer(1, restartRecordsMax);
    }
    if (back === 0) return;
    this.#step({ kind: "restarted" });
    this.#checkpoint = Math.max(0, this.#checkpoint - back);
  }
}

/** As the function's handler puts it for Lambda. */
export function responseOf({ unfinishedFrom }: BatchAnswer): unknown {
  const failures = unfinishedFrom === undefined ? [] : [{ itemIdentifier: unfinishedFrom }];
  return { batchItemFailures: failures };
}
