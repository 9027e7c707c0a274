/**
 * Decodes commit records straight into a RequestBatch: the oracle's hot path. Every check of
 * commit-record.ts and payload.ts is made here too, so that whatever is certified can be decoded.
 */
import { limits } from "../core/limits.ts";
import type { RequestBatch } from "../core/request-batch.ts";
import type { TransactionId } from "../core/types.ts";
import { ByteReader } from "./byte-reader.ts";
import {
  readCheckCount,
  readRecordHeader,
  readRequestFlags,
  readSpilled,
  requestFlags,
} from "./commit-record.ts";
import { hashContent } from "./key-hashes.ts";
import { isPayload, scanPayload, scanPayloadAt } from "./payload.ts";
import { oversized } from "./payload-scan.ts";
import { readFirstIdWord, transactionIdOfWords } from "./transaction-id.ts";

/** A request whose payload lies in chunks of the log table. */
export type SpilledReference = {
  /** Index of the request in the batch, and in its record. */
  readonly request: number;
  readonly indexInRecord: number;
  readonly id: TransactionId;
  readonly chunks: number;
  readonly byteLength: number;
  readonly hash: bigint;
  /** Whether `loaded` held the payload, intact: only then are the request's writes in the batch. */
  readonly readable: boolean;
};

/** Spilled payloads that were read, by their request's index in the record. */
export type LoadedPayloads = ReadonlyMap<number, Uint8Array>;

const nothingLoaded: LoadedPayloads = new Map();
const reader = new ByteReader(new Uint8Array(0));

/**
 * Appends a record's requests to the batch. Where the result is not empty, the caller reads those
 * payloads, rolls the batch back to where it was, and scans again with `loaded`.
 * @param recordIndex the record's index within its batch.
 * @throws FrameError, leaving the batch as it was.
 */
export function scanCommitRecord(
  bytes: Uint8Array,
  recordIndex: number,
  batch: RequestBatch,
  loaded: LoadedPayloads = nothingLoaded,
): SpilledReference[] {
  const before = batch.count;
  const spilled: SpilledReference[] = [];
  try {
    reader.reset(bytes);
    const count = readRecordHeader(reader);
    const end = reader.end;
    for (let i = 0; i < count; i++) {
      const length = reader.varint();
      const start = reader.advance(length);
      if (length > limits.inlineRequestBytesMax) throw oversized("inlineRequestBytesMax");
      reader.position = start;
      reader.end = start + length;
      const reference = scanRequest(batch, recordIndex, i, loaded);
      if (reference !== undefined) spilled.push(reference);
      reader.expectEnd();
      reader.end = end;
    }
    reader.expectEnd();
    return spilled;
  } catch (error) {
    batch.rollback(before);
    throw error;
  }
}

function scanRequest(
  batch: RequestBatch,
  recordIndex: number,
  indexInRecord: number,
  loaded: LoadedPayloads,
): SpilledReference | undefined {
  const flags = readRequestFlags(reader);
  const isSpilled = (flags & requestFlags.spilled) !== 0;
  const isInline = (flags & requestFlags.inline) !== 0;
  const id0 = readFirstIdWord(reader);
  const id1 = reader.u32();
  const id2 = reader.u32();
  const id3 = reader.u32();
  const spilledPayload = isSpilled ? loaded.get(indexInRecord) : undefined;
  batch.begin({
    kind: (flags & requestFlags.abort) === 0 ? 0 : 1,
    isolation: (flags & requestFlags.snapshot) === 0 ? 0 : 1,
    payload: isInline ? 1 : isSpilled ? 2 : 0,
    id0,
    id1,
    id2,
    id3,
    checkedTo: reader.u56(),
    record: recordIndex,
    indexInRecord,
    source: spilledPayload ?? reader.bytes,
  });
  const checks = readCheckCount(reader, flags);
  for (let i = 0; i < checks; i++) {
    const high = reader.u32();
    batch.addCheck(high, reader.u32());
  }
  if (isInline) scanPayloadAt(reader, batch);
  let reference: SpilledReference | undefined;
  if (isSpilled) {
    const { chunks, byteLength, hash } = readSpilled(reader);
    const readable =
      spilledPayload !== undefined &&
      spilledPayload.length === byteLength &&
      hashContent(spilledPayload) === hash &&
      isPayload(spilledPayload);
    if (readable) scanPayload(spilledPayload, batch);
    const id = transactionIdOfWords({ id0, id1, id2, id3 });
    reference = { request: batch.count, indexInRecord, id, chunks, byteLength, hash, readable };
  }
  batch.end();
  return reference;
}
