/**
 * An event source mapping in steady state: records become available while the function is busy, and
 * the next invocation takes all that are there, in order, one batch at a time. (The kernel's
 * mapping is made for faults; there each batch waits for its delivery after the one before is done,
 * which would make a busy shard look slow.)
 */
import type { StreamRecord } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import type { SimulatedFunction } from "../../testing/kernel/simulated-function.ts";
import type { BatchAnswer, ShardBatch } from "../../testing/kernel/stream-mapping.ts";
import type { Delivery } from "./delivery.ts";
import type { ProjectedWorld } from "./projected-world.ts";
import { processorFigures, serviceLimits } from "./published-figures.ts";
import type { Part } from "./usage-ledger.ts";

export type ProjectedMappingSettings = {
  readonly shard: ShardId;
  readonly part: Part;
  /** Whether it reads from the allowance that all readers without fan-out share. */
  readonly shares: boolean;
  readonly batchSize: number;
  /** How long a batch that is not full waits for more. */
  readonly windowMs: number;
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
  #wake: (() => void) | undefined;

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

  #noteArrivals(): void {
    const { time, limitedKinesis } = this.#world;
    const { delivery, records, shares } = this.#settings;
    for (const { data } of records(this.#availableMs.length)) {
      const availableMs = delivery.availableAtMs(time.nowMs);
      const samePoll = availableMs === this.#availableMs.at(-1);
      if (shares) limitedKinesis.noteRead({ calls: samePoll ? 0 : 1, bytes: data.length });
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
      await this.#waitWindow(firstMs);
      await this.#deliver();
      await time.sleep(processorFigures.betweenInvocationsMs);
    }
  }

  async #waitWindow(firstMs: number): Promise<void> {
    const { time } = this.#world;
    const { windowMs, batchSize } = this.#settings;
    const full = this.#availableMs[this.#checkpoint + batchSize - 1];
    const untilMs = Math.min(firstMs + windowMs, full ?? Number.POSITIVE_INFINITY);
    if (windowMs > 0 && untilMs > time.nowMs) await time.sleep(untilMs - time.nowMs);
  }

  async #deliver(): Promise<void> {
    const { time, ledger } = this.#world;
    const records = this.#nextBatch();
    const beganMs = time.nowMs;
    const answer = await this.#function
      .invoke({ shard: this.#settings.shard, records })
      .catch(() => undefined);
    ledger.noteInvocation(this.#settings.part, time.nowMs - beganMs);
    if (answer === undefined) {
      await time.sleep(retryMs);
      return;
    }
    const from = records.findIndex((each) => each.sequenceNumber === answer.unfinishedFrom);
    this.#checkpoint += from < 0 ? records.length : from;
    if (from === 0) await time.sleep(retryMs);
  }

  #nextBatch(): readonly StreamRecord[] {
    const { nowMs } = this.#world.time;
    const { batchSize } = this.#settings;
    const most = Math.min(batchSize, serviceLimits.batchRecordsMax);
    let end = this.#checkpoint;
    while (end - this.#checkpoint < most && (this.#availableMs[end] ?? Infinity) <= nowMs) end += 1;
    const batch: StreamRecord[] = [];
    let bytes = 0;
    for (const record of this.#settings.records(this.#checkpoint, end)) {
      bytes += record.data.length;
      if (batch.length > 0 && bytes > serviceLimits.batchBytesMax) break;
      batch.push(record);
    }
    return batch;
  }
}
