/**
 * How fast one thread certifies: transactions of 4 checks and 4 writes over 1,000,000 keys, all of
 * them live in the index, from request columns to verdict columns (no decoding, no encoding).
 *
 *     npx tsx bench/certification-core.ts
 */
import { Oracle } from "../core/oracle.ts";
import type { BatchRecord, OracleInput } from "../core/block-draft.ts";
import { RequestBatch } from "../core/request-batch.ts";
import type { LogPosition, SequenceNumber, Timestamp } from "../core/types.ts";
import { figure, printFigures, seededWords, Stopwatch } from "./measure.ts";

const keyCount = 1_000_000;
const requestsPerRecord = 64;
const recordsPerBatch = 32;
/** 600 batches are 12 s of stream time: more than a window. */
const batchesWarm = 600;
const batchesMeasured = 150;
const repetitions = 9;
/** Stream time advances by this much per record: 64 requests in 640 µs, so 100,000 transactions/s. */
const recordMicros = 640;
const startMs = 1_700_000_000_000;

const words = seededWords(1);
const hashes = Uint32Array.from({ length: keyCount * 2 }, words);
const source = new Uint8Array(0);

/** Fills the batch with requests whose keys are drawn uniformly; the table's hash is one of its own. */
function fill(batch: RequestBatch, count: number, checkedTo: number): void {
  batch.clear();
  for (let i = 0; i < count; i++) {
    batch.begin({
      kind: 0,
      isolation: 0,
      payload: 1,
      id0: words(),
      id1: words(),
      id2: words(),
      id3: words(),
      checkedTo,
      record: Math.floor(i / requestsPerRecord),
      indexInRecord: i % requestsPerRecord,
      source,
    });
    for (let n = 0; n < 4; n++) {
      const at = (words() % keyCount) * 2;
      batch.addCheck(hashes[at] ?? 0, hashes[at + 1] ?? 0);
    }
    for (let n = 0; n < 4; n++) addWrite(batch, words() % keyCount);
    batch.end();
  }
}

function addWrite(batch: RequestBatch, key: number): void {
  const high = hashes[key * 2] ?? 0;
  const low = hashes[key * 2 + 1] ?? 0;
  batch.addWrite(1, 1, high, low, high, low, 0, 0);
}

/** Enters every key once, by transactions of 1,000 writes. */
function preload(oracle: Oracle): void {
  const requests = new RequestBatch();
  for (let key = 0; key < keyCount;) {
    requests.begin({
      kind: 0,
      isolation: 0,
      payload: 1,
      id0: words(),
      id1: words(),
      id2: words(),
      id3: words(),
      checkedTo: oracle.last,
      record: 0,
      indexInRecord: requests.count,
      source,
    });
    for (let n = 0; n < 1_000; n++, key++) addWrite(requests, key);
    requests.end();
  }
  const records = [record(0, startMs, 0, requests.count)];
  const input = oracleInput(requests, records);
  while (oracle.next(input) !== undefined);
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

type Measured = {
  readonly perCpuSecond: number;
  readonly perSecond: number;
  readonly committed: number;
};

/** A shard in the middle of its life: every key entered, and a full window of decisions behind it. */
class Shard {
  readonly oracle = new Oracle({
    position: 0 as LogPosition,
    timestamp: (startMs * 1000 - 1) as Timestamp,
    cursor: undefined,
  });
  readonly #requests = new RequestBatch();
  #micros = startMs * 1000;
  #sequence = 1;

  constructor() {
    preload(this.oracle);
  }

  certify(batches: number): Measured {
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
      }
      stopwatch.stop();
    }
    return {
      perCpuSecond: (certified / stopwatch.cpuMs) * 1000,
      perSecond: (certified / stopwatch.wallMs) * 1000,
      committed: committed / certified,
    };
  }

  #nextInput(): OracleInput {
    fill(this.#requests, requestsPerRecord * recordsPerBatch, this.oracle.last);
    const records: BatchRecord[] = [];
    for (let r = 0; r < recordsPerBatch; r++, this.#sequence++) {
      this.#micros += recordMicros;
      const start = r * requestsPerRecord;
      const arrivalMs = Math.floor(this.#micros / 1000);
      records.push(record(this.#sequence, arrivalMs, start, start + requestsPerRecord));
    }
    return oracleInput(this.#requests, records);
  }
}

const shard = new Shard();
shard.certify(batchesWarm);
const results = Array.from({ length: repetitions }, () => shard.certify(batchesMeasured));
const { indexBytes, indexLive, decidedIds } = shard.oracle.figures();
printFigures("certification core: 4 checks + 4 writes, 1,000,000 keys, one thread", [
  figure(
    "transactions/s of processor time",
    results.map((result) => result.perCpuSecond),
    { target: 1_000_000 },
  ),
  figure(
    "transactions/s on the wall",
    results.map((result) => result.perSecond),
    { target: 1_000_000 },
  ),
  figure(
    "share committed",
    results.map((result) => result.committed),
  ),
  figure("live keys in the index", [indexLive]),
  figure("bytes of index per live key", [indexBytes / indexLive], {
    target: 24,
    lowerIsBetter: true,
  }),
  figure("ids remembered", [decidedIds]),
]);
