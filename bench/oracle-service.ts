/**
 * How fast one oracle function works without a network: mapping batches in, decoded, certified and
 * encoded, blocks out to a log in memory. Transactions are transfers: two accounts read and
 * written, items of about 120 bytes, 24 requests to a record, 48 records to a batch (about 490 KB).
 *
 *     npx tsx bench/oracle-service.ts
 */
import type { CommitLog, StoredBlock, StreamRecord } from "../core/ports.ts";
import type {
  KeyHash,
  LogPosition,
  SequenceNumber,
  ShardId,
  Timestamp,
  TransactionId,
} from "../core/types.ts";
import { createOracleService } from "../functions/oracle/service.ts";
import { silentObservability } from "../functions/shared/silent-observability.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../schemas/commit-record.ts";
import { hashKey } from "../schemas/key-hashes.ts";
import { encodePayload } from "../schemas/payload.ts";
import { decodeLogBlockHeader } from "../schemas/log-block.ts";
import { figure, printFigures, seededWords, Stopwatch } from "./measure.ts";

const accounts = 1_000_000;
const requestsPerRecord = 24;
const recordsPerBatch = 48;
const batchesPerRun = 60;
const repetitions = 9;
const startMs = 1_700_000_000_000;
/** Stream time of one batch: 1,152 transactions in 50 ms, about what a shard of many small writes carries. */
const batchMs = 50;
const shard = "shardId-000000000000" as ShardId;
const table = { name: "accounts", partitionKey: "accountId" } as const;
const words = seededWords(7);

function account(n: number): string {
  return `account-${n.toString().padStart(9, "0")}`;
}

function hex(length: number): string {
  let text = "";
  while (text.length < length) text += words().toString(16).padStart(8, "0");
  return text.slice(0, length);
}

function transfer(checkedTo: Timestamp): Uint8Array {
  const ids = [account(words() % accounts), account(accounts + (words() % accounts))];
  const writes = ids.map((accountId) => ({
    table: 0,
    key: { accountId: { S: accountId } },
    item: {
      accountId: { S: accountId },
      owner: { S: `Customer ${hex(12)}` },
      balanceCents: { N: (words() % 10_000_000).toString() },
      currency: { S: "EUR" },
      updatedAt: { S: "2026-01-01T00:00:00.000Z" },
    },
  }));
  const checks = writes.map(({ key }): KeyHash => hashKey(table, key).key);
  const id = `00060a24181e40${hex(18)}` as TransactionId;
  const bytes = encodePayload({ tables: [{ ...table, history: false }], writes });
  return encodeCommitRequest({
    kind: "commit",
    id,
    isolation: "serializable",
    checkedTo,
    checks,
    payload: { kind: "inline", bytes },
  });
}

let sequence = 49_590_338_271_490_256_608_559_692_538_361_571_095_921_575_989_136_588_898n;

function nextBatch(batch: number, checkedTo: Timestamp): readonly StreamRecord[] {
  return Array.from({ length: recordsPerBatch }, (_, r) => {
    sequence += BigInt(words());
    const requests = Array.from({ length: requestsPerRecord }, () => transfer(checkedTo));
    return {
      sequenceNumber: sequence.toString() as SequenceNumber,
      arrivalMs: startMs + batch * batchMs + Math.floor((r * batchMs) / recordsPerBatch),
      data: encodeCommitRecord(requests),
    };
  });
}

const start = (startMs * 1000) as Timestamp;
let newest: StoredBlock | undefined;
let blockBytes = 0;
const log: Pick<CommitLog, "append" | "readBackward" | "readSpilled"> = {
  append(_shard, block) {
    newest = block;
    blockBytes += block.bytes.length;
    return Promise.resolve("appended");
  },
  readBackward: () => Promise.resolve([]),
  readSpilled: () => Promise.resolve(undefined),
};
const service = createOracleService({
  log,
  control: {
    readWatermark: () =>
      Promise.resolve({ position: 0 as LogPosition, timestamp: start, cursor: undefined }),
  },
  clock: { sleep: () => Promise.resolve() },
  observability: silentObservability,
});

type Measured = {
  readonly perCpuSecond: number;
  readonly perSecond: number;
  readonly committed: number;
  readonly bytes: number;
};

let batch = 0;

async function run(batches: number): Promise<Measured> {
  const stopwatch = new Stopwatch();
  let committed = 0;
  let recordBytes = 0;
  for (let i = 0; i < batches; i++, batch++) {
    const through =
      newest === undefined
        ? start
        : decodeLogBlockHeader(newest.bytes, newest.position).throughTimestamp;
    const records = nextBatch(batch + 1, through);
    for (const { data } of records) recordBytes += data.length;
    stopwatch.start();
    const report = await service.handle({ shard, records }, { remainingMs: () => 60_000 });
    stopwatch.stop();
    committed += report.verdicts.committed;
  }
  const transactions = batches * recordsPerBatch * requestsPerRecord;
  return {
    perCpuSecond: (transactions / stopwatch.cpuMs) * 1000,
    perSecond: (transactions / stopwatch.wallMs) * 1000,
    committed: committed / transactions,
    bytes: recordBytes / transactions,
  };
}

// A full window of stream time, so that what leaves it is part of the measurement.
await run(220);
const warmTransactions = 220 * recordsPerBatch * requestsPerRecord;
const results: Measured[] = [];
for (let i = 0; i < repetitions; i++) results.push(await run(batchesPerRun));
const transactions =
  warmTransactions + repetitions * batchesPerRun * recordsPerBatch * requestsPerRecord;
printFigures("oracle service without network: 2 reads + 2 writes, one thread", [
  figure(
    "transactions/s of processor time",
    results.map((result) => result.perCpuSecond),
    { target: 200_000 },
  ),
  figure(
    "transactions/s on the wall",
    results.map((result) => result.perSecond),
    { target: 200_000 },
  ),
  figure(
    "share committed",
    results.map((result) => result.committed),
  ),
  figure(
    "stream bytes per transaction",
    results.map((result) => result.bytes),
  ),
  figure("log bytes per transaction", [blockBytes / transactions]),
]);
