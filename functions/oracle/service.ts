/**
 * The oracle function's driver: batches of stream records in, blocks of the log out. It keeps one
 * warm oracle per shard; whenever a position is taken by somebody else, or an answer is lost, it
 * undoes its draft, folds what the log holds, and certifies again from the log's cursor on. So
 * redelivered batches, cut batches and overlapping instances all take the same path (I1–I3, I9).
 *
 * It never fails on content. It throws when it could not finish: the mapping then delivers the
 * whole batch again, and what was appended is skipped by the cursor.
 */
import { CorruptDataError, FrameError, StoreError } from "../../core/errors.ts";
import type { BlockDraft, OracleInput } from "../../core/block-draft.ts";
import { isStreamEnd } from "../../core/cursor.ts";
import * as limits from "../../core/limits.ts";
import type { Oracle } from "../../core/oracle.ts";
import type { OracleBounds } from "../../core/oracle-bounds.ts";
import { outcomeCode, outcomes, type Outcome } from "../../core/verdict-kinds.ts";
import type {
  Appended,
  Clock,
  CommitLog,
  ControlStore,
  Digest,
  Random,
  StreamRecord,
} from "../../core/ports.ts";
import { columnCode } from "../../core/request-batch.ts";
import { wholeRange } from "../../core/shard-map.ts";
import { spillName } from "../../core/spill-name.ts";
import type { LogPosition, ShardId, TransactionId, WholeOutcome } from "../../core/types.ts";
import { idAt } from "../../core/verdict-columns.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { callOptions, type InvocationBudget } from "../shared/invocation-budget.ts";
import { outcomeMetrics } from "../shared/metric-names.ts";
import type { Observability } from "../shared/observability.ts";
import { outcomeInOtherLogs } from "../shared/other-logs.ts";
import { KnownShards } from "./known-shards.ts";
import { KnownTables } from "./known-tables.ts";
import { Lane } from "./lane.ts";
import type { RebuildBounds } from "./rebuild.ts";
import type { ReadSpilled } from "./spilled-payloads.ts";

export type OracleServiceOptions = {
  readonly log: Pick<CommitLog, "append" | "readBackward" | "readAfter" | "readAt" | "readSpilled">;
  readonly control: Pick<
    ControlStore,
    "readWatermark" | "keyHasher" | "shardMap" | "shardNumbers" | "tables" | "idempotencyTable"
  >;
  /** For pauses, and for the age of the registry: no clock takes part in certification. */
  readonly clock: Pick<Clock, "sleep" | "nowMs" | "monotonicMs">;
  /** For the seeds of tables in memory: no decision depends on them. */
  readonly random: Pick<Random, "bytes">;
  /** For spilled payloads. */
  readonly digest: Digest;
  readonly observability: Observability;
  readonly bounds?: OracleBounds;
  readonly rebuildBounds?: RebuildBounds;
};

/** Records of one shard, in stream order. */
export type OracleBatch = { readonly shard: ShardId; readonly records: readonly StreamRecord[] };

/** What one invocation did; verdicts of blocks whose append was answered. */
export type OracleReport = {
  readonly blocks: number;
  readonly blockBytes: number;
  readonly verdicts: Readonly<Record<Outcome, number>>;
  readonly duplicates: number;
  readonly rejectedRecords: number;
  /** Oracles rebuilt from the log: at a cold start, or far behind. */
  readonly rebuilds: number;
  /** Positions found taken. */
  readonly taken: number;
};

export type OracleService = {
  /**
   * Certifies the batch and appends its blocks. Safe to call for any batch at any time, also
   * while another call or process works on the same shard.
   * @throws OracleUnfinishedError when the batch has to be delivered again.
   */
  handle(batch: OracleBatch, budget: InvocationBudget): Promise<OracleReport>;
};

/** The batch is not finished; everything appended so far stands. */
export class OracleUnfinishedError extends Error {
  override readonly name = "OracleUnfinishedError";
  readonly reason: "deadline" | "contention" | "stores";
  constructor(reason: OracleUnfinishedError["reason"], options?: ErrorOptions) {
    super(`the batch has to be delivered again: ${reason}`, options);
    this.reason = reason;
  }
}

export function createOracleService(options: OracleServiceOptions): OracleService {
  const idle = new Map<ShardId, Lane>();
  const tables = new KnownTables(options);
  return {
    async handle(batch, budget) {
      // Taken out while in use: an overlapping call for the same shard gets a lane of its own.
      const lane = idle.get(batch.shard) ?? (await newLane(options, batch.shard, budget));
      if (lane.hasNoRange) {
        // probe: records-of-an-ended-shard
        options.observability.metrics.count("EndedShardRecords", batch.records.length);
      }
      idle.delete(batch.shard);
      const invocation = new Invocation({ ...options, tables }, lane, { batch, budget });
      try {
        await invocation.run();
      } catch (error) {
        // What is done stays done for the next delivery. After any other failure nothing is kept.
        if (error instanceof OracleUnfinishedError) keep(idle, batch.shard, lane);
        throw error;
      } finally {
        invocation.publish();
      }
      keep(idle, batch.shard, lane);
      return invocation.report;
    },
  };
}

/** Of invocations that overlapped, the lane that came further is kept. */
function keep(idle: Map<ShardId, Lane>, shard: ShardId, lane: Lane): void {
  const other = idle.get(shard);
  if (other === undefined || other.reached <= lane.reached) idle.set(shard, lane);
}

type InvocationOptions = OracleServiceOptions & { readonly tables: KnownTables };

async function newLane(
  options: OracleServiceOptions,
  shard: ShardId,
  budget: InvocationBudget,
): Promise<Lane> {
  const { control } = options;
  const hasher = await control.keyHasher(shard, callOptions(budget));
  const map = await control.shardMap(callOptions(budget));
  const shards = new KnownShards(control);
  const isThere = map?.get(hasher.shard) !== undefined;
  const { shard: number } = hasher;
  const range = { ...(isThere ? map.ownRangeOf(number, shards) : wholeRange), number };
  return new Lane({ ...options, shard, hashes: new KeyHashes(hasher), range, shards });
}

type MutableReport = { -readonly [Name in keyof OracleReport]: OracleReport[Name] } & {
  readonly verdicts: Record<Outcome, number>;
};

class Invocation {
  readonly report: MutableReport = {
    blocks: 0,
    blockBytes: 0,
    verdicts: noVerdicts(),
    duplicates: 0,
    rejectedRecords: 0,
    rebuilds: 0,
    taken: 0,
  };
  readonly #options: InvocationOptions;
  readonly #lane: Lane;
  readonly #batch: OracleBatch;
  readonly #budget: InvocationBudget;
  #decoded = false;
  /** What other logs have said, which stays so. */
  readonly #outcomes = new Map<TransactionId, WholeOutcome>();
  /** For what is wrong in one batch, the registry is read once. */
  #lookedAgain = false;
  /** From where on the log was looked at, because the stream was closed there. */
  #closedTo: LogPosition | undefined;
  /** Tries since the last block that was appended. */
  #tries = 0;

  constructor(
    options: InvocationOptions,
    lane: Lane,
    { batch, budget }: { readonly batch: OracleBatch; readonly budget: InvocationBudget },
  ) {
    this.#options = options;
    this.#lane = lane;
    this.#batch = batch;
    this.#budget = budget;
  }

  /** One step after the other until nothing is left; an append that fails costs its draft. */
  async run(): Promise<void> {
    this.#lane.resume();
    for (;;) {
      this.#checkBudget();
      let failure: StoreError | undefined;
      try {
        const step = await this.#step();
        if (step === "finished") return;
        if (step === "appended") this.#tries = 0;
        if (step !== "taken") continue;
        this.report.taken += 1;
        // What stands there may be what ends a state of the registry (core/table-access.ts).
        if (this.#options.tables.isOld) this.#decoded = false;
      } catch (error) {
        if (error instanceof FrameError || error instanceof CorruptDataError)
          this.#logDamage(error);
        if (!(error instanceof StoreError)) throw error;
        // probe: oracle-store-failed
        failure = error;
      }
      await this.#pause(failure);
    }
  }

  /** Certifies up to one block and appends it. */
  async #step(): Promise<"appended" | "advanced" | "taken" | "finished"> {
    const { decoded, encoder } = this.#lane;
    const oracle = await this.#ready();
    // It has nothing to put, so no refused put would tell it that the stream was opened again.
    // mutant: oracle-passes-a-later-stream
    if (isStreamEnd(oracle.cursor) && this.#closedTo !== oracle.position) {
      // probe: oracle-looks-behind-a-closing
      this.#closedTo = oracle.position;
      this.#lane.lookOn();
      return "advanced";
    }
    const input = await this.#input(oracle);
    // Before, not after: a draft that cannot be appended any more was made in vain.
    this.#checkBudget();
    const draft = oracle.next(input);
    if (draft === undefined) {
      // probe: oracle-nothing-new-in-batch
      return decoded.advance() ? "advanced" : "finished";
    }
    const bytes = encoder.encode(draft, input);
    const result = await this.#append(draft, bytes);
    // mutant: taken-means-mine
    if (result !== "appended") {
      // probe: oracle-position-taken
      // What refused it is folded at once, and the next put follows in half the time that a look at
      // the log would take. Who loses again and again may be further behind than one block: at
      // every third time it reads on.
      this.#lane.lost(this.#tries % 3 === 2 ? undefined : result.taken);
      return "taken";
    }
    oracle.appended();
    this.#account(draft, bytes.length);
    return "appended";
  }

  async #append({ position }: BlockDraft, bytes: Uint8Array): Promise<Appended> {
    const { log } = this.#options;
    const { shard } = this.#batch;
    try {
      // mutant: acknowledged-before-the-block
      return await log.append(shard, { position, bytes }, callOptions(this.#budget));
    } catch (error) {
      this.#lane.lost(undefined);
      throw error;
    }
  }

  /**
   * What can be certified now. Where a payload does not fit the registry, the registry may be old:
   * it is read again, and the batch is decoded anew by it.
   */
  async #input(oracle: Oracle): Promise<OracleInput> {
    const { log, tables } = this.#options;
    const { decoded } = this.#lane;
    const readSpilled: ReadSpilled = (id, chunks, call) =>
      log.readSpilled(spillName(id, this.#lane.number), chunks, call);
    for (;;) {
      if (!this.#decoded) {
        await tables.ready(callOptions(this.#budget));
        decoded.decode(this.#batch.records, oracle.cursor, tables.catalogue);
        // Once for a batch: what is not known then nobody may name.
        await this.#lane.shards.know(decoded.shardsNamed(), callOptions(this.#budget));
        this.#decoded = true;
        this.#logRejected();
      }
      const read = await decoded.input(oracle, readSpilled, this.#budget.signal);
      const input: OracleInput = { ...read, settled: await this.#settled(oracle, read) };
      if (!decoded.hasTableFaults || this.#lookedAgain) return input;
      this.#lookedAgain = true;
      if (!(await tables.readAgain(callOptions(this.#budget)))) return input;
      // probe: oracle-reads-registry-again
      this.#decoded = false;
    }
  }

  /**
   * What became of the open parts that somebody asks to settle, as their other logs say. Each takes
   * a search of a log or of several, and meanwhile the shard stands still: of more of them than
   * there is time for nothing is said, as of those that are not decided, and who waits asks again.
   */
  async #settled(oracle: Oracle, input: OracleInput): Promise<NonNullable<OracleInput["settled"]>> {
    const settled = new Map<number, WholeOutcome>();
    const undecided = new Set<TransactionId>();
    const leastMs = settlingLeastMs(this.#budget.remainingMs());
    let isFirst = true;
    for (const { request, id } of settlesOf(input)) {
      const part = oracle.openPart(id);
      if (part?.parts === undefined) continue;
      if (!this.#outcomes.has(id) && !undecided.has(id)) {
        if (!isFirst && this.#budget.remainingMs() < leastMs) continue;
        isFirst = false;
        const state = { kind: "prepared", timestamp: part.timestamp } as const;
        const own = { shard: this.#lane.number, state };
        const asked = { id, parts: part.parts, own };
        const found = await outcomeInOtherLogs(this.#options, asked, callOptions(this.#budget));
        if (found === undefined) undecided.add(id);
        else this.#outcomes.set(id, found);
      }
      const whole = this.#outcomes.get(id);
      if (whole !== undefined) settled.set(request, whole);
    }
    return settled;
  }

  /** An oracle that stands where the log ends; looks at the deadline before each step there. */
  async #ready(): Promise<Oracle> {
    for (;;) {
      const { oracle } = this.#lane;
      if (oracle !== undefined) return oracle;
      this.#checkBudget();
      const rebuild = await this.#lane.advance(callOptions(this.#budget));
      if (rebuild === undefined) continue;
      this.report.rebuilds += 1;
      if (rebuild.isCut && this.#lane.oracle !== undefined) this.#logCut(this.#lane.oracle);
    }
  }

  #checkBudget(): void {
    if (
      this.#budget.remainingMs() < limits.oracleReserveMs ||
      this.#budget.signal?.aborted === true
    ) {
      throw new OracleUnfinishedError("deadline");
    }
  }

  async #pause(failure: StoreError | undefined): Promise<void> {
    this.#tries += 1;
    const reason = failure === undefined ? "contention" : "stores";
    const { log } = this.#options.observability;
    // Clients append blocks of their own: a position that is taken is normal, and counted.
    const isNormal = failure === undefined && this.#tries < limits.oracleTriesMax;
    log[isNormal ? "debug" : "warn"]("oracle takes up what the log holds, and certifies again", {
      shard: this.#batch.shard,
      reason,
      tries: this.#tries,
      fault: failure?.fault,
      cause: failure?.message,
    });
    // A rejected call (no table, no permission) is rejected again; the mapping's retries are
    // slower.
    const triesMax = failure === undefined ? limits.oracleLossesMax : limits.oracleTriesMax;
    if (failure?.fault === "rejected" || this.#tries >= triesMax) {
      throw new OracleUnfinishedError(reason, { cause: failure });
    }
    // A position is taken when somebody has gone on: what stands there is folded at once.
    if (failure === undefined) return;
    const backoffMs = Math.min(
      limits.oracleBackoffMsMax,
      limits.oracleBackoffMsMin * 2 ** (this.#tries - 1),
    );
    if (backoffMs + limits.oracleReserveMs > this.#budget.remainingMs()) {
      throw new OracleUnfinishedError("deadline", { cause: failure });
    }
    await this.#options.clock.sleep(backoffMs);
  }

  #account(draft: BlockDraft, bytes: number): void {
    const { report } = this;
    report.blocks += 1;
    report.blockBytes += bytes;
    report.duplicates += draft.duplicates;
    report.rejectedRecords += draft.rejectedRecords;
    for (let i = 0; i < draft.count; i++) {
      const outcome = outcomes[draft.outcomes[i] ?? outcomeCode.stale] ?? "stale";
      report.verdicts[outcome] += 1;
    }
  }

  #logCut({ floor, last }: Oracle): void {
    const { log } = this.#options.observability;
    log.warn("the log's window is larger than a rebuild reads: what is older counts as stale", {
      shard: this.#batch.shard,
      floor,
      last,
    });
  }

  /** Nothing is certified over such a block: the shard stands until somebody mends it. */
  #logDamage({ message: reason }: Error): void {
    const { log } = this.#options.observability;
    log.error("a block of the log stops the shard", { shard: this.#batch.shard, reason });
  }

  #logRejected(): void {
    const { log } = this.#options.observability;
    for (const { sequenceNumber, fault } of this.#lane.decoded.rejected) {
      log.error("a record is no commit record and was skipped", {
        shard: this.#batch.shard,
        sequenceNumber,
        fault,
      });
    }
  }

  /** Hands the report to the metrics, whether or not the batch was finished. */
  publish(): void {
    const { metrics } = this.#options.observability;
    const { report } = this;
    metrics.count("Records", this.#batch.records.length);
    const { shard } = this.#batch;
    metrics.count("Blocks", report.blocks, shard);
    metrics.bytes("BlockBytes", report.blockBytes, shard);
    for (const outcome of outcomes) {
      if (report.verdicts[outcome] > 0)
        metrics.count(outcomeMetrics[outcome], report.verdicts[outcome], shard);
    }
    metrics.count("Duplicates", report.duplicates);
    metrics.count("RejectedRecords", report.rejectedRecords);
    metrics.count("Rebuilds", report.rebuilds);
    metrics.count("PositionsTaken", report.taken);
  }
}

/** When so much is left of the invocation, no further part is looked up. */
function settlingLeastMs(remainingMs: number): number {
  const half = (limits.oracleReserveMs + remainingMs) / 2;
  return Math.max(half, remainingMs - limits.oracleSettlingMsMax);
}

/** The requests to settle what is open, of what can be certified now. */
function* settlesOf({
  requests,
  requestsEnd,
}: OracleInput): Generator<{ readonly request: number; readonly id: TransactionId }> {
  for (let request = 0; request < requestsEnd; request++) {
    if (requests.kinds[request] !== columnCode.settle) continue;
    yield { request, id: idAt(requests, request) };
  }
}

function noVerdicts(): Record<Outcome, number> {
  return Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
}
