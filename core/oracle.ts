/**
 * The oracle of one shard as a pure state machine: requests in, verdicts out, in blocks. Its state
 * follows from the log alone, and from how far back it was rebuilt; one draft at most lies ahead of
 * it:
 *
 *               next ──▶
 *     settled              drafted        settled: also folds, and forgets
 *               ◀── appended, undo
 *
 * A driver puts the draft into the log, and says that it was appended. Where the put failed or may
 * have failed, it undoes the draft, folds what the log holds, and certifies again on top.
 *
 * docs/protocol.md §3 gives the rules. Invariants: I1, I2 (positions, timestamps), I3 (decided
 * ids), I4, I5 (checks against the index). Paper: Centiman §3.1, §3.4.
 */
import { assert } from "./assert.ts";
import { BlockDraft } from "./block-draft.ts";
import type { BatchRecord, OracleInput, PlannedCommit, SpilledPayload } from "./block-draft.ts";
import { assertContinues, assertCursorMayFollow, opensStream } from "./block-order.ts";
import { CertificationIndex } from "./certification-index.ts";
import { DecidedIds } from "./decided-ids.ts";
import { compareCursors, firstUncovered, requestsDone } from "./cursor.ts";
import * as limits from "./limits.ts";
import { outcomeCode } from "./verdict-kinds.ts";
import {
  checkWords,
  columnCode,
  idWords,
  RequestBatch,
  tableFaults,
  writeWords,
} from "./request-batch.ts";
import { timestampZero } from "./types.ts";
import type { SlotSeed } from "./slot-seed.ts";
import type { LogBlock, LogPosition, StreamCursor, Timestamp } from "./types.ts";
import { appendDecision } from "./verdict-columns.ts";

/** Where a log begins for an oracle: before the first block that it folds, or at the watermark. */
export type OracleStart = {
  readonly position: LogPosition;
  /**
   * Newest timestamp at that position. Of commits at or below it nothing is known: the first floor.
   */
  readonly timestamp: Timestamp;
  readonly cursor: StreamCursor | undefined;
};

export type OracleBounds = {
  /** Stream time that certification looks back. */
  readonly windowMicros: number;
  /**
   * Index entries; above it the floor rises early, so that more is `stale` and nothing is wrong.
   */
  readonly indexEntriesMax: number;
  readonly blockBytesMax: number;
  readonly blockVerdictsMax: number;
  /**
   * Bounds the work for a block: requests, their checks and writes. Duplicates and refusals take no
   * room in a block, and checks none in any.
   */
  readonly blockStepsMax: number;
};

export const oracleBoundsDefault: OracleBounds = {
  windowMicros: limits.certificationWindowMicros,
  indexEntriesMax: limits.indexEntriesMax,
  blockBytesMax: limits.blockBytesMax,
  blockVerdictsMax: limits.blockVerdictsMax,
  blockStepsMax: limits.blockStepsMax,
};

/** How many requests ahead of certification their index slots are touched. */
const touchAhead = 16;

export class Oracle {
  #position: LogPosition;
  #last: Timestamp;
  #cursor: StreamCursor | undefined;
  readonly #index: CertificationIndex;
  readonly #decided: DecidedIds;
  readonly #draft: BlockDraft;
  /** Where the oracle stood before the draft that is neither appended nor undone. */
  #before: OracleStart | undefined;
  /** One request: a verdict of the log on its way through the code that decided it. */
  readonly #folded = new RequestBatch();
  /** Slots of the ids that were touched last, and that of the id being decided. */
  readonly #slots = new Uint32Array(touchAhead);
  #slot = 0;
  /** Most steps of the block in the making. */
  readonly #stepsMax: number;
  #steps = 0;
  /** The request being certified, and what stands in its way. */
  readonly #planned: PlannedCommit;
  #conflictCheck = 0;
  #conflictTimestamp: Timestamp = timestampZero;

  /** @param seed chooses where its tables keep what; no decision depends on it. */
  constructor(start: OracleStart, seed: SlotSeed, bounds: OracleBounds = oracleBoundsDefault) {
    assert(start.position >= 0 && start.timestamp >= 0, "I1: a log begins somewhere");
    this.#position = start.position;
    this.#last = start.timestamp;
    this.#cursor = start.cursor;
    // mutant: claims-more-than-it-folded
    const floor = start.timestamp;
    this.#index = new CertificationIndex(floor, seed, bounds.indexEntriesMax);
    this.#decided = new DecidedIds(floor, seed, {
      windowMicros: bounds.windowMicros,
      weightMax: bounds.indexEntriesMax,
    });
    this.#draft = new BlockDraft({
      bytesMax: bounds.blockBytesMax,
      verdictsMax: bounds.blockVerdictsMax,
    });
    assert(bounds.blockStepsMax > 0, "oracle: a block takes some steps");
    this.#stepsMax = bounds.blockStepsMax;
    this.#planned = { record: 0, spilled: false, writes: this.#folded, writesOf: 0 };
  }

  /** Whether its state lies ahead of the log, by one block. */
  get hasDraft(): boolean {
    return this.#before !== undefined;
  }

  /** Position of the newest block: the draft's, if there is one. */
  get position(): LogPosition {
    return this.#position;
  }

  /** Newest timestamp handed out. */
  get last(): Timestamp {
    return this.#last;
  }

  /** How far into the stream the log reaches. */
  get cursor(): StreamCursor | undefined {
    return this.#cursor;
  }

  /** The index knows every commit above it; a request checked to less is `stale`. */
  get floor(): Timestamp {
    return this.#decided.floor;
  }

  /** For metrics and benchmarks; counts the live entries by a walk over the index. */
  figures(): {
    /** Steps in the tables beyond the first one of each search. */
    readonly detours: number;
    readonly indexBytes: number;
    readonly indexLive: number;
    readonly decidedIds: number;
  } {
    return {
      detours: this.#index.detours + this.#decided.detours,
      indexBytes: this.#index.byteLength,
      indexLive: this.#index.countLive(),
      decidedIds: this.#decided.size,
    };
  }

  /**
   * Certifies what follows the cursor, up to a full block or the end of the input. Undefined when
   * the cursor is there already: then nothing has changed. The state moves past the draft, and next
   * comes `appended` or `undo`. The draft is the oracle's own, and valid until more is asked for.
   */
  next(input: OracleInput): BlockDraft | undefined {
    const { records, requestsEnd } = input;
    assert(requestsEnd <= input.requests.count, "oracle: the input holds what it promises");
    assert(!this.hasDraft, "I1: one draft at a time lies ahead of the log");
    const before = { position: this.#position, timestamp: this.#last, cursor: this.#cursor };
    const draft = this.#draft;
    draft.begin({
      position: (this.#position + 1) as LogPosition,
      previousTimestamp: this.#last,
    });
    this.#steps = 0;
    const first = firstUncovered(records, this.#cursor);
    let covered: BatchRecord | undefined;
    let cursor: StreamCursor | undefined;
    for (let r = first; r < records.length; r++) {
      const record = records[r];
      if (record === undefined || record.requestStart > requestsEnd) break;
      const from = record.requestStart + (r === first ? requestsDone(record, this.#cursor) : 0);
      const to = this.#certifyRecord(input, r, from, Math.min(record.requestEnd, requestsEnd));
      if (to < record.requestEnd) {
        if (to > from) {
          covered = record;
          cursor = cursorWithin(record, to - record.requestStart);
        }
        break;
      }
      if (record.rejected) draft.rejectedRecords += 1;
      covered = record;
      cursor = undefined;
    }
    if (covered === undefined) return undefined;
    this.#close(draft, covered, cursor ?? cursorWithin(covered, "all"));
    this.#before = before;
    return draft;
  }

  /** The log holds the draft. */
  appended(): void {
    assert(this.hasDraft, "I1: a draft comes before its block");
    this.#settle();
  }

  /**
   * Takes the draft back: another block stands at its position, or the same, and is folded next.
   * Costs what certifying the draft has cost. Then nothing tells this oracle from one that never
   * drafted.
   */
  undo(): void {
    const before = this.#before;
    assert(before !== undefined, "oracle: what was appended or folded is not undone");
    this.#index.undo();
    // mutant: lost-draft-remembered
    this.#decided.undo();
    this.#position = before.position;
    this.#last = before.timestamp;
    this.#cursor = before.cursor;
    this.#before = undefined;
  }

  /** All that the state holds is in the log: an undo comes back to here. */
  #settle(): void {
    this.#before = undefined;
    this.#index.mark();
    this.#decided.mark();
  }

  /**
   * Whether the request will be refused whatever its payload says, by rules 1 to 3, when all before
   * it in the batch are decided: timestamps and the floor only rise. An id may be forgotten until
   * then; no client sends one again that is.
   * @param arrivalMs the newest of the batch.
   */
  refusesUnread(requests: RequestBatch, request: number, arrivalMs: number): boolean {
    const checkedTo = requests.checkedTo[request] ?? 0;
    const lastMax = Math.max(this.#last, arrivalMs * 1000) + requests.count;
    if (checkedTo > lastMax || checkedTo < this.#decided.floor) return true;
    const at = request * idWords;
    return this.#decided.has(requests.ids, at);
  }

  /**
   * Takes in a block that the log holds, whoever made it. It may decide what is decided: of an id
   * that a liar sends again with a check that nobody has made, by an oracle that remembers less.
   * @throws CorruptDataError for one that may not follow the block before.
   */
  fold(block: LogBlock): void {
    assert(!this.hasDraft, "I1: a draft is undone before its position is folded");
    assert(block.position === this.#position + 1, "I1: positions are dense");
    assertContinues(block, this.#last);
    assertCursorMayFollow(block, this.#cursor);
    const batch = this.#folded;
    for (const verdict of block.verdicts) {
      if (verdict.kind === "stale") continue;
      assert(verdict.timestamp <= block.throughTimestamp, "I2: a block reaches its decisions");
      batch.clear();
      appendDecision(batch, verdict);
      this.#planned.writes = batch;
      this.#planned.writesOf = 0;
      this.#slot = this.#decided.slotOf(batch.ids, 0);
      this.#remember(batch, 0, verdict.timestamp, verdict.kind === "committed");
    }
    this.#last = block.throughTimestamp;
    this.#position = block.position;
    this.#cursor = block.cursor;
    this.#settle();
    // Copies of requests of an earlier stream may come by this one: all of them are stale.
    if (opensStream(block)) {
      // probe: oracle-floor-raised-by-opening
      this.forget(this.#last);
    }
  }

  /** Forgets decisions at or below `through`: the floor rises to it, if it lies lower. */
  forget(through: Timestamp): void {
    assert(through <= this.#last, "oracle: what is forgotten was known");
    assert(!this.hasDraft, "oracle: nothing is forgotten below a draft");
    this.#decided.forget(through);
    this.#index.raiseFloor(this.#decided.floor);
    this.#settle();
  }

  #close(draft: BlockDraft, covered: BatchRecord, cursor: StreamCursor): void {
    assert(compareCursors(cursor, this.#cursor) > 0, "I9: the cursor only moves forward");
    assert(draft.throughTimestamp === this.#last, "I2: a block reaches as far as its decisions");
    draft.cursor = cursor;
    draft.arrivalMs = covered.arrivalMs;
    this.#cursor = cursor;
    this.#position = draft.position;
  }

  /**
   * Certifies `[from, to)` of one record; gives the first request that found no room, or no step
   * left.
   */
  #certifyRecord(input: OracleInput, record: number, from: number, to: number): number {
    const { requests } = input;
    const arrivalMicros = (input.records[record]?.arrivalMs ?? 0) * 1000;
    for (let request = from; request < to; request++) {
      if (!this.#paysFor(input, request)) return request;
      if ((request - from) % touchAhead === 0) {
        this.#touch(requests, request, Math.min(request + touchAhead, to));
      }
      const slot = this.#slots[(request - from) % touchAhead] ?? 0;
      // mutant: decides-ids-twice
      if (this.#decided.has(requests.ids, request * idWords, slot)) {
        // probe: oracle-duplicate-request
        this.#draft.duplicates += 1;
        continue;
      }
      this.#slot = slot;
      if (!this.#certify(input, record, request, arrivalMicros)) return request;
    }
    return to;
  }

  /** Counts the steps of a request. False: they are too many for this block, which is not empty. */
  #paysFor({ requests, spilled, spilledWrites }: OracleInput, request: number): boolean {
    let steps = 1 + checkCount(requests, request) + writeCount(requests, request);
    if (requests.payloads[request] === columnCode.spilled) {
      const payload = spilled.get(request);
      if (payload?.kind === "read") steps += writeCount(spilledWrites, payload.writesOf);
    }
    if (this.#steps > 0 && this.#steps + steps > this.#stepsMax) return false;
    this.#steps += steps;
    return true;
  }

  /** Brings what certifying `[from, to)` will look at into the processor's cache. */
  #touch(requests: RequestBatch, from: number, to: number): void {
    const { checks, checkStart, writes, writeStart } = requests;
    this.#decided.touch(requests.ids, from, to, this.#slots);
    this.#index.touch(checks, checkStart[from] ?? 0, checkStart[to] ?? 0, checkWords);
    this.#index.touch(writes, writeStart[from] ?? 0, writeStart[to] ?? 0, writeWords);
  }

  /** One undecided request. False: the block is full, and nothing has happened. */
  #certify(input: OracleInput, record: number, request: number, arrivalMicros: number): boolean {
    const { requests } = input;
    const draft = this.#draft;
    const planned = this.#planned;
    planned.record = record;
    planned.spilled = requests.payloads[request] === columnCode.spilled;
    const payload = planned.spilled ? input.spilled.get(request) : undefined;
    assert(!planned.spilled || payload !== undefined, "oracle: payloads are read beforehand");
    const read = payload?.kind === "read";
    planned.writes = read ? input.spilledWrites : requests;
    planned.writesOf = read ? payload.writesOf : request;
    if (!draft.plan(planned)) return false;

    const timestamp = Math.max(this.#last + 1, arrivalMicros) as Timestamp;
    assert(Number.isSafeInteger(timestamp), "I2: a timestamp is a safe integer");
    const outcome = this.#judge(requests, request, payload);
    if (outcome === outcomeCode.stale) {
      draft.addStale(request);
      return true;
    }
    const committed = outcome === outcomeCode.committed;
    if (committed) draft.addCommit(request, timestamp, planned);
    else if (outcome === outcomeCode.conflict) {
      draft.addConflict(request, timestamp, this.#conflictCheck, this.#conflictTimestamp);
    } else draft.addAbort(request, timestamp, outcome);
    assert(!this.#decided.has(requests.ids, request * idWords, this.#slot), "I3: decided once");
    // mutant: probe-without-abort
    this.#remember(requests, request, timestamp, committed);
    return true;
  }

  /** Rules 2 to 7, in their order. */
  #judge(requests: RequestBatch, request: number, payload: SpilledPayload | undefined): number {
    const { writes, writesOf } = this.#planned;
    const checkedTo = requests.checkedTo[request] ?? 0;
    if (checkedTo > this.#last) {
      // probe: oracle-checked-ahead
      return outcomeCode["checked-ahead"];
    }
    // mutant: certifies-beyond-its-memory
    if (checkedTo < this.#decided.floor) {
      // probe: oracle-stale-request
      return outcomeCode.stale;
    }
    if (requests.kinds[request] === columnCode.abort) {
      // probe: oracle-outcome-probed
      return outcomeCode.probed;
    }
    // What was not read for a decided id, which was forgotten since: only a forger's comes here.
    if (payload?.kind === "unreadable" || payload?.kind === "unread") {
      return outcomeCode["payload-unreadable"];
    }
    if (payload?.kind === "too-large") return outcomeCode["too-large"];
    if (this.#keyCount(requests, request) > limits.transactionKeysMax) {
      return outcomeCode["too-large"];
    }
    // mutant: writes-to-any-table
    const tableFault = writes.tableFaults[writesOf];
    if (tableFault === tableFaults.unknown) {
      // probe: oracle-table-unknown
      return outcomeCode["table-unknown"];
    }
    if (tableFault === tableFaults.differs) {
      // probe: oracle-table-differs
      return outcomeCode["table-differs"];
    }
    const { checks } = requests;
    const start = requests.checkStart[request] ?? 0;
    const end = requests.checkStart[request + 1] ?? 0;
    for (let check = start; check < end; check++) {
      const at = check * checkWords;
      const found = this.#index.lookup(checks[at] ?? 0, checks[at + 1] ?? 0);
      // mutant: certifies-without-checks
      // mutant: checks-off-by-a-little
      if (found <= checkedTo) continue;
      assert(found <= this.#last, "I4: the index knows nothing of the future");
      // probe: oracle-conflict
      this.#conflictCheck = check - start;
      this.#conflictTimestamp = found;
      return outcomeCode.conflict;
    }
    return outcomeCode.committed;
  }

  /**
   * Keys read plus keys written. A snapshot request checks what it writes: those are the same keys.
   */
  #keyCount(requests: RequestBatch, request: number): number {
    const checks = checkCount(requests, request);
    const { writes, writesOf } = this.#planned;
    const written = writeCount(writes, writesOf);
    return requests.isolations[request] === columnCode.snapshot
      ? Math.max(checks, written)
      : checks + written;
  }

  /**
   * Takes a decision into the state; of a commit, the planned writes. The floor rises first, so
   * that the index need only span one window.
   */
  #remember(batch: RequestBatch, request: number, timestamp: Timestamp, committed: boolean): void {
    assert(timestamp > this.#last, "I2: timestamps rise");
    const { writes, writesOf } = this.#planned;
    const entries = committed ? limits.indexEntriesPerWriteMax * writeCount(writes, writesOf) : 0;
    const weight = limits.decidedIdWeight + entries;
    this.#decided.add(batch.ids, request * idWords, timestamp, weight, this.#slot);
    this.#index.raiseFloor(this.#decided.floor);
    this.#last = timestamp;
    if (committed) this.#enterWrites(writes, writesOf, timestamp);
  }

  /** Every write counts for its key, its partition and its table. */
  #enterWrites(batch: RequestBatch, request: number, timestamp: Timestamp): void {
    const { writes } = batch;
    const index = this.#index;
    const end = (batch.writeStart[request + 1] ?? 0) * writeWords;
    let tableHigh = -1;
    let tableLow = -1;
    for (let at = (batch.writeStart[request] ?? 0) * writeWords; at < end; at += writeWords) {
      const high = writes[at] ?? 0;
      const low = writes[at + 1] ?? 0;
      if (high !== tableHigh || low !== tableLow) index.enter(high, low, timestamp);
      tableHigh = high;
      tableLow = low;
      const keyHigh = writes[at + 4] ?? 0;
      const keyLow = writes[at + 5] ?? 0;
      const partitionHigh = writes[at + 2] ?? 0;
      const partitionLow = writes[at + 3] ?? 0;
      index.enter(keyHigh, keyLow, timestamp);
      // mutant: partitions-not-entered
      if (partitionHigh !== keyHigh || partitionLow !== keyLow) {
        index.enter(partitionHigh, partitionLow, timestamp);
      }
    }
  }
}

function checkCount(batch: RequestBatch, request: number): number {
  return (batch.checkStart[request + 1] ?? 0) - (batch.checkStart[request] ?? 0);
}

function writeCount(batch: RequestBatch, request: number): number {
  return (batch.writeStart[request + 1] ?? 0) - (batch.writeStart[request] ?? 0);
}

function cursorWithin(
  record: BatchRecord,
  requestsDone: StreamCursor["requestsDone"],
): StreamCursor {
  return { sequenceNumber: record.sequenceNumber, requestsDone };
}

assert(
  limits.decidedIdWeight + limits.indexEntriesPerWriteMax * limits.transactionKeysMax <=
    limits.indexEntriesMax,
  "limits: the index holds the largest transaction",
);
