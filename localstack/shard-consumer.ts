/**
 * Delivers one shard's records to a function, as Lambda's poller does: reads them, invokes, and
 * saves checkpoints. What makes a batch and what comes again is decided by
 * testing/cloud/lambda/shard-delivery.ts, as in the simulator. A checkpoint is saved after the
 * function has returned, so a crash in between delivers the batch again: at least once, never at
 * most once.
 */
import type { KinesisStreamEvent } from "aws-lambda";
import * as limits from "../core/limits.ts";
import type { Clock } from "../core/ports.ts";
import {
  interpretBatchResponse,
  type BatchResult,
} from "../testing/cloud/lambda/batch-response.ts";
import {
  doubledPauseMs,
  idleDelivery,
  stepDelivery,
  type DeliveryEffect,
  type DeliveryEvent,
} from "../testing/cloud/lambda/shard-delivery.ts";
import {
  eventRecordBytes,
  kinesisEvent,
  type EventOrigin,
  type ShardRecord,
} from "./kinesis-event.ts";

/** How far a shard has been processed. */
export type Checkpoint =
  | { readonly kind: "after"; readonly sequenceNumber: string }
  /** The shard was split or merged away, and its last record is done. */
  | { readonly kind: "shard-end" };

export type ShardDescription = { readonly shardId: string; readonly parents: readonly string[] };

export type ReadResult =
  | {
      readonly kind: "records";
      readonly records: readonly ShardRecord[];
      /** Undefined at the end of a closed shard. */
      readonly next: string | undefined;
      /** The shard held nothing beyond these records when it was read. */
      readonly caughtUp: boolean;
    }
  /** The iterator is too old; a new one goes on from the same place. */
  | { readonly kind: "expired" };

/** The part of Kinesis that a mapping reads. Methods throw when the service does not answer. */
export type StreamReader = {
  shards(): Promise<readonly ShardDescription[]>;
  /** An iterator behind the given record, or at the oldest record kept. */
  iterator(shardId: string, after: string | undefined): Promise<string>;
  read(iterator: string, recordsMax: number): Promise<ReadResult>;
};

export type MappingOptions = {
  readonly origin: EventOrigin;
  /** Records per invocation, at most. */
  readonly batchSize: number;
  /** How long to gather records for a batch that is not full; 0 delivers whatever is there. */
  readonly windowMs: number;
  /** `ReportBatchItemFailures`. */
  readonly partialBatchResponse: boolean;
  /** An invocation that takes longer counts as failed, though it may go on running. */
  readonly invocationMsMax: number;
  /** Size of an event's JSON. Lambda's limit by default. */
  readonly payloadBytesMax?: number;
  /**
   * Pause after a read that reached the shard's end; doubles up to `pollMsMax` while it stays
   * silent.
   */
  readonly pollMsMin: number;
  readonly pollMsMax: number;
  /** Pause before a failed batch or read is tried again; doubles up to `retryMsMax`. */
  readonly retryMsMin: number;
  readonly retryMsMax: number;
};

/** What a mapping tells its host, for logs. */
export type MappingReport =
  | {
      readonly kind: "batch-failed";
      readonly shardId: string;
      readonly failures: number;
      readonly records: number;
      /** First record that is delivered again. */
      readonly from: string;
      readonly cause: unknown;
    }
  | {
      readonly kind: "read-failed";
      readonly shardId: string | undefined;
      readonly failures: number;
      readonly cause: unknown;
    };

export type MappingDependencies = {
  readonly clock: Clock;
  readonly reader: StreamReader;
  readonly invoke: (event: KinesisStreamEvent) => Promise<unknown>;
  readonly loadCheckpoint: (shardId: string) => Checkpoint | undefined;
  readonly saveCheckpoint: (shardId: string, checkpoint: Checkpoint) => void;
  readonly report: (report: MappingReport) => void;
};

/** A window is looked at in slices no shorter than this, for a batch that has become full. */
const windowSliceMsMin = 50;
/** Above this a read asks for fewer records next time, below an eighth of it for more. */
const readBytesTarget = 8 * 1024 * 1024;

export class ShardConsumer {
  readonly #shardId: string;
  readonly #options: MappingOptions;
  readonly #dependencies: MappingDependencies;
  #delivery = idleDelivery;
  /** Records read and not yet done, in order. */
  #buffer: ShardRecord[] = [];
  #iterator: string | undefined;
  /** Newest record ever read, delivered or not: where a new iterator goes on. */
  #lastRead: string | undefined;
  #ended = false;
  #recordsPerRead: number;
  /** Reads since the last one that left records behind in the shard. */
  #readsAtEnd = 0;
  #readFailures = 0;
  #wakePending = false;
  #stopping = false;
  #pause: { readonly controller: AbortController; readonly wakeable: boolean } | undefined;

  constructor(shardId: string, options: MappingOptions, dependencies: MappingDependencies) {
    this.#shardId = shardId;
    this.#options = options;
    this.#dependencies = dependencies;
    this.#recordsPerRead = options.batchSize;
    const checkpoint = dependencies.loadCheckpoint(shardId);
    this.#lastRead = checkpoint?.kind === "after" ? checkpoint.sequenceNumber : undefined;
  }

  /**
   * Resolves when the shard has ended, or after `stop` when the invocation under way is finished.
   */
  async run(): Promise<void> {
    while (!this.#isStopping()) {
      const nowMs = this.#dependencies.clock.monotonicMs();
      const waitingBytes = this.#waitingBytes();
      const look = this.#step({ kind: "look", nowMs, waitingBytes, ended: this.#ended });
      for (const effect of look) {
        if (effect.kind === "invoke") await this.#deliver(effect.records);
        if (effect.kind === "wait") await this.#waitAndRead(effect.untilMs);
        if (effect.kind === "shard-end") {
          this.#dependencies.saveCheckpoint(this.#shardId, { kind: "shard-end" });
          return;
        }
      }
    }
  }

  /** Something was written: read at once instead of after the pause. */
  wake(): void {
    this.#wakePending = true;
    if (this.#pause?.wakeable === true) this.#pause.controller.abort();
  }

  stop(): void {
    this.#stopping = true;
    this.#pause?.controller.abort();
  }

  /** A call, since `stop` may have come during any await. */
  #isStopping(): boolean {
    return this.#stopping;
  }

  #step(event: DeliveryEvent): readonly DeliveryEffect[] {
    const {
      batchSize,
      windowMs,
      payloadBytesMax = limits.invocationPayloadBytesMax,
    } = this.#options;
    const settings = { batchSize, windowMs, eventBytesMax: payloadBytesMax };
    const { state, effects } = stepDelivery(settings, this.#delivery, event);
    this.#delivery = state;
    return effects;
  }

  *#waitingBytes(): Generator<number> {
    for (const record of this.#buffer) yield eventRecordBytes(this.#options.origin, record);
  }

  /** @param untilMs the end of a window that has begun; undefined: nothing is there yet. */
  async #waitAndRead(untilMs: number | undefined): Promise<void> {
    const { clock } = this.#dependencies;
    const { pollMsMin, pollMsMax, windowMs } = this.#options;
    if (untilMs !== undefined) {
      await this.#sleepWithin(untilMs - clock.monotonicMs());
    } else if (this.#readsAtEnd > 0 && !this.#wakePending) {
      await this.#sleep(doubledPauseMs({ minMs: pollMsMin, maxMs: pollMsMax }, this.#readsAtEnd));
      if (this.#isAnnounced() && windowMs > 0) {
        // A record has just arrived: its window has begun, and one read at the window's end finds
        // what came in it.
        this.#step({ kind: "announced", nowMs: clock.monotonicMs() });
        await this.#sleepWithin(windowMs);
      }
    }
    if (!this.#isStopping()) await this.#read();
  }

  /**
   * A part of the rest of a window: a long one is looked at on the way, in case the batch is full.
   */
  #sleepWithin(restMs: number): Promise<void> {
    const sliceMs = Math.max(windowSliceMsMin, this.#options.windowMs / 4);
    return this.#sleep(Math.max(1, Math.min(restMs, sliceMs)), { wakeable: false });
  }

  /** A call, since `wake` may have come during any await. */
  #isAnnounced(): boolean {
    return this.#wakePending;
  }

  async #read(): Promise<void> {
    const { reader } = this.#dependencies;
    this.#wakePending = false;
    try {
      this.#iterator ??= await reader.iterator(this.#shardId, this.#lastRead);
      const result = await reader.read(this.#iterator, this.#recordsPerRead);
      this.#readFailures = 0;
      if (result.kind === "expired") {
        this.#iterator = undefined;
        this.#readsAtEnd += 1;
        return;
      }
      this.#iterator = result.next;
      this.#ended = result.next === undefined;
      if (result.records.length > 0) this.#readsAtEnd = 0;
      if (result.records.length === 0 || result.caughtUp) this.#readsAtEnd += 1;
      this.#buffer.push(...result.records);
      this.#lastRead = result.records.at(-1)?.sequenceNumber ?? this.#lastRead;
      this.#adjustReadSize(result.records);
    } catch (cause) {
      this.#iterator = undefined;
      this.#readFailures += 1;
      const failures = this.#readFailures;
      this.#dependencies.report({ kind: "read-failed", shardId: this.#shardId, failures, cause });
      await this.#sleep(this.#retryPauseMs(failures));
    }
  }

  /** Kinesis cuts an answer at 10 MB; a stand-in that does not must not flood this process. */
  #adjustReadSize(records: readonly ShardRecord[]): void {
    const bytes = records.reduce((sum, record) => sum + record.data.byteLength, 0);
    if (bytes > readBytesTarget) {
      this.#recordsPerRead = Math.max(1, Math.floor(records.length / 2));
    } else if (bytes < readBytesTarget / 8) {
      this.#recordsPerRead = Math.min(this.#options.batchSize, this.#recordsPerRead * 2);
    }
  }

  /** One invocation with the records at the head, and the pause after one that failed. */
  async #deliver(records: number): Promise<void> {
    const { result, cause } = await this.#invoke(this.#buffer.slice(0, records));
    for (const effect of this.#step({ kind: "answered", result })) {
      if (effect.kind === "done") this.#drop(effect.records);
      if (effect.kind === "retry" && !this.#isStopping()) {
        this.#reportFailure(effect.failures, cause);
        await this.#sleep(this.#retryPauseMs(effect.failures), { wakeable: false });
      }
    }
  }

  #drop(records: number): void {
    const last = this.#buffer.splice(0, records).at(-1);
    if (last === undefined) return;
    const { sequenceNumber } = last;
    this.#dependencies.saveCheckpoint(this.#shardId, { kind: "after", sequenceNumber });
  }

  #reportFailure(failures: number, cause: unknown): void {
    const records = this.#delivery.batch;
    const from = this.#buffer[0]?.sequenceNumber ?? "";
    const shardId = this.#shardId;
    this.#dependencies.report({ kind: "batch-failed", shardId, failures, records, from, cause });
  }

  async #invoke(
    records: readonly ShardRecord[],
  ): Promise<{ readonly result: BatchResult; readonly cause: unknown }> {
    const { clock, invoke } = this.#dependencies;
    const { invocationMsMax, origin, partialBatchResponse } = this.#options;
    const timer = new AbortController();
    const timeout = clock.sleep(invocationMsMax, timer.signal).then(() => {
      throw new Error(`the function took longer than ${invocationMsMax.toString()} ms`);
    });
    // Once the race is over the loser's rejection belongs to nobody.
    timeout.catch(() => undefined);
    try {
      const invocation = invoke(kinesisEvent(origin, this.#shardId, records));
      const response = await Promise.race([invocation, timeout]);
      const result: BatchResult = partialBatchResponse
        ? interpretBatchResponse(response, records)
        : { kind: "done" };
      return { result, cause: "the function reported batch item failures" };
    } catch (cause) {
      return { result: { kind: "failed-from", index: 0 }, cause };
    } finally {
      timer.abort();
    }
  }

  #retryPauseMs(failures: number): number {
    const { retryMsMin, retryMsMax } = this.#options;
    return doubledPauseMs({ minMs: retryMsMin, maxMs: retryMsMax }, failures);
  }

  /** Ends early when the mapping stops or, unless told otherwise, on `wake`. Never rejects. */
  async #sleep(
    durationMs: number,
    { wakeable }: { readonly wakeable: boolean } = { wakeable: true },
  ): Promise<void> {
    if (this.#stopping) return;
    const controller = new AbortController();
    this.#pause = { controller, wakeable };
    await this.#dependencies.clock.sleep(durationMs, controller.signal).catch(() => undefined);
    this.#pause = undefined;
  }
}
