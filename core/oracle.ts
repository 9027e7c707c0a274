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
import type { BatchRecord, OracleInput, PlannedCommit } from "./block-draft.ts";
import {
  assertContinues,
  assertCursorMayFollow,
  assertNamesOldestOpen,
  outdatesChecks,
} from "./block-order.ts";
import { Certification } from "./certification.ts";
import { compareCursors, cursorIn, firstUncovered, requestsDone } from "./cursor.ts";
import type { OpenTransaction } from "./open-transactions.ts";
import { oracleBoundsDefault, type OracleBounds, type OracleStart } from "./oracle-bounds.ts";
import { OracleMemory } from "./oracle-memory.ts";
import { outcomeCode } from "./verdict-kinds.ts";
import { isDecidedIn } from "./whole-outcome.ts";
import {
  checkCount,
  checkWords,
  columnCode,
  idWords,
  RequestBatch,
  writeCount,
  writeWords,
} from "./request-batch.ts";
import { wholeRange, type OwnRange } from "./shard-map.ts";
import { settlementBy } from "./settlement.ts";
import type { SlotSeed } from "./slot-seed.ts";
import { placeOf } from "./decision.ts";
import type {
  Decision,
  LogBlock,
  LogPosition,
  PreparedVerdict,
  ShardNumber,
  StreamCursor,
  Timestamp,
  TransactionId,
} from "./types.ts";
import { appendDecision, idAt } from "./verdict-columns.ts";

/** How many requests ahead of certification their index slots are touched. */
const touchAhead = 16;

export class Oracle {
  #position: LogPosition;
  #cursor: StreamCursor | undefined;
  readonly #memory: OracleMemory;
  readonly #draft: BlockDraft;
  /** The oldest block with an open transaction, where the log no longer holds that block. */
  #lostOpen: LogPosition | undefined = undefined;
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
  readonly #certification: Certification;
  /** The request being certified. */
  readonly #planned: PlannedCommit;
  /** Whose log it is. */
  readonly #number: ShardNumber;

  /**
   * @param seed chooses where its tables keep what; no decision depends on it.
   * @param range what it writes lies there.
   */
  constructor(
    start: OracleStart,
    seed: SlotSeed,
    bounds: OracleBounds = oracleBoundsDefault,
    range: OwnRange = wholeRange,
  ) {
    assert(start.position >= 0 && start.timestamp >= 0, "I1: a log begins somewhere");
    this.#position = start.position;
    this.#cursor = start.cursor;
    // mutant: claims-more-than-it-folded
    const floor = start.timestamp;
    this.#memory = new OracleMemory({ floor, last: start.timestamp }, seed, bounds);
    this.#certification = new Certification(this.#memory, range);
    this.#number = range.number ?? (0 as ShardNumber);
    this.#draft = new BlockDraft({
      bytesMax: bounds.blockBytesMax,
      verdictsMax: bounds.blockVerdictsMax,
    });
    assert(bounds.blockStepsMax > 0, "oracle: a block takes some steps");
    this.#stepsMax = bounds.blockStepsMax;
    const writes = this.#folded;
    this.#planned = {
      record: 0,
      spilled: false,
      checks: undefined,
      parts: undefined,
      writes,
      writesOf: 0,
    };
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
    return this.#memory.last;
  }

  /** How far into the stream the log reaches. */
  get cursor(): StreamCursor | undefined {
    return this.#cursor;
  }

  /** The index knows every commit above it; a request checked to less is `stale`. */
  get floor(): Timestamp {
    return this.#memory.floor;
  }

  /** What is open under the id, if it is a part of what is not decided in this log. */
  openPart(id: TransactionId): PreparedVerdict | undefined {
    const opened = this.#memory.open.get(id)?.prepared;
    return opened === undefined || isDecidedIn(this.#number, opened) ? undefined : opened;
  }

  /** For metrics and benchmarks; counts the live entries by a walk over the index. */
  figures(): {
    /** Steps in the tables beyond the first one of each search. */
    readonly detours: number;
    readonly indexBytes: number;
    readonly indexLive: number;
    readonly decidedIds: number;
    readonly open: number;
  } {
    const { index, decided, open } = this.#memory;
    return {
      detours: index.detours + decided.detours,
      indexBytes: index.byteLength,
      indexLive: index.countLive(),
      decidedIds: decided.size,
      open: open.size,
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
    const before = { position: this.#position, timestamp: this.last, cursor: this.#cursor };
    const draft = this.#draft;
    draft.begin({
      position: (this.#position + 1) as LogPosition,
      previousTimestamp: this.last,
      oldestOpen: this.#lostOpen ?? this.#memory.open.oldest?.position,
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
          cursor = cursorIn(record, to - record.requestStart);
        }
        break;
      }
      if (record.rejected) draft.rejectedRecords += 1;
      covered = record;
      cursor = undefined;
    }
    if (covered === undefined) return undefined;
    this.#close(draft, covered, cursor ?? cursorIn(covered, "all"));
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
    this.#memory.undo();
    assert(this.last === before.timestamp, "I2: a lost draft's timestamps are handed out again");
    this.#position = before.position;
    this.#cursor = before.cursor;
    this.#before = undefined;
  }

  /** All that the state holds is in the log: an undo comes back to here. */
  #settle(): void {
    this.#before = undefined;
    this.#memory.mark();
  }

  /**
   * Whether the request will be refused whatever its payload says, by rules 1 to 3, when all before
   * it in the batch are decided: timestamps and the floor only rise. An id may be forgotten until
   * then; no client sends one again that is.
   * @param arrivalMs the newest of the batch.
   */
  refusesUnread(requests: RequestBatch, request: number, arrivalMs: number): boolean {
    const checkedTo = requests.checkedTo[request] ?? 0;
    const lastMax = Math.max(this.last, arrivalMs * 1000) + requests.count;
    if (checkedTo > lastMax || checkedTo < this.floor) return true;
    const { decided, open } = this.#memory;
    if (decided.has(requests.ids, request * idWords)) return true;
    return open.size > 0 && open.get(idAt(requests, request)) !== undefined;
  }

  /**
   * Takes in a block that the log holds, whoever made it. It may decide what is decided: of an id
   * that a liar sends again with a check that nobody has made, by an oracle that remembers less.
   * @throws CorruptDataError for one that may not follow the block before.
   */
  fold(block: LogBlock): void {
    assert(!this.hasDraft, "I1: a draft is undone before its position is folded");
    assert(block.position === this.#position + 1, "I1: positions are dense");
    assertContinues(block, this.last);
    assertCursorMayFollow(block, this.#cursor);
    const { open } = this.#memory;
    assertNamesOldestOpen(block, open);
    const { oldestOpen } = block;
    if (oldestOpen === undefined || oldestOpen > (this.#lostOpen ?? 0)) this.#lostOpen = undefined;
    for (const verdict of block.verdicts) {
      open.fold(verdict, block.position);
      if (verdict.kind === "stale" || verdict.kind === "busy") continue;
      assert(placeOf(verdict) <= block.throughTimestamp, "I2: a block reaches its decisions");
      this.#foldVerdict(verdict);
    }
    this.#memory.reach(block.throughTimestamp);
    this.#position = block.position;
    this.#cursor = block.cursor;
    this.#settle();
    this.#certification.follow(block);
    if (outdatesChecks(block)) {
      // probe: oracle-floor-raised-by-opening
      this.forget(this.last);
    }
  }

  /** Its id is remembered; of a commit, what it writes. */
  #foldVerdict(verdict: Decision | PreparedVerdict): void {
    const batch = this.#folded;
    batch.clear();
    appendDecision(batch, verdict);
    const decision = { requests: batch, request: 0, writes: batch, writesOf: 0 };
    const slot = this.#memory.decided.slotOf(batch.ids, 0);
    const committed = verdict.kind === "committed";
    // By its place: who has checked up to there has seen it.
    this.#memory.remember(decision, placeOf(verdict), { committed, slot });
  }

  /** What the log's newest header names as open, and a window does not reach: no decisions. */
  foldOpen(block: LogBlock): void {
    assert(block.position <= this.#position && !this.hasDraft, "oracle: what is open lies behind");
    for (const verdict of block.verdicts) this.#memory.open.fold(verdict, block.position);
    this.#settle();
  }

  /**
   * The log no longer holds all that was prepared from that block on: what was is not known here.
   * Blocks go on to name it, for those who do know, until one says that nothing so old is open.
   */
  missOpen(oldest: LogPosition): void {
    assert(!this.hasDraft, "oracle: what is open is looked for before anything is certified");
    this.#lostOpen = oldest;
  }

  /** Forgets decisions at or below `through`: the floor rises to it, if it lies lower. */
  forget(through: Timestamp): void {
    assert(through <= this.last, "oracle: what is forgotten was known");
    assert(!this.hasDraft, "oracle: nothing is forgotten below a draft");
    this.#memory.forget(through);
    this.#settle();
  }

  #close(draft: BlockDraft, covered: BatchRecord, cursor: StreamCursor): void {
    assert(compareCursors(cursor, this.#cursor) > 0, "I9: the cursor only moves forward");
    assert(draft.throughTimestamp === this.last, "I2: a block reaches as far as its decisions");
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
      const opened = this.#opened(requests, request);
      if (opened !== undefined) {
        if (!this.#settleOpen(input, request, { opened, arrivalMicros })) return request;
        continue;
      }
      // A vote, or a request to settle what is open.
      const isOnOpen = (requests.kinds[request] ?? 0) >= columnCode.vote;
      // mutant: decides-ids-twice
      if (isOnOpen || this.#memory.decided.has(requests.ids, request * idWords, slot)) {
        // probe: oracle-duplicate-request
        this.#draft.duplicates += 1;
        continue;
      }
      this.#slot = slot;
      if (!this.#certify(input, record, request, arrivalMicros)) return request;
    }
    return to;
  }

  #opened(requests: RequestBatch, request: number): OpenTransaction | undefined {
    const { open } = this.#memory;
    return open.size === 0 ? undefined : open.get(idAt(requests, request));
  }

  /** A request on what is open (settlement.ts). False: the block is full. */
  #settleOpen(
    input: OracleInput,
    request: number,
    { opened, arrivalMicros }: { readonly opened: OpenTransaction; readonly arrivalMicros: number },
  ): boolean {
    const draft = this.#draft;
    const { prepared } = opened;
    const of = { prepared, shard: this.#number, arrivalMicros };
    const settlement = settlementBy(input, request, of);
    if (settlement === undefined) {
      draft.duplicates += 1;
      return true;
    }
    const { stamps, counted } =
      settlement.kind === "committed" ? settlement : { stamps: undefined, counted: undefined };
    if (!draft.planVote(opened, stamps ?? [])) return false;
    const timestamp = Math.max(this.last + 1, arrivalMicros, counted ?? 0) as Timestamp;
    let decision: Decision;
    if (settlement.kind === "aborted") {
      draft.addAbort(request, timestamp, outcomeCode.probed);
      const { id } = prepared;
      decision = { kind: "aborted", id, timestamp, reason: { kind: "probed" } };
    } else {
      let at: Timestamp | undefined;
      if (counted !== undefined) {
        // probe: oracle-enters-a-part
        // mutant: counts-where-placed
        at = counted;
      }
      decision = draft.addVoted(request, timestamp, { opened, stamps, counted: at });
    }
    this.#memory.open.fold(decision, draft.position);
    this.#foldVerdict(decision);
    return true;
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
    const { decided, index } = this.#memory;
    decided.touch(requests.ids, from, to, this.#slots);
    index.touch(checks, checkStart[from] ?? 0, checkStart[to] ?? 0, checkWords);
    index.touch(writes, writeStart[from] ?? 0, writeStart[to] ?? 0, writeWords);
  }

  /** One undecided request. False: the block is full, and nothing has happened. */
  #certify(input: OracleInput, record: number, request: number, arrivalMicros: number): boolean {
    const { requests } = input;
    const draft = this.#draft;
    const planned = this.#planned;
    planned.record = record;
    planned.checks =
      requests.kinds[request] === columnCode.prepare ? checkCount(requests, request) : undefined;
    planned.parts = requests.parts.get(request);
    planned.spilled = requests.payloads[request] === columnCode.spilled;
    const payload = planned.spilled ? input.spilled.get(request) : undefined;
    assert(!planned.spilled || payload !== undefined, "oracle: payloads are read beforehand");
    const read = payload?.kind === "read";
    planned.writes = read ? input.spilledWrites : requests;
    planned.writesOf = read ? payload.writesOf : request;
    if (!draft.plan(planned)) return false;

    const timestamp = Math.max(this.last + 1, arrivalMicros) as Timestamp;
    assert(Number.isSafeInteger(timestamp), "I2: a timestamp is a safe integer");
    const certification = this.#certification;
    const outcome = certification.judge(requests, request, { planned, payload });
    if (outcome === outcomeCode.stale) {
      draft.addStale(request);
      return true;
    }
    if (outcome === outcomeCode.busy) {
      draft.addBusy(request, certification.inTheWay);
      return true;
    }
    const { decided, open } = this.#memory;
    assert(!decided.has(requests.ids, request * idWords, this.#slot), "I3: decided once");
    const committed = outcome === outcomeCode.committed;
    if (committed) draft.addCommit(request, timestamp, planned);
    else if (outcome === outcomeCode.prepared) {
      open.fold(draft.addPrepared(request, timestamp, { planned, input }), draft.position);
    } else if (outcome === outcomeCode.conflict) {
      const { conflictCheck, conflictTimestamp } = certification;
      draft.addConflict(request, timestamp, conflictCheck, conflictTimestamp);
    } else draft.addAbort(request, timestamp, outcome);
    const { writes, writesOf } = planned;
    const remembered = { requests, request, writes, writesOf };
    // mutant: probe-without-abort
    this.#memory.remember(remembered, timestamp, { committed, slot: this.#slot });
    return true;
  }
}
