/**
 * An event source mapping in steady state: records become available while the function is busy, and
 * the next invocation takes all that are there, in order, one batch at a time. (The kernel's
 * mapping is made for faults; there each batch waits for its delivery after the one before is done,
 * which would make a busy shard look slow. What makes a batch is the same for both.)
 */
import * as limits from "../../core/limits.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import {
  interpretBatchResponse,
  type BatchResult,
} from "../../testing/cloud/lambda/batch-response.ts";
import {
  eventBytes,
  idleDelivery,
  stepDelivery,
  type DeliveryEffect,
  type DeliveryEvent,
} from "../../testing/cloud/lambda/shard-delivery.ts";
import type { SimulatedFunction } from "../../testing/kernel/simulated-function.ts";
import {
  responseOf,
  type BatchAnswer,
  type ShardBatch,
} from "../../testing/kernel/stream-mapping.ts";
import type { Delivery } from "./delivery.ts";
import type { ProjectedWorld } from "./projected-world.ts";
import { processorFigures, serviceLimits } from "./published-figures.ts";
import type { Part } from "./usage-ledger.ts";

export type ProjectedMappingSettings = {
  readonly shard: ShardId;
  /** The Kinesis shard that its records come by. */
  readonly carrier: string;
  readonly part: Part;
  /** Whether it reads from the allowance that all readers without fan-out share. */
  readonly shares: boolean;
  readonly batchSize: number;
  /** How long a batch that is not full waits for more. */
  readonly windowMs: number;
  readonly partialBatchResponse: boolean;
  readonly delivery: Delivery;
  /** The shard's records from an index on. */
  readonly records: (start: number, end?: number) => readonly StreamRecord[];
  readonly recordCount: () => number;
};

const retryMs = 1_000;

export class ProjectedMapping {
  readonly #world: ProjectedWorld;
  readonly #settings: ProjectedMappingSettings;
  readonly #function: SimulatedFunction<ShardBatch, BatchAnswer>;
  /** When each record becomes available, by index. */
  readonly #availableMs: number[] = [];
  #checkpoint = 0;
  #delivery = idleDelivery;
  #wake: (() => void) | undefined;
  #resumed: Promise<void> | undefined;
  #resume: (() => void) | undefined;

  constructor(
    world: ProjectedWorld,
    fn: SimulatedFunction<ShardBatch, BatchAnswer>,
    settings: ProjectedMappingSettings,
  ) {
    this.#world = world;
    this.#function = fn;
    this.#settings = settings;
    world.onStreamWrite(() => {
      this.#noteArrivals();
    });
  }

  /** Records that are not done yet. */
  get behind(): number {
    return this.#settings.recordCount() - this.#checkpoint;
  }

  /** Nothing is delivered, but for what its function has already. */
  pause(): void {
    this.#resumed ??= new Promise((resolve) => (this.#resume = resolve));
  }

  resume(): void {
    this.#resume?.();
    this.#resumed = undefined;
  }

  #noteArrivals(): void {
    const { time, limitedKinesis } = this.#world;
    const { delivery, records, shares, carrier } = this.#settings;
    for (const { data } of records(this.#availableMs.length)) {
      const availableMs = delivery.availableAtMs(time.nowMs);
      const samePoll = availableMs === this.#availableMs.at(-1);
      const read = { calls: samePoll ? 0 : 1, bytes: data.length };
      if (shares) limitedKinesis.noteRead(carrier, read);
      this.#availableMs.push(availableMs);
    }
    this.#wake?.();
  }

  /** Never resolves: a mapping runs as long as the world. */
  async run(): Promise<never> {
    const { time } = this.#world;
    for (;;) {
      const firstMs = this.#availableMs[this.#checkpoint];
      if (firstMs === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      if (firstMs > time.nowMs) await time.sleep(firstMs - time.nowMs);
      await this.#resumed;
      // A window begins with its first record, also while the function is busy.
      this.#step({ kind: "announced", nowMs: firstMs });
      await this.#deliver();
      await time.sleep(processorFigures.betweenInvocationsMs);
    }
  }

  #step(event: DeliveryEvent): readonly DeliveryEffect[] {
    const { batchSize, windowMs } = this.#settings;
    const settings = {
      batchSize: Math.min(batchSize, serviceLimits.batchRecordsMax),
      windowMs,
      eventBytesMax: limits.invocationPayloadBytesMax,
    };
    const { state, effects } = stepDelivery(settings, this.#delivery, event);
    this.#delivery = state;
    return effects;
  }

  #look(): readonly DeliveryEffect[] {
    const { nowMs } = this.#world.time;
    let end = this.#checkpoint;
    const most = this.#checkpoint + this.#settings.batchSize;
    while (end < most && (this.#availableMs[end] ?? Infinity) <= nowMs) end += 1;
    const waitingBytes = this.#settings
      .records(this.#checkpoint, end)
      .map(({ data }) => eventBytes(data.length));
    return this.#step({ kind: "look", nowMs, waitingBytes, ended: false });
  }

  async #deliver(): Promise<void> {
    const { time } = this.#world;
    for (const effect of this.#look()) {
      if (effect.kind === "invoke") await this.#invoke(effect.records);
      if (effect.kind !== "wait" || effect.untilMs === undefined) continue;
      const fullMs = this.#availableMs[this.#checkpoint + this.#settings.batchSize - 1];
      await time.sleep(Math.max(0, Math.min(effect.untilMs, fullMs ?? Infinity) - time.nowMs));
    }
  }

  async #invoke(count: number): Promise<void> {
    const { time, ledger } = this.#world;
    const { shard, part, partialBatchResponse } = this.#settings;
    const records = this.#settings.records(this.#checkpoint, this.#checkpoint + count);
    const beganMs = time.nowMs;
    const answer = await this.#function.invoke({ shard, records }).catch(() => undefined);
    ledger.noteInvocation(part, time.nowMs - beganMs);
    let result: BatchResult = { kind: "failed-from", index: 0 };
    if (answer !== undefined) {
      result = partialBatchResponse
        ? interpretBatchResponse(responseOf(answer), records)
        : { kind: "done" };
    }
    for (const effect of this.#step({ kind: "answered", result })) {
      if (effect.kind === "done") this.#checkpoint += effect.records;
      if (effect.kind === "retry") await time.sleep(retryMs);
    }
  }
}
