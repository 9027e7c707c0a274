/**
 * A mapping's batch as the oracle takes it. A record that does not decode is passed over as a whole
 * and counted; one that does not rise above the record before it was seen already.
 */
import type { BatchRecord, OracleInput } from "../../core/block-draft.ts";
import { FrameError, type FrameFault } from "../../core/errors.ts";
import { firstUncovered, isCovered, requestsDone } from "../../core/cursor.ts";
import type { Digest, StreamRecord } from "../../core/ports.ts";
import type { Oracle } from "../../core/oracle.ts";
import { RequestBatch } from "../../core/request-batch.ts";
import type { SlotSeed } from "../../core/slot-seed.ts";
import { compareSequenceNumbers } from "../../core/sequence-number.ts";
import type { SequenceNumber, ShardNumber, StreamCursor } from "../../core/types.ts";
import { CommitRecordScanner } from "../../schemas/commit-record-scan.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { TableCatalogue } from "../../schemas/table-catalogue.ts";
import { SpilledPayloads, type ReadSpilled } from "./spilled-payloads.ts";

export type RejectedRecord = {
  readonly sequenceNumber: SequenceNumber;
  readonly fault: FrameFault;
};

/** Buffers are reused from batch to batch. */
export class DecodedBatch {
  readonly #requests = new RequestBatch();
  readonly #records: BatchRecord[] = [];
  readonly #spilled: SpilledPayloads;
  readonly #scanner: CommitRecordScanner;
  readonly rejected: RejectedRecord[] = [];
  #tables: TableCatalogue | undefined;

  constructor(hashes: KeyHashes, digest: Digest, seed: SlotSeed) {
    this.#spilled = new SpilledPayloads(hashes, digest, seed);
    this.#scanner = new CommitRecordScanner(hashes, seed, digest);
  }

  /** Decodes what the cursor does not cover. Payloads are held against `tables`. */
  decode(
    records: readonly StreamRecord[],
    cursor: StreamCursor | undefined,
    tables: TableCatalogue,
  ): void {
    this.#tables = tables;
    this.#requests.clear();
    this.#records.length = 0;
    this.#spilled.clear();
    this.rejected.length = 0;
    let newest: SequenceNumber | undefined;
    for (const record of records) {
      const { sequenceNumber } = record;
      if (newest !== undefined && compareSequenceNumbers(sequenceNumber, newest) <= 0) continue;
      newest = sequenceNumber;
      if (isCovered(sequenceNumber, cursor)) continue;
      this.#decodeRecord(record);
    }
    this.#spilled.nextGroup();
  }

  /**
   * What can be certified now, by the oracle as it stands: reads the payloads that it needs.
   * @throws StoreError.
   */
  async input(
    oracle: Pick<Oracle, "cursor" | "refusesUnread">,
    readSpilled: ReadSpilled,
    signal?: AbortSignal,
  ): Promise<OracleInput> {
    const requests = this.#requests;
    const arrivalMs = this.#records.reduce((newest, each) => Math.max(newest, each.arrivalMs), 0);
    const needs = {
      from: firstRequest(this.#records, oracle.cursor),
      checkedTo: (request: number) => requests.checkedTo[request] ?? 0,
      isRefused: (request: number) => oracle.refusesUnread(requests, request, arrivalMs),
    };
    await this.#spilled.read(needs, readSpilled, signal);
    return {
      requests: this.#requests,
      records: this.#records,
      spilled: this.#spilled.byRequest,
      spilledWrites: this.#spilled.writes,
      requestsEnd: this.#spilled.heldBelow ?? this.#requests.count,
    };
  }

  /** Whether some payload, of those read so far, names tables that the registry does not. */
  get hasTableFaults(): boolean {
    return this.#requests.tableFaultCount > 0 || this.#spilled.hasTableFaults;
  }

  /** Those in which its transactions have parts, some more than once. */
  *shardsNamed(): Generator<ShardNumber> {
    for (const parts of this.#requests.parts.values()) for (const { shard } of parts) yield shard;
  }

  /** After everything in `input` is certified: whether there is more. */
  advance(): boolean {
    return this.#spilled.nextGroup();
  }

  #decodeRecord({ sequenceNumber, arrivalMs, data }: StreamRecord): void {
    const requestStart = this.#requests.count;
    const tables = this.#tables;
    const admission = tables === undefined ? undefined : { tables, arrivalMs };
    let rejected = false;
    try {
      const spilled = this.#scanner.scan(data, this.#records.length, this.#requests, admission);
      this.#spilled.add(spilled, admission);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      rejected = true;
      this.rejected.push({ sequenceNumber, fault: error.fault });
    }
    const requestEnd = this.#requests.count;
    this.#records.push({ sequenceNumber, arrivalMs, rejected, requestStart, requestEnd });
  }
}

/** The first request that the cursor does not cover. */
function firstRequest(records: readonly BatchRecord[], cursor: StreamCursor | undefined): number {
  const record = records[firstUncovered(records, cursor)];
  if (record === undefined) return Number.MAX_SAFE_INTEGER;
  return record.requestStart + requestsDone(record, cursor);
}
