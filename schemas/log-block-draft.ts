/**
 * Encodes a block straight from an oracle's columns: the hot path of the oracle function. The
 * bytes are those that encodeLogBlock would give for the same content.
 *
 * Invariants: I2 (the draft's timestamps rise); and the bound by which core cut the batch held.
 */
import { assert } from "../core/assert.ts";
import type { BlockDraft, OracleInput } from "../core/block-draft.ts";
import * as limits from "../core/limits.ts";
import { isPlainAbort, outcomeCode, outcomes } from "../core/verdict-kinds.ts";
import {
  columnCode,
  idWords,
  sortKeyWords,
  writeWords,
  type RequestBatch,
} from "../core/request-batch.ts";
import { ByteWriter } from "./byte-writer.ts";
import { TableRegister } from "./log-block-layout.ts";
import { StreamWriter, writeHeader } from "./log-block-writing.ts";
import * as verdictTags from "./verdict-tags.ts";

/** By outcome code; a commit's says where its payload lies, too, and is found elsewhere. */
const tags: readonly number[] = outcomes.map((outcome) => {
  if (outcome === "committed") return verdictTags.committedNext;
  return isPlainAbort(outcome) ? verdictTags.plainAborts[outcome] : verdictTags[outcome];
});

/** Reuses its buffer from block to block; what it returns is a copy. */
export class DraftEncoder {
  readonly #writer = new ByteWriter(64 * 1024);
  #stream = new StreamWriter(undefined);
  #tables = new TableRegister();
  readonly #hashFingerprint: number;

  /** @param hashFingerprint of the key that the drafts' hashes were made under. */
  constructor(hashFingerprint: number) {
    this.#hashFingerprint = hashFingerprint;
  }

  /** @param input the one that the draft was made from. */
  encode(draft: BlockDraft, input: OracleInput): Uint8Array {
    const writer = this.#writer;
    writer.clear();
    writeHeader(writer, {
      position: draft.position,
      previousTimestamp: draft.previousTimestamp,
      throughTimestamp: draft.throughTimestamp,
      cursor: draft.cursor,
      arrivalMs: draft.arrivalMs,
      rejectedRecords: draft.rejectedRecords,
      verdictCount: draft.count,
      hashFingerprint: this.#hashFingerprint,
    });
    this.#stream = new StreamWriter(draft.cursor);
    this.#tables = new TableRegister();
    let last: number = draft.previousTimestamp;
    for (let i = 0; i < draft.count; i++) {
      last = this.#writeVerdict(draft, input, i, last);
      this.#stream.advance();
    }
    assert(last === draft.throughTimestamp, "I2: a block reaches as far as its decisions");
    assert(writer.length <= draft.bytesBound, "log block: longer than core reckoned");
    assert(writer.length <= limits.blockBytesMax, "log block: exceeds blockBytesMax");
    return writer.toBytes();
  }

  /** Gives the timestamp of the last decision. */
  #writeVerdict(draft: BlockDraft, input: OracleInput, i: number, last: number): number {
    const writer = this.#writer;
    const { requests } = input;
    const request = draft.requests[i] ?? 0;
    const outcome = draft.outcomes[i] ?? 0;
    const committed = outcome === outcomeCode.committed;
    const tag = committed ? this.#commitTag(input, request) : (tags[outcome] ?? 0);
    writer.u8(tag);
    for (let word = 0; word < idWords; word++) {
      writer.u32(requests.ids[request * idWords + word] ?? 0);
    }
    if (outcome === outcomeCode.stale) return last;
    const timestamp = draft.timestamps[i] ?? 0;
    assert(timestamp > last, "I2: timestamps rise within a block");
    writer.varint(timestamp - last - 1);
    if (committed) {
      this.#writeCommit(input, request, tag, draft.compact[i] === 1);
    } else if (outcome === outcomeCode.conflict) {
      writer.varint(draft.checks[i] ?? 0);
      writer.varint(timestamp - (draft.conflictTimestamps[i] ?? 0) - 1);
    }
    return timestamp;
  }

  #commitTag(input: OracleInput, request: number): number {
    const { requests, records } = input;
    if (requests.payloads[request] === columnCode.spilled) return verdictTags.committedSpilled;
    const record = records[requests.records[request] ?? 0];
    assert(record !== undefined, "log block: a request belongs to a record");
    return this.#stream.tagFor(record.sequenceNumber, requests.indexInRecord[request] ?? 0);
  }

  #writeCommit(input: OracleInput, request: number, tag: number, compact: boolean): void {
    const writer = this.#writer;
    const { requests, records, spilled } = input;
    if (tag !== verdictTags.committedSpilled) {
      const record = records[requests.records[request] ?? 0];
      assert(record !== undefined, "log block: a request belongs to a record");
      const index = requests.indexInRecord[request] ?? 0;
      this.#stream.write(writer, tag, record.sequenceNumber, index);
      this.#writeWrites(requests, request, compact);
      return;
    }
    const payload = spilled.get(request);
    assert(payload?.kind === "read", "log block: a committed payload has been read");
    writer.varint(payload.chunks);
    writer.varint(payload.byteLength);
    writer.bytes(payload.digest);
    this.#writeWrites(input.spilledWrites, payload.writesOf, compact);
  }

  #writeWrites(batch: RequestBatch, request: number, compact: boolean): void {
    const writer = this.#writer;
    const tables = this.#tables;
    const { writes, sortKeys } = batch;
    const start = batch.writeStart[request] ?? 0;
    const end = batch.writeStart[request + 1] ?? 0;
    writer.varint(end - start);
    for (let write = start; write < end; write++) {
      const at = write * writeWords;
      const partitionHigh = writes[at + 2] ?? 0;
      const partitionLow = writes[at + 3] ?? 0;
      const sorted = writes[at + 4] !== partitionHigh || writes[at + 5] !== partitionLow;
      const index = tables.find(writes[at] ?? 0, writes[at + 1] ?? 0, sorted);
      writer.varint(index);
      if (index === tables.high.length) {
        writer.u64(writes[at] ?? 0, writes[at + 1] ?? 0);
        writer.u8(sorted ? 1 : 0);
        tables.add(writes[at] ?? 0, writes[at + 1] ?? 0, sorted);
      }
      writer.u64(partitionHigh, partitionLow);
      if (!sorted) continue;
      const length = sortKeys[write * sortKeyWords + 1] ?? 0;
      if (compact || length === 0 || length > limits.blockSortKeyBytesMax) {
        writer.u8(0);
        writer.u64(writes[at + 4] ?? 0, writes[at + 5] ?? 0);
      } else {
        const sortKeyStart = sortKeys[write * sortKeyWords] ?? 0;
        const source = batch.sources[request];
        assert(source !== undefined, "log block: a request knows where its bytes are");
        writer.u8(length);
        writer.bytes(source.subarray(sortKeyStart, sortKeyStart + length));
      }
    }
  }
}
