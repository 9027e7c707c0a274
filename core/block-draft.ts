/**
 * A block in the making: the verdicts of one oracle step as columns, and the bound on the bytes
 * that they will take. The oracle fills it and cuts the batch by it; schemas/log-block-draft.ts
 * encodes it straight from the columns, and asserts that the bound held.
 *
 * Invariants: I1 (one block per position), I2 (its timestamps rise).
 */
import { assert } from "./assert.ts";
import {
  abortBytesMax,
  busyBytesMax,
  checkCountBytesMax,
  stampBytesMax,
  countedBytesMax,
  partBytesMax,
  partCountBytesMax,
  votedBytesMax,
  writeHashesBytesMax,
  blockFrameBytesMax,
  decisionBytesMax,
  hashBytes,
  newRecordBytesMax,
  newTableBytesMax,
  sameRecordBytesMax,
  simpleWriteBytesMax,
  sortedWriteBytesMax,
  spilledBytesMax,
  staleBytesMax,
  writeCountBytesMax,
} from "./block-bytes.ts";
import * as limits from "./limits.ts";
import { outcomeCode } from "./verdict-kinds.ts";
import type { OpenTransaction } from "./open-transactions.ts";
import { columnCode, sortKeyWords, writeWords, type RequestBatch } from "./request-batch.ts";
import { checksAt, idAt, writesAt } from "./verdict-columns.ts";
import {
  timestampZero,
  type CommittedVerdict,
  type LogPosition,
  type Part,
  type PreparedVerdict,
  type Stamp,
  type TransactionId,
  type WriteHashes,
  type SequenceNumber,
  type StreamCursor,
  type Timestamp,
  type WholeOutcome,
} from "./types.ts";

/** A record of the batch that an oracle certifies, in stream order. */
export type BatchRecord = {
  readonly sequenceNumber: SequenceNumber;
  /** Milliseconds since the epoch. */
  readonly arrivalMs: number;
  /** It did not decode: it has no requests, and is counted. */
  readonly rejected: boolean;
  /** Its requests are `[requestStart, requestEnd)` of the batch. */
  readonly requestStart: number;
  readonly requestEnd: number;
};

/** What became of a payload that its request only refers to. */
export type SpilledPayload =
  | {
      readonly kind: "read";
      /** The request of `OracleInput.spilledWrites` that holds its writes and table fault. */
      readonly writesOf: number;
      readonly chunks: number;
      readonly byteLength: number;
      readonly digest: Uint8Array;
    }
  /** Missing, incomplete, or not what its reference says. */
  | { readonly kind: "unreadable" }
  /** Not needed, since its request is refused without it: a duplicate, stale, or checked ahead. */
  | { readonly kind: "unread" }
  /** A limit is exceeded by what was read so far. */
  | { readonly kind: "too-large" };

/**
 * A decoded batch, complete up to `requestsEnd`: every spilled payload below it has been looked up.
 */
export type OracleInput = {
  readonly requests: RequestBatch;
  readonly records: readonly BatchRecord[];
  /** By request index. */
  readonly spilled: ReadonlyMap<number, SpilledPayload>;
  readonly spilledWrites: RequestBatch;
  /**
   * What became of transactions that others ask to settle, by request, as all their logs say: what
   * is not there is open.
   */
  readonly settled?: ReadonlyMap<number, WholeOutcome>;
  /** Requests at or above it are left for later. */
  readonly requestsEnd: number;
};

/** The request at hand, as if it were to commit. Reused from request to request. */
export type PlannedCommit = {
  /** Record of the batch that carries it. */
  record: number;
  spilled: boolean;
  /** Where its writes are: of a spilled payload, not where the request is. */
  writes: RequestBatch;
  writesOf: number;
  /** How many it has, if it is to be prepared: they stand in the block. */
  checks: number | undefined;
  /** If it is to be prepared as one of them. */
  parts: readonly Part[] | undefined;
};

/** What a vote decides. */
export type VotedCommit = {
  readonly opened: OpenTransaction;
  /** Undefined: its parts decide it. */
  readonly stamps: readonly Stamp[] | undefined;
  /** Of a part: the timestamp at which the whole counts. */
  readonly counted?: Timestamp | undefined;
};

/** Of one that its parts decide there are none: its verdict looks as if there were no stamps. */
function ofVote(stamps: readonly Stamp[] | undefined): { readonly stamps?: readonly Stamp[] } {
  return stamps === undefined ? {} : { stamps };
}

export class BlockDraft {
  position = 0 as LogPosition;
  previousTimestamp: Timestamp = timestampZero;
  throughTimestamp: Timestamp = timestampZero;
  cursor: StreamCursor | undefined = undefined;
  arrivalMs = 0;
  rejectedRecords = 0;
  oldestOpen: LogPosition | undefined = undefined;
  /** Requests that were decided before: not part of the block, for metrics. */
  duplicates = 0;

  /** Verdicts held; the columns below are valid up to here. */
  count = 0;
  readonly requests = new Uint32Array(limits.blockVerdictsMax);
  readonly outcomes = new Uint8Array(limits.blockVerdictsMax);
  /** 0 for a stale one. */
  readonly timestamps = new Float64Array(limits.blockVerdictsMax);
  /** For conflicts: number of the check, and the commit timestamp found there. */
  readonly checks = new Uint32Array(limits.blockVerdictsMax);
  readonly conflictTimestamps = new Float64Array(limits.blockVerdictsMax);
  /** Of votes and busy answers, by their place. */
  readonly voted = new Map<number, CommittedVerdict>();
  readonly inTheWay = new Map<number, TransactionId>();
  /** 1 where sort keys are left out, because the block could not hold them (hashes stand in). */
  readonly compact = new Uint8Array(limits.blockVerdictsMax);

  /** Bound on the encoded bytes of the block so far. */
  bytesBound = blockFrameBytesMax;
  /** Record of the newest commit whose payload lies in the stream; −1: none. */
  #locatedRecord = -1;
  #plannedBytes = 0;
  #plannedCompact = false;
  #plannedWrites: readonly WriteHashes[] = [];
  readonly #bytesMax: number;
  readonly #verdictsMax: number;

  constructor(bounds: { readonly bytesMax: number; readonly verdictsMax: number }) {
    assert(
      bounds.bytesMax > 2 * blockFrameBytesMax && bounds.bytesMax <= limits.blockBytesMax,
      "draft: at most a block's bytes",
    );
    assert(
      bounds.verdictsMax > 0 && bounds.verdictsMax <= limits.blockVerdictsMax,
      "draft: at most a block's verdicts",
    );
    this.#bytesMax = bounds.bytesMax;
    this.#verdictsMax = bounds.verdictsMax;
  }

  begin(block: Pick<BlockDraft, "position" | "previousTimestamp" | "oldestOpen">): void {
    this.position = block.position;
    this.previousTimestamp = block.previousTimestamp;
    this.throughTimestamp = block.previousTimestamp;
    this.cursor = undefined;
    this.arrivalMs = 0;
    this.rejectedRecords = 0;
    this.oldestOpen = block.oldestOpen;
    this.duplicates = 0;
    this.count = 0;
    this.voted.clear();
    this.inTheWay.clear();
    this.bytesBound = blockFrameBytesMax;
    this.#locatedRecord = -1;
  }

  /**
   * Whether the commit of a request fits, at its largest. Remembers how, for `addCommit`. A request
   * too large for any block without its sort keys is planned as if it had no writes: it will abort.
   */
  plan(commit: PlannedCommit): boolean {
    const location = commit.spilled
      ? spilledBytesMax
      : commit.record === this.#locatedRecord
        ? sameRecordBytesMax
        : newRecordBytesMax;
    const checks = commit.checks === undefined ? 0 : checkCountBytesMax + hashBytes * commit.checks;
    const { parts } = commit;
    const named = parts === undefined ? 0 : partCountBytesMax + partBytesMax * parts.length;
    const head = decisionBytesMax + location + checks + named + writeCountBytesMax;
    const room = this.#bytesMax - blockFrameBytesMax - head;
    let writes = writesBytesMax(commit.writes, commit.writesOf, false);
    this.#plannedCompact = writes > room;
    if (this.#plannedCompact) writes = writesBytesMax(commit.writes, commit.writesOf, true);
    this.#plannedBytes = head + (writes > room ? 0 : writes);
    if (this.count === 0) return true;
    return this.count < this.#verdictsMax && this.bytesBound + this.#plannedBytes <= this.#bytesMax;
  }

  /** Adds the commit that was planned last. */
  addCommit(request: number, timestamp: Timestamp, commit: PlannedCommit): void {
    this.#add(request, outcomeCode.committed, timestamp, this.#plannedBytes);
    this.compact[this.count - 1] = this.#plannedCompact ? 1 : 0;
    if (!commit.spilled) this.#locatedRecord = commit.record;
  }

  /** Adds what was planned last, to be decided by a vote; gives it as the log will. */
  addPrepared(
    request: number,
    timestamp: Timestamp,
    { planned, input }: { readonly planned: PlannedCommit; readonly input: OracleInput },
  ): PreparedVerdict {
    this.#add(request, outcomeCode.prepared, timestamp, this.#plannedBytes);
    this.compact[this.count - 1] = this.#plannedCompact ? 1 : 0;
    const { parts } = planned;
    const payload = payloadAt(input, request);
    if (payload.kind === "stream") this.#locatedRecord = planned.record;
    return {
      kind: "prepared",
      id: idAt(input.requests, request),
      timestamp,
      checks: checksAt(input.requests, request),
      writes: writesAt(planned.writes, planned.writesOf, this.#plannedCompact),
      payload,
      ...(parts === undefined ? {} : { parts }),
    };
  }

  /**
   * Whether a vote fits, at its largest. Remembers how, for `addVoted`: stamps may leave no room
   * for sort keys, where what was prepared had them.
   */
  planVote({ prepared }: OpenTransaction, stamps: readonly Stamp[]): boolean {
    this.#plannedWrites = prepared.writes;
    let bytes = votedBytes(prepared.writes, stamps.length);
    if (bytes > this.#bytesMax - blockFrameBytesMax) {
      this.#plannedWrites = withoutSortKeys(prepared.writes);
      bytes = votedBytes(this.#plannedWrites, stamps.length);
    }
    this.#plannedBytes = bytes;
    if (this.count === 0) return true;
    return this.count < this.#verdictsMax && this.bytesBound + bytes <= this.#bytesMax;
  }

  /** Adds the commit by the vote that was planned last; gives it as the log will. */
  addVoted(
    request: number,
    timestamp: Timestamp,
    { opened, stamps, counted }: VotedCommit,
  ): CommittedVerdict {
    const { id } = opened.prepared;
    const writes = this.#plannedWrites;
    const payload = { kind: "prepared", position: opened.position } as const;
    const at = counted === undefined ? { timestamp } : { timestamp: counted, placed: timestamp };
    const verdict: CommittedVerdict = {
      ...{ kind: "committed", id, ...at, writes, payload },
      ...ofVote(stamps),
    };
    const outcome = counted === undefined ? outcomeCode.voted : outcomeCode.counted;
    this.#add(request, outcome, timestamp, this.#plannedBytes);
    this.voted.set(this.count - 1, verdict);
    return verdict;
  }

  addBusy(request: number, inTheWay: TransactionId): void {
    this.#add(request, outcomeCode.busy, timestampZero, busyBytesMax);
    this.inTheWay.set(this.count - 1, inTheWay);
  }

  addConflict(
    request: number,
    timestamp: Timestamp,
    check: number,
    conflictTimestamp: Timestamp,
  ): void {
    assert(conflictTimestamp < timestamp, "I4: a conflict lies before the decision");
    this.#add(request, outcomeCode.conflict, timestamp, abortBytesMax);
    this.checks[this.count - 1] = check;
    this.conflictTimestamps[this.count - 1] = conflictTimestamp;
  }

  addAbort(request: number, timestamp: Timestamp, outcome: number): void {
    assert(
      outcome > outcomeCode.conflict && outcome < outcomeCode.stale,
      "draft: an abort without details",
    );
    this.#add(request, outcome, timestamp, abortBytesMax);
  }

  addStale(request: number): void {
    this.#add(request, outcomeCode.stale, timestampZero, staleBytesMax);
  }

  #add(request: number, outcome: number, timestamp: number, bytes: number): void {
    const i = this.count;
    assert(i < this.#verdictsMax, "I1: a block holds a bounded number of verdicts");
    this.requests[i] = request;
    this.outcomes[i] = outcome;
    this.timestamps[i] = timestamp;
    this.bytesBound += bytes;
    this.count = i + 1;
    if (outcome === outcomeCode.stale || outcome === outcomeCode.busy) return;
    assert(timestamp > this.throughTimestamp, "I2: timestamps rise within a block");
    this.throughTimestamp = timestamp as Timestamp;
  }
}

/** Where the block will say that the payload of what is prepared lies. */
function payloadAt(
  { requests, records, spilled }: OracleInput,
  request: number,
): PreparedVerdict["payload"] {
  const isEmptyPart = requests.payloads[request] === columnCode.none && requests.parts.has(request);
  if (isEmptyPart) return { kind: "none" };
  if (requests.payloads[request] === columnCode.spilled) {
    const payload = spilled.get(request);
    assert(payload?.kind === "read", "draft: a payload that is prepared has been read");
    const { chunks, byteLength, digest } = payload;
    return { kind: "spilled", chunks, byteLength, digest };
  }
  const record = records[requests.records[request] ?? 0];
  assert(record !== undefined, "draft: a request belongs to a record");
  const requestIndex = requests.indexInRecord[request] ?? 0;
  return { kind: "stream", sequenceNumber: record.sequenceNumber, requestIndex };
}

function withoutSortKeys(writes: readonly WriteHashes[]): WriteHashes[] {
  return writes.map(({ table, partition, key }) => ({ table, partition, key, sortKey: undefined }));
}

/** Bound on the encoded bytes of a commit by vote. */
function votedBytes(writes: readonly WriteHashes[], stamps: number): number {
  const details = Math.max(votedBytesMax + stamps * stampBytesMax, countedBytesMax);
  const head = decisionBytesMax + details + writeCountBytesMax;
  return head + writeHashesBytesMax(writes);
}

/** Bound on the encoded bytes of a request's writes, sort keys included or left out. */
function writesBytesMax(batch: RequestBatch, request: number, compact: boolean): number {
  const { writes, sortKeys } = batch;
  const end = batch.writeStart[request + 1] ?? 0;
  let bytes = 0;
  let tableHigh = -1;
  let tableLow = -1;
  for (let write = batch.writeStart[request] ?? 0; write < end; write++) {
    const at = write * writeWords;
    if (writes[at] !== tableHigh || writes[at + 1] !== tableLow) {
      tableHigh = writes[at] ?? 0;
      tableLow = writes[at + 1] ?? 0;
      bytes += newTableBytesMax;
    }
    const sortKeyLength = sortKeys[write * sortKeyWords + 1] ?? 0;
    if (writes[at + 2] === writes[at + 4] && writes[at + 3] === writes[at + 5]) {
      bytes += simpleWriteBytesMax;
    } else if (compact || sortKeyLength === 0 || sortKeyLength > limits.blockSortKeyBytesMax) {
      bytes += sortedWriteBytesMax + hashBytes;
    } else bytes += sortedWriteBytesMax + sortKeyLength;
  }
  return bytes;
}

assert(
  blockFrameBytesMax +
    decisionBytesMax +
    newRecordBytesMax +
    writeCountBytesMax +
    limits.transactionKeysMax * (newTableBytesMax + sortedWriteBytesMax + hashBytes) <=
    limits.blockBytesMax,
  "limits: the largest commit fits a block",
);
assert(
  blockFrameBytesMax +
    decisionBytesMax +
    votedBytesMax +
    writeCountBytesMax +
    limits.preparedWritesMax *
      (newTableBytesMax + sortedWriteBytesMax + hashBytes + stampBytesMax) <=
    limits.blockBytesMax,
  "limits: the largest commit by vote fits a block",
);
