/**
 * Decodes commit records straight into a RequestBatch: the oracle's hot path. Every check of
 * commit-record.ts and payload.ts is made here too, so that whatever is certified can be decoded.
 */
import * as limits from "../core/limits.ts";
import type { Digest } from "../core/ports.ts";
import { columnCode, type RequestBatch } from "../core/request-batch.ts";
import type { SlotSeed } from "../core/slot-seed.ts";
import type { TransactionId } from "../core/types.ts";
import { ByteReader, otherHashSecret, oversized } from "./byte-reader.ts";
import { requestFlags } from "./commit-record.ts";
import {
  hasParts,
  readCheckCount,
  readRecordHeader,
  readRequestFlags,
  readSpilled,
  readVote,
  requestKindOf,
} from "./commit-record-reading.ts";
import type { KeyHashes } from "./key-hashes.ts";
import { readParts } from "./parts.ts";
import { PayloadScanner } from "./payload-scan.ts";
import type { Admission } from "./table-catalogue.ts";
import { provesTransactionId, readFirstIdWord, transactionIdOfWords } from "./transaction-id.ts";

/** A request whose payload lies in chunks of the log table. */
export type SpilledReference = {
  /** Index of the request in the batch, and in its record. */
  readonly request: number;
  readonly indexInRecord: number;
  /** Whether a vote decides it: then it may write mixed tables. */
  readonly isVotedOn: boolean;
  readonly id: TransactionId;
  readonly chunks: number;
  readonly byteLength: number;
  readonly digest: Uint8Array;
};

/** One scanner is reused for any number of records of its shard. */
export class CommitRecordScanner {
  readonly #reader = new ByteReader(new Uint8Array(0));
  readonly #payloads: PayloadScanner;
  readonly #hashFingerprint: number;
  readonly #digest: Digest;

  /** @param digest for the proofs of votes. */
  constructor(hashes: KeyHashes, seed: SlotSeed, digest: Digest) {
    this.#digest = digest;
    this.#payloads = new PayloadScanner(hashes, seed);
    this.#hashFingerprint = hashes.fingerprint;
  }

  /**
   * Appends a record's requests to the batch, in order. A spilled payload's writes are not among
   * them: the caller reads what the result refers to, and scans it with a PayloadScanner into a
   * batch of its own.
   * @param recordIndex the record's index within its batch.
   * @param admission what inline payloads may write; anything when undefined.
   * @throws FrameError, leaving the batch as it was.
   */
  scan(
    bytes: Uint8Array,
    recordIndex: number,
    batch: RequestBatch,
    admission?: Admission,
  ): SpilledReference[] {
    const reader = this.#reader;
    const before = batch.count;
    const spilled: SpilledReference[] = [];
    try {
      reader.reset(bytes);
      const { count, hashFingerprint } = readRecordHeader(reader);
      if (hashFingerprint !== this.#hashFingerprint) throw otherHashSecret("a commit record");
      const end = reader.end;
      for (let i = 0; i < count; i++) {
        const length = reader.varint();
        const start = reader.advance(length);
        if (length > limits.inlineRequestBytesMax) throw oversized("inlineRequestBytesMax");
        reader.position = start;
        reader.end = start + length;
        const reference = this.#scanRequest(batch, { recordIndex, indexInRecord: i, admission });
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

  #scanRequest(
    batch: RequestBatch,
    {
      recordIndex,
      indexInRecord,
      admission,
    }: {
      readonly recordIndex: number;
      readonly indexInRecord: number;
      readonly admission: Admission | undefined;
    },
  ): SpilledReference | undefined {
    const reader = this.#reader;
    const flags = readRequestFlags(reader);
    const isSpilled = (flags & requestFlags.spilled) !== 0;
    const isInline = (flags & requestFlags.inline) !== 0;
    const id0 = readFirstIdWord(reader);
    const id1 = reader.u32();
    const id2 = reader.u32();
    const id3 = reader.u32();
    batch.begin({
      kind: kindCode[requestKindOf(flags)],
      isolation: (flags & requestFlags.snapshot) === 0 ? 0 : 1,
      payload: isInline ? 1 : isSpilled ? 2 : 0,
      id0,
      id1,
      id2,
      id3,
      checkedTo: reader.u56(),
      record: recordIndex,
      indexInRecord,
      source: reader.bytes,
    });
    const checks = readCheckCount(reader, flags);
    for (let i = 0; i < checks; i++) {
      const high = reader.u32();
      batch.addCheck(high, reader.u32());
    }
    if (hasParts(flags)) batch.setParts(readParts(reader));
    if (isInline) this.#payloads.scanAt(reader, batch, admission);
    let reference: SpilledReference | undefined;
    if (isSpilled) {
      const { chunks, byteLength, digest } = readSpilled(reader);
      const id = transactionIdOfWords({ id0, id1, id2, id3 });
      const isVotedOn = batch.isVotedOn(batch.count);
      const at = { request: batch.count, indexInRecord, isVotedOn };
      reference = { ...at, id, chunks, byteLength, digest };
    }
    if ((flags & requestFlags.vote) !== 0) this.#scanVote(batch, { id0, id1, id2, id3 }, flags);
    batch.end();
    return reference;
  }

  /** A vote that is not of its id's maker counts for nothing. */
  #scanVote(
    batch: RequestBatch,
    words: Parameters<typeof transactionIdOfWords>[0],
    flags: number,
  ): void {
    const { proof, stamps, whole } = readVote(this.#reader, flags);
    const id = transactionIdOfWords(words);
    if (provesTransactionId(id, proof, this.#digest)) batch.setVote(stamps, whole);
  }
}

const kindCode = {
  commit: 0,
  abort: columnCode.abort,
  prepare: columnCode.prepare,
  vote: columnCode.vote,
  settle: columnCode.settle,
} as const;
