/**
 * Replay: makes sure that every certified write reaches its table, and says so by the watermark
 * (I7).
 *
 * Follows the log, not the stream: the stream wakes it and brings payloads along. It holds no
 * state: what it needs is the watermark and the log above it. Two at once do the same work twice,
 * and the watermark moves only forward. Paper: Centiman §3.2 (watermark property 3.1), Mediator
 * §4.3 (helper), Salt §5 (roll-forward).
 */
import { CorruptDataError } from "../../core/errors.ts";
import { firstUncovered, isStreamEnd } from "../../core/cursor.ts";
import { tombstoneLifeMs } from "../../core/history.ts";
import * as limits from "../../core/limits.ts";
import type {
  CallOptions,
  Ports,
  StoredBlock,
  StreamRecord,
  Tombstone,
  TombstoneLife,
} from "../../core/ports.ts";
import type {
  CommittedVerdict,
  HistoryRetention,
  LogBlock,
  Payload,
  SequenceNumber,
  ShardId,
  StreamCursor,
  Watermark,
} from "../../core/types.ts";
import { orAborted } from "../../engine/concurrency.ts";
import { refusalOf } from "../../engine/permitted-writes.ts";
import { TableRegistry } from "../../engine/table-registry.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { callOptions, type InvocationBudget } from "../shared/invocation-budget.ts";
import type { Observability } from "../shared/observability.ts";
import { ChunkInstaller } from "./chunk-installer.ts";
import { planChunk, type ChunkPlan, type Commit, type RefusalOf } from "./chunk.ts";
import { DeadLetters } from "./dead-letters.ts";
import { decodeFollowing, placeBehind } from "./following.ts";
import { InstallReports } from "./install-reports.ts";
import { LogAhead } from "./log-ahead.ts";
import { NewerWrites } from "./newer-writes.ts";
import { ReplayPayloads } from "./payloads.ts";
import { SigningWindow } from "./signing-window.ts";

export type ReplayBatch = {
  readonly shard: ShardId;
  /** Empty when a schedule, not the stream, woke the function. */
  readonly records: readonly StreamRecord[];
};

export type ReplayResult = {
  /** First record of the batch that the log does not cover yet: to be delivered again. */
  readonly unfinishedFrom: SequenceNumber | undefined;
  readonly watermark: Watermark;
};

export type ReplayService = {
  /**
   * Stops in time to return what is unfinished.
   * @throws StoreError, CorruptDataError: the batch is delivered again.
   */
  handle(batch: ReplayBatch, budget: InvocationBudget): Promise<ReplayResult>;
};

export type ReplayOptions = {
  /** How long to wait for an oracle that is behind. Default 5,000. */
  readonly patienceMs?: number;
  /**
   * How old a commit must be before its missing writes are installed for its client. Default 1,000.
   */
  readonly ownInstallMs?: number;
};

/** Pace of looking for blocks that the oracle has still to append. */
const pauseMsMin = 5;
const pauseMsMax = 200;

export function createReplayService(
  ports: Ports,
  observability: Observability,
  options: ReplayOptions = {},
): ReplayService {
  const registry = new TableRegistry(ports.control, ports.clock);
  /** What invocations have read of the log ahead, while none of them uses it. */
  const kept = new Map<ShardId, LogAhead>();
  return {
    async handle(batch, budget) {
      const { shard } = batch;
      const hashes = new KeyHashes(await ports.control.keyHasher(shard, callOptions(budget)));
      const ahead = kept.get(shard) ?? new LogAhead();
      kept.delete(shard);
      try {
        const work = { batch, budget, options, hashes, registry, ahead };
        return await new ReplayRun(ports, observability, work).run();
      } finally {
        kept.set(shard, ahead);
      }
    },
  };
}

/** A stretch of the log to be installed before the watermark passes it. */
type Chunk = {
  /** In timestamp order. */
  readonly commits: Commit[];
  /** Of those that have been installed already. */
  readonly tombstones: readonly Tombstone[];
  readonly verdicts: number;
  /** Of all payloads of the invocation that were loaded before its commits. */
  readonly bytesBefore: number;
};

class ReplayRun {
  readonly #ports: Ports;
  readonly #observability: Observability;
  readonly #hashes: KeyHashes;
  readonly #batch: ReplayBatch;
  readonly #remainingMs: () => number;
  readonly #call: CallOptions;
  readonly #payloads: ReplayPayloads;
  readonly #deadLetters: DeadLetters;
  readonly #patienceMs: number;
  readonly #ownInstallMs: number;
  readonly #registry: TableRegistry;
  readonly #ahead: LogAhead;
  /** What clients say they have installed. */
  readonly #installed: InstallReports;

  constructor(
    ports: Ports,
    observability: Observability,
    work: {
      readonly batch: ReplayBatch;
      readonly budget: InvocationBudget;
      readonly options: ReplayOptions;
      readonly hashes: KeyHashes;
      readonly registry: TableRegistry;
      readonly ahead: LogAhead;
    },
  ) {
    const { batch, budget, options } = work;
    this.#hashes = work.hashes;
    this.#registry = work.registry;
    this.#ahead = work.ahead;
    this.#patienceMs = options.patienceMs ?? 5_000;
    this.#ownInstallMs = options.ownInstallMs ?? limits.ownInstallPatienceMs;
    this.#ports = ports;
    this.#observability = observability;
    this.#batch = batch;
    this.#remainingMs = budget.remainingMs;
    this.#call = callOptions(budget);
    this.#payloads = new ReplayPayloads(ports, { ...batch, hashes: work.hashes }, this.#call);
    const { shard } = batch;
    this.#deadLetters = new DeadLetters(ports, observability, { shard, call: this.#call });
    this.#installed = new InstallReports(ports.digest, batch.records);
  }

  async run(): Promise<ReplayResult> {
    const { clock } = this.#ports;
    const patientUntilMs = clock.monotonicMs() + this.#patienceMs;
    let watermark = await this.#readWatermark();
    let pauseMs = pauseMsMin;
    for (;;) {
      watermark = await this.#followLog(watermark);
      const unfinishedFrom = this.#firstUncovered(watermark.cursor);
      const isPatient = clock.monotonicMs() + pauseMs <= patientUntilMs && !this.#isTimeUp();
      if (unfinishedFrom === undefined || !isPatient) {
        this.#report(watermark);
        return { unfinishedFrom, watermark };
      }
      // probe: replay-ahead-of-oracle
      await clock.sleep(pauseMs, this.#call.signal);
      pauseMs = Math.min(pauseMs * 2, pauseMsMax);
    }
  }

  #isTimeUp(): boolean {
    return this.#remainingMs() < limits.replayReserveMs;
  }

  async #readWatermark(): Promise<Watermark> {
    const watermark = await this.#ports.control.readWatermark(this.#batch.shard, this.#call);
    if (watermark !== undefined) return watermark;
    throw new CorruptDataError(
      `shard ${this.#batch.shard} has no watermark; provision the deployment first`,
    );
  }

  /**
   * Installs and advances until the log's end, the batch's, or the deadline. Returns the watermark
   * reached. Not beyond the batch: the payloads behind it come with the next one, and fetching them
   * would take its share of the few reads a second that a shard gives, so that replay would fall
   * behind under load. What no batch brings, the schedule's invocations find.
   */
  async #followLog(from: Watermark): Promise<Watermark> {
    let watermark = from;
    for (;;) {
      const page = await this.#ports.log.readAfter(
        this.#batch.shard,
        watermark.position,
        this.#call,
      );
      let next = watermark;
      let chunk = this.#newChunk();
      this.#installed.addBlocks(page.blocks, watermark.timestamp);
      for (const stored of page.blocks) {
        if (this.#isBatchCovered(next)) {
          // probe: replay-stops-at-its-batch
          if (next.position > watermark.position) await this.#installChunk(chunk, next);
          return next;
        }
        let block: LogBlock;
        try {
          block = this.#decode(stored, next);
          chunk = await this.#load(block, { chunk, before: next });
        } catch (error) {
          // What came before it is not held up, and need not be loaded again.
          if (next.position > watermark.position) await this.#installChunk(chunk, next);
          throw error;
        }
        next = placeBehind(block, next);
        if (!this.#isFull(chunk)) continue;
        await this.#installChunk(chunk, next);
        watermark = next;
        chunk = this.#newChunk();
        if (this.#isTimeUp()) return watermark;
      }
      if (next.position > watermark.position) await this.#installChunk(chunk, next);
      watermark = next;
      if (page.complete || this.#isTimeUp()) return watermark;
    }
  }

  /**
   * @throws CorruptDataError for what may not follow the block before: the watermark stands there
   * until somebody mends the log.
   */
  #decode(stored: StoredBlock, before: Watermark): LogBlock {
    try {
      return decodeFollowing(before, stored, this.#hashes);
    } catch (error) {
      if (error instanceof CorruptDataError) {
        const { shard } = this.#batch;
        const at = { shard, after: before.position, reason: error.message };
        this.#observability.log.error("a block of the log stops the shard", at);
      }
      throw error;
    }
  }

  #newChunk(): Chunk {
    return { commits: [], tombstones: [], verdicts: 0, bytesBefore: this.#payloads.bytesLoaded };
  }

  #isFull({ verdicts, bytesBefore }: Chunk): boolean {
    const bytes = this.#payloads.bytesLoaded - bytesBefore;
    return verdicts >= limits.replayChunkVerdictsMax || bytes >= limits.replayChunkBytes;
  }

  async #installChunk(chunk: Chunk, reached: Watermark): Promise<void> {
    const { control } = this.#ports;
    const { shard } = this.#batch;
    const { tombstones } = await this.#install(chunk, reached);
    for (const [life, those] of this.#byLife(tombstones)) {
      const { position, timestamp: through } = reached;
      const queued = { shard, position, life, through, tombstones: those };
      await control.queueTombstones(queued, this.#call);
    }
    await control.advanceWatermark(shard, reached, this.#call);
  }

  /**
   * @param after the place from which on the log may have newer writes of its items.
   * @returns the chunk without its commits: they are in their tables.
   */
  async #install({ commits, tombstones, verdicts }: Chunk, after: Watermark): Promise<Chunk> {
    const { shard } = this.#batch;
    const { metrics } = this.#observability;
    const plan = await this.#plan(commits);
    const window = new SigningWindow(this.#ports, shard, this.#call);
    const ownInstallMs = this.#ownInstallMs;
    const retention = async (): Promise<HistoryRetention> => {
      await this.#registryReady();
      return this.#registry.retention;
    };
    const newer = this.#newerWrites(after);
    const deadLetters = this.#deadLetters;
    const work = { deadLetters, window, call: this.#call, ownInstallMs, newer, retention };
    const installer = new ChunkInstaller(this.#ports, this.#observability, work);
    // mutant: watermark-before-installs
    const installed = await installer.install(plan);
    metrics.count("ReplayedTransactions", commits.length);
    metrics.count("ReplayInstalledWrites", installed);
    metrics.count("ForgedInstallReports", this.#installed.takeForged());
    return { ...this.#newChunk(), tombstones: [...tombstones, ...plan.tombstones], verdicts };
  }

  #newerWrites(after: Watermark): NewerWrites {
    const { log } = this.#ports;
    const { shard } = this.#batch;
    const isTimeUp = (): boolean => this.#isTimeUp();
    return new NewerWrites({
      ahead: this.#ahead,
      reading: { log, shard, hashes: this.#hashes, call: this.#call, isTimeUp },
      payloads: this.#payloads,
      refusalOf: this.#refusalOf,
      after,
    });
  }

  readonly #refusalOf: RefusalOf = (payload, index) => {
    const { idempotencyTable } = this.#ports.control;
    return refusalOf(payload, index, { registry: this.#registry, idempotencyTable });
  };

  /** Nothing is refused by a copy of the registry that is older than the commit. */
  async #plan(commits: readonly Commit[]): Promise<ChunkPlan> {
    const registry = this.#registry;
    const reported = this.#installed.among(commits.map(({ verdict }) => verdict));
    const plan = (): ChunkPlan => planChunk(commits, reported, this.#refusalOf);
    if (commits.length > 0) await this.#registryReady();
    const first = plan();
    if (first.refused.length === 0) return first;
    await registry.lookAgain(this.#call.signal ?? new AbortController().signal);
    return plan();
  }

  /** What is loaded is the whole process's: the next invocation may go by it. */
  #registryReady(): Promise<void> {
    return orAborted(this.#registry.ready(), this.#call.signal);
  }

  /**
   * As it seems now. A change of the registry may make any of them stand longer: the reaper looks
   * at each again.
   */
  #byLife(tombstones: readonly Tombstone[]): ReadonlyMap<TombstoneLife, readonly Tombstone[]> {
    const registry = this.#registry;
    const nowMs = this.#ports.clock.nowMs();
    const byLife = new Map<TombstoneLife, Tombstone[]>();
    for (const tombstone of tombstones) {
      const table = registry.find(tombstone.table);
      const lifeMs = tombstoneLifeMs(table, registry.retention, nowMs);
      const life = lifeMs > limits.tombstoneGraceMs ? "history" : "grace";
      const those = byLife.get(life);
      if (those === undefined) byLife.set(life, [tombstone]);
      else those.push(tombstone);
    }
    return byLife;
  }

  /**
   * The chunk with the block's commits. One block may hold more than there is memory for: then what
   * comes before is installed, and the watermark stands in front of the block until its end.
   */
  async #load(
    block: LogBlock,
    { chunk, before }: { readonly chunk: Chunk; readonly before: Watermark },
  ): Promise<Chunk> {
    let grown = chunk;
    let commits: Commit[] = [];
    for (const verdict of block.verdicts) {
      if (verdict.kind !== "committed") continue;
      if (this.#payloads.bytesLoaded - grown.bytesBefore >= limits.replayChunkBytes) {
        grown = await this.#install({ ...grown, commits: [...grown.commits, ...commits] }, before);
        commits = [];
      }
      const payload = await this.#payloadOf(verdict);
      if (payload !== undefined) commits.push({ verdict, payload });
    }
    // Not before all are loaded: what came before the block is installed by itself if that fails.
    for (const commit of commits) grown.commits.push(commit);
    return { ...grown, verdicts: chunk.verdicts + block.verdicts.length };
  }

  /**
   * A payload that is gone for good, or damaged, must not stop the shard. One that was not seen is
   * waited for, over invocations.
   */
  async #payloadOf(verdict: CommittedVerdict): Promise<Payload | undefined> {
    try {
      return await this.#payloads.load(verdict);
    } catch (error) {
      if (!(error instanceof CorruptDataError)) throw error;
      await this.#deadLetters.ofCommit(verdict, error.message);
      return undefined;
    }
  }

  /** A closed stream may have been opened again behind it: what comes, the log's end says. */
  #isBatchCovered({ cursor }: Watermark): boolean {
    if (this.#batch.records.length === 0 || isStreamEnd(cursor)) return false;
    return this.#firstUncovered(cursor) === undefined;
  }

  #firstUncovered(cursor: StreamCursor | undefined): SequenceNumber | undefined {
    const { records } = this.#batch;
    return records[firstUncovered(records, cursor)]?.sequenceNumber;
  }

  #report(watermark: Watermark): void {
    const lagMs = Math.max(0, this.#ports.clock.nowMs() - watermark.timestamp / 1000);
    // Only a batch says that there was something to do; an idle stream's watermark is old and fine.
    if (this.#batch.records.length > 0)
      this.#observability.metrics.milliseconds("WatermarkLag", lagMs);
  }
}
