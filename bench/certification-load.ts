/**
 * A shard in the middle of its life, for measuring certification alone: every key of a given number
 * entered, a full window of decisions behind it, and batches of transactions of 4 checks and 4
 * writes on keys drawn uniformly, from request columns to verdict columns (no decoding, no
 * encoding).
 *
 * Keys with an even and with an odd number take turns: what one batch writes the next one checks.
 * So at every number of keys all checks find an entry, and none a conflict, and sizes can be
 * compared.
 */
import type { BatchRecord, OracleInput } from "../core/block-draft.ts";
import { Oracle } from "../core/oracle.ts";
import { RequestBatch } from "../core/request-batch.ts";
import type { LogPosition, SequenceNumber, Timestamp } from "../core/types.ts";
import { seededWords, Stopwatch } from "./measure.ts";
import { sampleSeed } from "../testing/sample-hashes.ts";

const checksPerRequest = 4;
const writesPerRequest = 4;
const requestsPerRecord = 64;
const recordsPerBatch = 32;
/**
 * Stream time advances by this much per record: 64 requests in 640 µs, so 100,000 transactions/s.
 */
const recordMicros = 640;
const preloadWrites = 1_000;
const startMs = 1_700_000_000_000;
const source = new Uint8Array(0);

export type Certified = {
  readonly perCpuSecond: number;
  readonly perSecond: number;
  readonly committed: number;
};

export class ShardUnderLoad {
  readonly oracle = new Oracle(
    {
      position: 0 as LogPosition,
      timestamp: (startMs * 1000 - 1) as Timestamp,
      cursor: undefined,
    },
    sampleSeed,
  );
  readonly #keyCount: number;
  readonly #words = seededWords(1);
  /** Two words a key. */
  readonly #hashes: Uint32Array;
  readonly #requests = new RequestBatch();
  #micros = startMs * 1000;
  #sequence = 1;
  #parity = 0;

  constructor(keyCount: number) {
    this.#keyCount = keyCount;
    this.#hashes = Uint32Array.from({ length: keyCount * 2 }, this.#words);
    this.#preload();
  }

  /** Certifies so many batches; their making is not in the figures. */
  certify(batches: number): Certified {
    const stopwatch = new Stopwatch();
    let certified = 0;
    let committed = 0;
    for (let batch = 0; batch < batches; batch++) {
      const input = this.#nextInput();
      stopwatch.start();
      let draft = this.oracle.next(input);
      for (; draft !== undefined; draft = this.oracle.next(input)) {
        certified += draft.count;
        for (let i = 0; i < draft.count; i++) if (draft.outcomes[i] === 0) committed += 1;
        this.oracle.appended();
      }
      stopwatch.stop();
    }
    return {
      perCpuSecond: (certified / stopwatch.cpuMs) * 1000,
      perSecond: (certified / stopwatch.wallMs) * 1000,
      committed: committed / certified,
    };
  }

  /** Enters every key once, by transactions of many writes. */
  #preload(): void {
    const requests = this.#requests;
    for (let key = 0; key < this.#keyCount;) {
      this.#begin(0, requests.count);
      for (let n = 0; n < preloadWrites; n++, key++) this.#addWrite(key);
      requests.end();
    }
    const input = oracleInput(requests, [record(0, startMs, 0, requests.count)]);
    while (this.oracle.next(input) !== undefined) this.oracle.appended();
  }

  #nextInput(): OracleInput {
    const requests = this.#requests;
    requests.clear();
    const half = Math.floor(this.#keyCount / 2);
    const written = this.#parity;
    this.#parity = 1 - written;
    const records: BatchRecord[] = [];
    for (let r = 0; r < recordsPerBatch; r++, this.#sequence++) {
      const start = requests.count;
      for (let i = 0; i < requestsPerRecord; i++) {
        this.#begin(r, i);
        for (let n = 0; n < checksPerRequest; n++) {
          this.#addCheck((this.#words() % half) * 2 + 1 - written);
        }
        for (let n = 0; n < writesPerRequest; n++) {
          this.#addWrite((this.#words() % half) * 2 + written);
        }
        requests.end();
      }
      this.#micros += recordMicros;
      const arrivalMs = Math.floor(this.#micros / 1000);
      records.push(record(this.#sequence, arrivalMs, start, requests.count));
    }
    return oracleInput(requests, records);
  }

  #begin(recordIndex: number, indexInRecord: number): void {
    this.#requests.begin({
      kind: 0,
      isolation: 0,
      payload: 1,
      id0: this.#words(),
      id1: this.#words(),
      id2: this.#words(),
      id3: this.#words(),
      checkedTo: this.oracle.last,
      record: recordIndex,
      indexInRecord,
      source,
    });
  }

  #addCheck(key: number): void {
    this.#requests.addCheck(this.#hashes[key * 2] ?? 0, this.#hashes[key * 2 + 1] ?? 0);
  }

  /** Of a table without sort keys, whose own hash is that of no key. */
  #addWrite(key: number): void {
    const high = this.#hashes[key * 2] ?? 0;
    const low = this.#hashes[key * 2 + 1] ?? 0;
    this.#requests.addWrite(1, 1, high, low, high, low, 0, 0);
  }
}

function record(
  sequence: number,
  arrivalMs: number,
  requestStart: number,
  requestEnd: number,
): BatchRecord {
  const sequenceNumber = (10n ** 55n + BigInt(sequence)).toString() as SequenceNumber;
  return { sequenceNumber, arrivalMs, rejected: false, requestStart, requestEnd };
}

function oracleInput(requests: RequestBatch, records: readonly BatchRecord[]): OracleInput {
  const spilledWrites = new RequestBatch();
  return { requests, records, spilled: new Map(), spilledWrites, requestsEnd: requests.count };
}
