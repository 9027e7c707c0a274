/** Requests as a test writes them, as columns for an oracle, and logs of decoded blocks. */
import { Oracle } from "../../core/oracle.ts";
import { oracleBoundsDefault, type OracleBounds } from "../../core/oracle-bounds.ts";
import type {
  BatchRecord,
  BlockDraft,
  OracleInput,
  SpilledPayload,
} from "../../core/block-draft.ts";
import { columnCode, RequestBatch, requestKinds, tableFaults } from "../../core/request-batch.ts";
import type {
  Isolation,
  KeyHash,
  LogBlock,
  LogPosition,
  Part,
  RequestKind,
  SequenceNumber,
  Stamp,
  Timestamp,
  ShardNumber,
  TransactionId,
  WholeOutcome,
} from "../../core/types.ts";
import type { SlotSeed } from "../../core/slot-seed.ts";
import { highWord, idWord, lowWord } from "../../core/verdict-columns.ts";
import { DraftEncoder } from "../../schemas/log-block-draft.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { sampleHashes, sampleSeed } from "../../testing/sample-hashes.ts";

export type TestWrite = {
  readonly table: KeyHash;
  readonly partition: KeyHash;
  /** A table without sort keys when undefined. */
  readonly sortKey?: Uint8Array;
};

export type TestRequest = {
  readonly id: TransactionId;
  readonly kind?: RequestKind;
  readonly isolation?: Isolation;
  readonly checkedTo: number;
  readonly checks?: readonly KeyHash[];
  readonly writes?: readonly TestWrite[];
  /** A vote's: what it says, and that its proof is not its id's. */
  readonly stamps?: readonly Stamp[];
  readonly isForged?: boolean;
  /** To prepare it as a part of two; or a vote on one, which says what became of the whole. */
  readonly isPart?: boolean;
  readonly whole?: WholeOutcome;
  /** Spilled, with this result of reading it. */
  readonly spilled?: SpilledPayload["kind"];
  /** What the registry says of its payload. */
  readonly tableFault?: "unknown" | "differs";
};

export type TestRecord = {
  readonly sequence: bigint;
  readonly arrivalMs: number;
  readonly requests: readonly TestRequest[];
  readonly rejected?: boolean;
};

export const secondMicros = 1_000_000;
export const startTimestamp = 1_000_000_000 as Timestamp;
const spilledReference = {
  chunks: 2,
  byteLength: 700_000,
  digest: new Uint8Array(32).fill(0xfe),
} as const;

export function id(n: number): TransactionId {
  return `00000000${n.toString(16).padStart(24, "0")}` as TransactionId;
}

export function hash(n: number | bigint): KeyHash {
  // Spread over both words, so that no word alone tells two apart.
  return ((BigInt(n) * 0x9e37_79b9_7f4a_7c15n) & 0xffff_ffff_ffff_ffffn) as KeyHash;
}

export function simpleWrite(key: number, table = 1): TestWrite {
  return { table: hash(1_000_000 + table), partition: hash(key) };
}

export function keyOf(write: TestWrite): KeyHash {
  return write.sortKey === undefined
    ? write.partition
    : sampleHashes.sortKey(write.partition, write.sortKey);
}

/** Hashes that the write enters into an index. */
export function hashesOf(write: TestWrite): readonly KeyHash[] {
  return [write.table, write.partition, keyOf(write)];
}

export function sequenceText(sequence: bigint): SequenceNumber {
  return sequence.toString() as SequenceNumber;
}

export function oracleInput(records: readonly TestRecord[]): OracleInput {
  const requests = new RequestBatch();
  const spilledWrites = new RequestBatch();
  const spilled = new Map<number, SpilledPayload>();
  const batchRecords: BatchRecord[] = [];
  for (const [recordIndex, record] of records.entries()) {
    const requestStart = requests.count;
    for (const [indexInRecord, request] of record.requests.entries()) {
      if (request.spilled === "read") {
        append(spilledWrites, request, { record: 0, indexInRecord: 0 });
        const writesOf = spilledWrites.count - 1;
        spilled.set(requests.count, { kind: "read", writesOf, ...spilledReference });
      } else if (request.spilled !== undefined)
        spilled.set(requests.count, { kind: request.spilled });
      const { writes: _, tableFault: __, ...reference } = request;
      const own = request.spilled === undefined ? request : reference;
      append(requests, own, { record: recordIndex, indexInRecord });
    }
    batchRecords.push({
      sequenceNumber: sequenceText(record.sequence),
      arrivalMs: record.arrivalMs,
      rejected: record.rejected === true,
      requestStart,
      requestEnd: requests.count,
    });
  }
  return { requests, records: batchRecords, spilled, spilledWrites, requestsEnd: requests.count };
}

function append(
  batch: RequestBatch,
  request: TestRequest,
  place: { readonly record: number; readonly indexInRecord: number },
): void {
  const writes = request.writes ?? [];
  const sortKeys = writes.map((write) => write.sortKey ?? new Uint8Array(0));
  batch.begin({
    kind: requestKinds.indexOf(request.kind ?? "commit") as 0 | 1 | 2 | 3 | 4,
    isolation: request.isolation === "snapshot" ? columnCode.snapshot : 0,
    payload: request.spilled !== undefined ? 2 : writes.length > 0 ? 1 : 0,
    id0: idWord(request.id, 0),
    id1: idWord(request.id, 1),
    id2: idWord(request.id, 2),
    id3: idWord(request.id, 3),
    checkedTo: request.checkedTo,
    ...place,
    source: Buffer.concat(sortKeys),
  });
  for (const check of request.checks ?? []) batch.addCheck(highWord(check), lowWord(check));
  let sortKeyStart = 0;
  for (const [i, write] of writes.entries()) {
    const length = sortKeys[i]?.length ?? 0;
    const [table, partition, key] = [write.table, write.partition, keyOf(write)];
    batch.addWrite(
      highWord(table),
      lowWord(table),
      highWord(partition),
      lowWord(partition),
      highWord(key),
      lowWord(key),
      sortKeyStart,
      length,
    );
    sortKeyStart += length;
  }
  if (request.kind === "vote" && request.isForged !== true) {
    batch.setVote(request.stamps ?? [], request.whole);
  }
  if (request.isPart === true) batch.setParts(partsOfTwo(request.checkedTo as Timestamp));
  if (request.tableFault !== undefined) batch.setTableFault(tableFaults[request.tableFault]);
  batch.end();
}

/** In the first shard and in the second. */
export function partsOfTwo(from: Timestamp): readonly Part[] {
  return [0, 1].map((shard) => ({ shard: shard as ShardNumber, from }));
}

export const smallBounds: OracleBounds = {
  ...oracleBoundsDefault,
  windowMicros: 20_000,
};

export function newOracle(
  bounds: OracleBounds = oracleBoundsDefault,
  seed: SlotSeed = sampleSeed,
): Oracle {
  return new Oracle(
    { position: 0 as LogPosition, timestamp: startTimestamp, cursor: undefined },
    seed,
    bounds,
  );
}

const encoder = new DraftEncoder(sampleHashes.fingerprint);

/** The block as the log would give it back. */
export function blockOf(draft: BlockDraft, input: OracleInput): LogBlock {
  return decodeLogBlock(encoder.encode(draft, input), draft.position, sampleHashes);
}

/** Certifies everything: each draft is appended before the next one is made. */
export function* appendedDrafts(oracle: Oracle, input: OracleInput): Generator<BlockDraft> {
  for (let draft = oracle.next(input); draft !== undefined; draft = oracle.next(input)) {
    oracle.appended();
    yield draft;
  }
}

/** Certifies everything; the blocks as the log would give them back. */
export function certify(oracle: Oracle, records: readonly TestRecord[]): LogBlock[] {
  const input = oracleInput(records);
  return Array.from(appendedDrafts(oracle, input), (draft) => blockOf(draft, input));
}
