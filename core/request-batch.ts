/**
 * The requests of one oracle batch as a structure of arrays. Decoding (schemas/) appends to it,
 * certification (core/oracle.ts) reads it: at hundreds of thousands of requests a second, an
 * object, an array and a bigint per key would cost more than the decision itself.
 *
 * A 64-bit hash is two words, high then low. Buffers grow by doubling and are reused between
 * batches.
 */
import { assert } from "./assert.ts";
import type { Part, RequestKind, Stamp, WholeOutcome } from "./types.ts";
import { decidingPart } from "./whole-outcome.ts";

/** Codes of the columns: what a record's own codes stand for, in the order of these lists. */
export const requestKinds = [
  "commit",
  "abort",
  "prepare",
  "vote",
  "settle",
] as const satisfies readonly RequestKind[];
export const isolationKinds = ["serializable", "snapshot"] as const;
export const payloadKinds = ["none", "inline", "spilled"] as const;
/** The codes that decisions ask for. */
export const columnCode = {
  abort: 1,
  prepare: 2,
  vote: 3,
  settle: 4,
  snapshot: 1,
  none: 0,
  spilled: 2,
} as const;
/** What is wrong with the tables that a payload names. */
export const tableFaults = { none: 0, unknown: 1, differs: 2 } as const;
export type TableFault = (typeof tableFaults)[keyof typeof tableFaults];

/** Words of one write: table, partition and key hash. */
export const writeWords = 6;
export const checkWords = 2;
export const sortKeyWords = 2;
export const idWords = 4;

export function checkCount(batch: RequestBatch, request: number): number {
  return (batch.checkStart[request + 1] ?? 0) - (batch.checkStart[request] ?? 0);
}

export function writeCount(batch: RequestBatch, request: number): number {
  return (batch.writeStart[request + 1] ?? 0) - (batch.writeStart[request] ?? 0);
}

function grown<T extends Uint32Array | Float64Array | Uint8Array>(array: T, needed: number): T {
  if (needed <= array.length) return array;
  const make = array.constructor as new (length: number) => T;
  const larger = new make(Math.max(needed, array.length * 2));
  larger.set(array);
  return larger;
}

export class RequestBatch {
  /** Requests held. */
  count = 0;
  /** Four big-endian words each. */
  ids = new Uint32Array(1024 * idWords);
  kinds = new Uint8Array(1024);
  isolations = new Uint8Array(1024);
  payloads = new Uint8Array(1024);
  /** TableFault. */
  tableFaults = new Uint8Array(1024);
  /** Requests held that have one. */
  tableFaultCount = 0;
  checkedTo = new Float64Array(1024);
  /** Request i's checks are [checkStart[i], checkStart[i + 1]), in checks; its writes likewise. */
  checkStart = new Uint32Array(1025);
  writeStart = new Uint32Array(1025);
  /**
   * Index of the record (within the batch) that carries request i, and i's index in that record.
   */
  records = new Uint32Array(1024);
  indexInRecord = new Uint32Array(1024);
  checks = new Uint32Array(8192 * checkWords);
  writes = new Uint32Array(8192 * writeWords);
  /**
   * Per write: start and length, within `sources` of its request, of the encoded sort-key value;
   * length 0 on a table without a sort key. The block encoder copies it (WriteHashes.sortKey in
   * types.ts).
   */
  sortKeys = new Uint32Array(8192 * sortKeyWords);
  /** What votes say, by request; of one whose proof is not its id's, nothing. */
  readonly votes = new Map<number, readonly Stamp[]>();
  /** Of votes that count on a part, by request: what became of the whole. */
  readonly wholes = new Map<number, WholeOutcome>();
  /** Of what is to be prepared as a part, by request. */
  readonly parts = new Map<number, readonly Part[]>();
  /** Per request: the bytes that `sortKeys` points into (the record, or the spilled payload). */
  readonly sources: Uint8Array[] = [];

  clear(): void {
    this.count = 0;
    this.tableFaultCount = 0;
    this.sources.length = 0;
    this.votes.clear();
    this.wholes.clear();
    this.parts.clear();
  }

  /** Opens request `count`; checks and writes follow; `end` closes it. */
  begin(request: {
    readonly kind: 0 | 1 | 2 | 3 | 4;
    readonly isolation: 0 | 1;
    readonly payload: 0 | 1 | 2;
    readonly id0: number;
    readonly id1: number;
    readonly id2: number;
    readonly id3: number;
    readonly checkedTo: number;
    readonly record: number;
    readonly indexInRecord: number;
    readonly source: Uint8Array;
  }): void {
    const i = this.count;
    this.ids = grown(this.ids, (i + 1) * idWords);
    this.kinds = grown(this.kinds, i + 1);
    this.isolations = grown(this.isolations, i + 1);
    this.payloads = grown(this.payloads, i + 1);
    this.tableFaults = grown(this.tableFaults, i + 1);
    this.checkedTo = grown(this.checkedTo, i + 1);
    this.checkStart = grown(this.checkStart, i + 2);
    this.writeStart = grown(this.writeStart, i + 2);
    this.records = grown(this.records, i + 1);
    this.indexInRecord = grown(this.indexInRecord, i + 1);
    this.ids[i * idWords] = request.id0;
    this.ids[i * idWords + 1] = request.id1;
    this.ids[i * idWords + 2] = request.id2;
    this.ids[i * idWords + 3] = request.id3;
    this.kinds[i] = request.kind;
    this.isolations[i] = request.isolation;
    this.payloads[i] = request.payload;
    this.tableFaults[i] = tableFaults.none;
    this.checkedTo[i] = request.checkedTo;
    this.records[i] = request.record;
    this.sources[i] = request.source;
    this.indexInRecord[i] = request.indexInRecord;
    const checkStart = i === 0 ? 0 : this.checkEnd;
    const writeStart = i === 0 ? 0 : this.writeEnd;
    this.checkStart[i] = checkStart;
    this.writeStart[i] = writeStart;
    this.checkEnd = checkStart;
    this.writeEnd = writeStart;
  }

  private checkEnd = 0;
  private writeEnd = 0;

  addCheck(high: number, low: number): void {
    const at = this.checkEnd * checkWords;
    this.checks = grown(this.checks, at + checkWords);
    this.checks[at] = high;
    this.checks[at + 1] = low;
    this.checkEnd += 1;
  }

  addWrite(
    tableHigh: number,
    tableLow: number,
    partitionHigh: number,
    partitionLow: number,
    keyHigh: number,
    keyLow: number,
    sortKeyStart: number,
    sortKeyLength: number,
  ): void {
    const at = this.writeEnd * writeWords;
    this.writes = grown(this.writes, at + writeWords);
    this.writes[at] = tableHigh;
    this.writes[at + 1] = tableLow;
    this.writes[at + 2] = partitionHigh;
    this.writes[at + 3] = partitionLow;
    this.writes[at + 4] = keyHigh;
    this.writes[at + 5] = keyLow;
    this.sortKeys = grown(this.sortKeys, (this.writeEnd + 1) * sortKeyWords);
    this.sortKeys[this.writeEnd * sortKeyWords] = sortKeyStart;
    this.sortKeys[this.writeEnd * sortKeyWords + 1] = sortKeyLength;
    this.writeEnd += 1;
  }

  /** Notes that the open request is a vote that counts, and what it says. */
  setVote(stamps: readonly Stamp[], whole: WholeOutcome | undefined): void {
    if (whole === undefined) this.votes.set(this.count, stamps);
    else this.wholes.set(this.count, whole);
  }

  /** Notes that the open request is to prepare a part. */
  setParts(parts: readonly Part[]): void {
    this.parts.set(this.count, parts);
  }

  /** Whether it is to be prepared, and a vote is to decide it: then it may write mixed tables. */
  isVotedOn(request: number): boolean {
    if (this.kinds[request] !== columnCode.prepare) return false;
    const parts = this.parts.get(request);
    return parts === undefined || decidingPart(parts) !== undefined;
  }

  /** Notes a fault of the open request; the first one stands. */
  setTableFault(fault: TableFault): void {
    const i = this.count;
    if (fault === tableFaults.none || this.tableFaults[i] !== tableFaults.none) return;
    this.tableFaults[i] = fault;
    this.tableFaultCount += 1;
  }

  end(): void {
    const i = this.count;
    assert(this.checkEnd >= (this.checkStart[i] ?? 0), "request batch: begin before end");
    this.checkStart[i + 1] = this.checkEnd;
    this.writeStart[i + 1] = this.writeEnd;
    this.count = i + 1;
  }

  /**
   * Forgets the request being built, and any whose index is at or above `count` (a malformed
   * record).
   */
  rollback(count: number): void {
    assert(count <= this.count, "request batch: roll back only backwards");
    for (const noted of [this.votes, this.wholes, this.parts]) {
      for (const request of noted.keys()) if (request >= count) noted.delete(request);
    }
    this.count = count;
    this.checkEnd = count === 0 ? 0 : (this.checkStart[count] ?? 0);
    this.writeEnd = count === 0 ? 0 : (this.writeStart[count] ?? 0);
  }
}
