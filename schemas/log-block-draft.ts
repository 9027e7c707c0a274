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
  checkWords,
  columnCode,
  idWords,
  sortKeyWords,
  writeWords,
  type RequestBatch,
} from "../core/request-batch.ts";
import { ByteWriter } from "./byte-writer.ts";
import { TableRegister } from "./log-block-layout.ts";
import { countedTag, writeWrite } from "./log-block-encoding.ts";
import { StreamWriter, writeCounted, writeHeader, writeVote } from "./log-block-writing.ts";
import { writeParts } from "./parts.ts";
import { writeTransactionId } from "./transaction-id.ts";
import * as verdictTags from "./verdict-tags.ts";

/** By outcome code; of what has a payload, the first of several, one for each place. */
const tags: readonly number[] = outcomes.map((outcome) => {
  if (outcome === "committed") return verdictTags.committedNext;
  if (outcome === "prepared") return verdictTags.preparedNext;
  return isPlainAbort(outcome) ? verdictTags.plainAborts[outcome] : verdictTags[outcome];
});

function isEmptyPart({ parts, payloads }: RequestBatch, request: number): boolean {
  return payloads[request] === columnCode.none && parts.has(request);
}

/** Of a part that writes nothing: added to the first tag of parts. */
const placeOfNone = verdictTags.partNone - verdictTags.partNext;

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
      ...(draft.oldestOpen === undefined ? {} : { oldestOpen: draft.oldestOpen }),
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
    const prepared = outcome === outcomeCode.prepared;
    const hasPayload = prepared || outcome === outcomeCode.committed;
    const place = hasPayload ? this.#placeTag(input, request) : 0;
    const parts = prepared ? requests.parts.get(request) : undefined;
    writer.u8((parts === undefined ? this.#tagOf(draft, i) : verdictTags.partNext) + place);
    for (let word = 0; word < idWords; word++) {
      writer.u32(requests.ids[request * idWords + word] ?? 0);
    }
    if (outcome === outcomeCode.stale) return last;
    if (outcome === outcomeCode.busy) {
      const inTheWay = draft.inTheWay.get(i);
      assert(inTheWay !== undefined, "log block: a busy answer says what is in the way");
      writeTransactionId(writer, inTheWay);
      return last;
    }
    const timestamp = draft.timestamps[i] ?? 0;
    assert(timestamp > last, "I2: timestamps rise within a block");
    writer.varint(timestamp - last - 1);
    if (prepared) this.#writeChecks(requests, request);
    if (parts !== undefined) writeParts(writer, parts);
    if (hasPayload) {
      this.#writeCommit(input, request, place, draft.compact[i] === 1);
    } else if (outcome === outcomeCode.voted || outcome === outcomeCode.counted) {
      this.#writeVoted(draft, i);
    } else if (outcome === outcomeCode.conflict) {
      writer.varint(draft.checks[i] ?? 0);
      writer.varint(timestamp - (draft.conflictTimestamps[i] ?? 0) - 1);
    }
    return timestamp;
  }

  #tagOf({ outcomes, voted }: BlockDraft, i: number): number {
    const verdict = voted.get(i);
    if (verdict?.placed !== undefined) return countedTag(verdict);
    return tags[outcomes[i] ?? 0] ?? 0;
  }

  #writeChecks({ checks, checkStart }: RequestBatch, request: number): void {
    const start = checkStart[request] ?? 0;
    const end = checkStart[request + 1] ?? 0;
    this.#writer.varint(end - start);
    for (let at = start * checkWords; at < end * checkWords; at += checkWords) {
      this.#writer.u64(checks[at] ?? 0, checks[at + 1] ?? 0);
    }
  }

  #writeVoted(draft: BlockDraft, i: number): void {
    const verdict = draft.voted.get(i);
    assert(verdict !== undefined, "log block: a vote commits what was prepared");
    const writer = this.#writer;
    if (verdict.placed === undefined) writeVote(writer, verdict, draft.position);
    else writeCounted(writer, verdict, draft.position);
    writer.varint(verdict.writes.length);
    const context = { writer, tables: this.#tables, hashes: undefined };
    for (const write of verdict.writes) writeWrite(context, write);
  }

  /** Where the payload lies: added to the tag of a verdict that has one. */
  #placeTag(input: OracleInput, request: number): number {
    const { requests, records } = input;
    if (requests.payloads[request] === columnCode.spilled) return verdictTags.committedSpilled;
    if (isEmptyPart(requests, request)) return placeOfNone;
    const record = records[requests.records[request] ?? 0];
    assert(record !== undefined, "log block: a request belongs to a record");
    return this.#stream.tagFor(record.sequenceNumber, requests.indexInRecord[request] ?? 0);
  }

  #writeCommit(input: OracleInput, request: number, tag: number, compact: boolean): void {
    const writer = this.#writer;
    const { requests, records, spilled } = input;
    if (tag === placeOfNone) {
      writer.varint(0);
      return;
    }
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
