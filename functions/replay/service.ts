/**
 * Replay: makes sure that every certified write reaches its table, and says so by the watermark
 * (I7).
 *
 * Follows the log, not the stream: the stream wakes it and brings payloads along. It holds no
 * state: what it needs is the watermark and the log above it. Two at once do the same work twice,
 * and the watermark moves only forward. Paper: Centiman §3.2 (watermark property 3.1), Mediator
 * §4.3 (helper), Salt §5 (roll-forward).
 */
import { assertNamesOldestOpen } from "../../core/block-order.ts";
import { CorruptDataError } from "../../core/errors.ts";
import { firstUncovered, isStreamEnd } from "../../core/cursor.ts";
import * as limits from "../../core/limits.ts";
import type { OpenTransaction } from "../../core/open-transactions.ts";
import type { CallOptions, Ports, StoredBlock, StreamRecord, Tombstone } from "../../core/ports.ts";
import type {
  CommittedVerdict,
  HistoryRetention,
  LogBlock,
  LogPosition,
  Payload,
  SequenceNumber,
  ShardId,
  StreamCursor,
  TransactionId,
  Watermark,
} from "../../core/types.ts";
import { orAborted } from "../../engine/concurrency.ts";
import type { Commit } from "../../engine/installing/payload-writes.ts";
import { refusalOf } from "../../engine/installing/permitted-writes.ts";
import { TableRegistry } from "../../engine/table-registry.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { callOptions, type InvocationBudget } from "../shared/invocation-budget.ts";
import type { Observability } from "../shared/observability.ts";
import { ChunkInstaller } from "./chunk-installer.ts";
import { planChunk, type ChunkPlan, type RefusalOf } from "./chunk.ts";
import { DeadLetters } from "./dead-letters.ts";
import { endLog, enterChanges, isJoined, mayEnd } from "./end-log.ts";
import { decodeFollowing } from "./following.ts";
import { isInPast, isPastInstalled, withinRange, type ForkedLog } from "./forked-log.ts";
import { InstallReports } from "./install-reports.ts";
import { LogAhead, type LogReading } from "./log-ahead.ts";
import { NewerWrites } from "./newer-writes.ts";
import { PayloadsInOrder } from "../../engine/log/payloads-in-order.ts";
import { progressFrom, type LogProgress } from "./progress.ts";
import { reportStanding } from "./report-standing.ts";
import { settleParts } from "./settle-parts.ts";
import { SigningWindow } from "./signing-window.ts";
import { byLife } from "./tombstone-lives.ts";
import { voteDown } from "./vote-down.ts";
import { cleanUpVotedDown, type VotedDown } from "./voted.ts";

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
  /** What invocations know of the log, while none of them uses it. */
  const kept = new Map<ShardId, Kept>();
  return {
    async handle(batch, budget) {
      const { shard } = batch;
      const hashes = new KeyHashes(await ports.control.keyHasher(shard, callOptions(budget)));
      const { ahead, progress: before } = kept.get(shard) ?? { ahead: new LogAhead() };
      kept.delete(shard);
      let progress: LogProgress | undefined;
      try {
        progress = await progressFrom(before, { ...ports, shard, call: callOptions(budget) });
        const work = { batch, budget, options, hashes, registry, ahead, progress };
        return await new ReplayRun(ports, observability, work).run();
      } catch (error) {
        // What it has folded may not be installed.
        progress = undefined;
        throw error;
      } finally {
        kept.set(shard, { ahead, progress });
      }
    },
  };
}

/** How far the last invocation came, and what it read ahead. */
type Kept = { readonly ahead: LogAhead; readonly progress?: LogProgress | undefined };

/** A stretch of the log to be installed before the watermark passes it. */
type Chunk = {
  /** It begins behind that block. */
  readonly from: LogPosition;
  /** In timestamp order. */
  readonly commits: Commit[];
  /** Of those that have been installed already. */
  readonly tombstones: readonly Tombstone[];
  readonly verdicts: number;
  /** What was prepared and is aborted. */
  readonly votedDown: readonly VotedDown[];
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
  readonly #payloads: PayloadsInOrder;
  readonly #deadLetters: DeadLetters;
  readonly #patienceMs: number;
  readonly #ownInstallMs: number;
  readonly #registry: TableRegistry;
  readonly #ahead: LogAhead;
  readonly #progress: LogProgress;
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
      readonly progress: LogProgress;
    },
  ) {
    const { batch, budget, options, hashes, progress } = work;
    this.#hashes = hashes;
    this.#registry = work.registry;
    this.#ahead = work.ahead;
    this.#progress = progress;
    this.#patienceMs = options.patienceMs ?? 5_000;
    this.#ownInstallMs = options.ownInstallMs ?? limits.ownInstallPatienceMs;
    this.#ports = ports;
    this.#observability = observability;
    this.#batch = batch;
    this.#remainingMs = budget.remainingMs;
    this.#call = callOptions(budget);
    const preparedAs = (id: TransactionId): OpenTransaction | undefined => progress.open.get(id);
    this.#payloads = new PayloadsInOrder(ports, { ...batch, hashes, preparedAs }, this.#call);
    const { shard } = batch;
    this.#deadLetters = new DeadLetters(ports, observability, { shard, call: this.#call });
    this.#installed = new InstallReports(ports.digest, batch.records);
  }

  async run(): Promise<ReplayResult> {
    const { clock } = this.#ports;
    const { cursor } = this.#progress.place;
    if (!(await isPastInstalled(this.#ports, this.#past, this.#call))) {
      return { unfinishedFrom: this.#firstUncovered(cursor), watermark: this.#progress.watermark };
    }
    const patientUntilMs = clock.monotonicMs() + this.#patienceMs;
    const progress = this.#progress;
    let pauseMs = pauseMsMin;
    for (;;) {
      const endReadMs = await this.#followLog();
      if (endReadMs !== undefined && mayEnd(progress) && (await this.#isJoined())) {
        const { shard } = this.#batch;
        await endLog(this.#ports, {
          shard,
          hashes: this.#hashes,
          place: progress.place,
          endReadMs,
        });
        if (!this.#isTimeUp()) continue;
      }
      const unfinishedFrom = this.#firstUncovered(progress.place.cursor);
      const isPatient = clock.monotonicMs() + pauseMs <= patientUntilMs && !this.#isTimeUp();
      if (unfinishedFrom === undefined || !isPatient) {
        await this.#voteDown(endReadMs);
        reportStanding(
          { clock, metrics: this.#observability.metrics },
          { shard: this.#batch.shard, progress, wasWoken: this.#batch.records.length > 0 },
        );
        return { unfinishedFrom, watermark: progress.watermark };
      }
      // probe: replay-ahead-of-oracle
      await clock.sleep(pauseMs, this.#call.signal);
      pauseMs = Math.min(pauseMs * 2, pauseMsMax);
    }
  }

  #isJoined(): Promise<boolean> {
    return isJoined({ ...this.#ports, ...this.#observability }, this.#hashes, this.#call);
  }

  #isTimeUp(): boolean {
    return this.#remainingMs() < limits.replayReserveMs;
  }

  /** @param endReadMs see VoteDownWork. */
  async #voteDown(endReadMs: number | undefined): Promise<void> {
    if (this.#progress.open.size === 0) return;
    await voteDown({
      ports: this.#ports,
      observability: this.#observability,
      shard: this.#batch.shard,
      hashes: this.#hashes,
      call: this.#call,
      streamless: async () => {
        await this.#registryReady();
        return this.#registry.streamless;
      },
      progress: this.#progress,
      settleParts: (open) =>
        settleParts(
          {
            ports: this.#ports,
            observability: this.#observability,
            shard: this.#batch.shard,
            call: this.#call,
          },
          open,
        ),
      endReadMs,
    });
  }

  /**
   * Installs and advances until the log's end, the batch's, or the deadline. Not beyond the batch:
   * the payloads behind it come with the next one, and fetching them would take its share of the
   * few reads a second that a shard gives, so that replay would fall behind under load. What no
   * batch brings, the schedule's invocations find.
   * @returns where that was the log's end, the wall clock before it was read.
   */
  async #followLog(): Promise<number | undefined> {
    const { shard } = this.#batch;
    const progress = this.#progress;
    for (;;) {
      const readMs = this.#ports.clock.nowMs();
      const page = await this.#ports.log.readAfter(shard, progress.place.position, this.#call);
      let installed = progress.place;
      let chunk = this.#newChunk();
      const installRest = async (): Promise<void> => {
        if (progress.place.position > installed.position) await this.#installChunk(chunk);
      };
      this.#installed.addBlocks(page.blocks, installed.timestamp);
      for (const stored of page.blocks) {
        if (this.#isBatchCovered(progress.place)) {
          // probe: replay-stops-at-its-batch
          await installRest();
          return undefined;
        }
        let block: LogBlock;
        try {
          block = this.#decode(stored, progress.place);
          // Before the watermark passes it: who begins there goes by the map.
          const changes = { hashes: this.#hashes, block, open: progress.open };
          await enterChanges(this.#ports, changes, this.#call);
          await progress.learnOpen(block, this.#reading());
          chunk = await this.#load(block, chunk);
        } catch (error) {
          // What came before it is not held up, and need not be loaded again.
          await installRest();
          throw error;
        }
        progress.fold(block);
        if (!this.#isFull(chunk)) continue;
        await this.#installChunk(chunk);
        installed = progress.place;
        chunk = this.#newChunk();
        if (this.#isTimeUp()) return undefined;
      }
      await installRest();
      if (page.complete) return readMs;
      if (this.#isTimeUp()) return undefined;
    }
  }

  /** What was split off another log, and where that was. */
  get #past(): ForkedLog {
    return { hashes: this.#hashes, place: this.#progress.place };
  }

  /**
   * @throws CorruptDataError for what may not follow the block before: the watermark stands there
   * until somebody mends the log.
   */
  #decode(stored: StoredBlock, before: Watermark): LogBlock {
    try {
      const block = decodeFollowing(before, stored, this.#hashes);
      assertNamesOldestOpen(block, this.#progress.open);
      return block;
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
    const bytesBefore = this.#payloads.bytesLoaded;
    const from = this.#progress.place.position;
    return { from, commits: [], tombstones: [], verdicts: 0, votedDown: [], bytesBefore };
  }

  #isFull({ verdicts, bytesBefore }: Chunk): boolean {
    const bytes = this.#payloads.bytesLoaded - bytesBefore;
    return verdicts >= limits.replayChunkVerdictsMax || bytes >= limits.replayChunkBytes;
  }

  async #installChunk(chunk: Chunk): Promise<void> {
    const { control } = this.#ports;
    const { shard } = this.#batch;
    const progress = this.#progress;
    const { tombstones, votedDown } = await this.#install(chunk, progress.place);
    await this.#cleanUp(votedDown);
    for (const [life, those] of byLife(tombstones, this.#registry, this.#ports.clock.nowMs())) {
      const { position, timestamp: through } = progress.place;
      const queued = { shard, from: chunk.from, position, life, through, tombstones: those };
      await control.queueTombstones(queued, this.#call);
    }
    const { passable } = progress;
    if (passable === undefined) return;
    const blocks = passable.position - progress.watermark.position;
    const hasMoved = await control.advanceWatermark(shard, passable, this.#call);
    // Of two runs at once each block is counted by one.
    if (hasMoved) this.#observability.metrics.count("LogBlocks", blocks, shard);
    progress.advanced(passable);
  }

  /**
   * @param after the place from which on the log may have newer writes of its items.
   * @returns the chunk without its commits: they are in their tables.
   */
  async #install(chunk: Chunk, after: Watermark): Promise<Chunk> {
    const { commits, tombstones } = chunk;
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
    const { verdicts, votedDown } = chunk;
    const queued = [...tombstones, ...plan.tombstones];
    return { ...this.#newChunk(), from: chunk.from, tombstones: queued, verdicts, votedDown };
  }

  async #cleanUp(votedDown: readonly VotedDown[]): Promise<void> {
    if (votedDown.length === 0) return;
    await this.#registryReady();
    const registry = this.#registry;
    const { signal = new AbortController().signal } = this.#call;
    const work = {
      ports: this.#ports,
      observability: this.#observability,
      shard: this.#batch.shard,
      call: this.#call,
      payloadOf: (verdict: CommittedVerdict) => this.#payloads.load(verdict),
      find: async (table: string) => {
        if (registry.find(table) === undefined) await registry.lookAgain(signal);
        return registry.find(table);
      },
    };
    await cleanUpVotedDown(work, votedDown);
  }

  #newerWrites(after: Watermark): NewerWrites {
    return new NewerWrites({
      ahead: this.#ahead,
      reading: this.#reading(),
      payloads: this.#payloads,
      refusalOf: this.#refusalOf,
      after,
    });
  }

  #reading(): LogReading & Pick<Ports, "log"> {
    const { log } = this.#ports;
    const { shard } = this.#batch;
    const isTimeUp = (): boolean => this.#isTimeUp();
    return { log, shard, hashes: this.#hashes, call: this.#call, isTimeUp };
  }

  readonly #refusalOf: RefusalOf = (commit, index) => {
    const { idempotencyTable } = this.#ports.control;
    return refusalOf(commit, index, { registry: this.#registry, idempotencyTable });
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
   * The chunk with the block's commits. One block may hold more than there is memory for: then what
   * comes before is installed, and the watermark stands in front of the block until its end.
   */
  async #load(block: LogBlock, chunk: Chunk): Promise<Chunk> {
    const before = this.#progress.place;
    let grown = chunk;
    let commits: Commit[] = [];
    for (const verdict of block.verdicts) {
      if (verdict.kind !== "committed" || isInPast(this.#hashes, block.position)) continue;
      if (this.#payloads.bytesLoaded - grown.bytesBefore >= limits.replayChunkBytes) {
        grown = await this.#install({ ...grown, commits: [...grown.commits, ...commits] }, before);
        commits = [];
      }
      const payload = await this.#payloadOf(verdict);
      if (payload === undefined) continue;
      const at = { ...this.#past, position: block.position };
      commits.push(
        await withinRange(this.#ports, { ...at, commit: { verdict, payload } }, this.#call),
      );
    }
    // Not before all are loaded: what came before the block is installed by itself if that fails.
    for (const commit of commits) grown.commits.push(commit);
    const votedDown = [...chunk.votedDown, ...this.#progress.votedDownBy(block)];
    return { ...grown, verdicts: chunk.verdicts + block.verdicts.length, votedDown };
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
}
