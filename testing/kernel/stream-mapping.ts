/**
 * An event source mapping from one shard to a function, as Lambda runs it: in order, at least once,
 * one batch at a time; a failed batch comes again until it succeeds, whole or from the reported
 * record on. Its faults are those that FACTS and the service's documentation admit: batches twice,
 * cut, from an older checkpoint, to two instances at once.
 */
import type { StreamRecord } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
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
  #paused = false;
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

  /** Tells that the stream was written. */
  wake(): void {
    this.#wake?.();
  }

  /** Records that are not done yet. */
  get behind(): number {
    return this.#world.recordCount() - this.#checkpoint;
  }

  /** Never resolves: a mapping runs as long as the world. */
  async run(): Promise<never> {
    const { time, random, weather } = this.#world;
    const { min, max } = this.#settings.deliveryMs;
    for (;;) {
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
      await time.sleep(random.between(min, max) + this.#settings.windowMs);
      await this.#deliver();
    }
  }

  async #deliver(): Promise<void> {
    const { time, faults, random } = this.#world;
    let end = Math.min(this.#world.recordCount(), this.#checkpoint + this.#settings.batchSize);
    for (let failures = 0; this.#checkpoint < end;) {
      if (end - this.#checkpoint > 1 && faults.strikes("batch-cut", this.#name)) {
        end = this.#checkpoint + faults.of("batch-cut").integer(1, end - this.#checkpoint - 1);
      }
      const done = await this.#invoke(this.#checkpoint, end);
      if (done > this.#checkpoint) failures = 0;
      else failures += 1;
      this.#checkpoint = done;
      if (done < end) {
        const capMs = Math.min(retryMsMax, retryMsMin * 2 ** failures);
        await time.sleep(random.between(0.5, 1) * capMs);
      }
    }
    this.#maybeFallBack(end);
  }

  /** The index from which on the batch is not done. */
  async #invoke(start: number, end: number): Promise<number> {
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
    if (answer === undefined) return start;
    if (answer.unfinishedFrom === undefined) return end;
    const from = records.findIndex((each) => each.sequenceNumber === answer.unfinishedFrom);
    return from < 0 ? start : start + from;
  }

  #maybeFallBack(end: number): void {
    const { faults } = this.#world;
    if (faults.strikes("batch-redelivered", this.#name)) {
      this.#checkpoint = Math.max(0, end - faults.of("batch-redelivered").integer(1, 10));
    }
    if (faults.strikes("consumer-restart", this.#name)) {
      const back = faults.of("consumer-restart").integer(1, restartRecordsMax);
      this.#checkpoint = Math.max(0, end - back);
    }
  }
}
