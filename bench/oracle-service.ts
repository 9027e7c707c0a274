/**
 * How fast one oracle function works without a network: mapping batches in, decoded, certified and
 * encoded, blocks out to a log in memory. Transactions are transfers (transfer-records.ts), 48
 * records of 24 to a batch (about 340 KB), over a full window of stream time.
 *
 *     npm run bench:oracle
 */
import type { StoredBlock } from "../core/ports.ts";
import type { ShardId, Timestamp } from "../core/types.ts";
import { timeLimitMs } from "../functions/shared/settings.ts";
import { decodeLogBlockHeader } from "../schemas/log-block.ts";
import { figure, printFigures, Stopwatch } from "./measure.ts";
import { oracleControl, oracleInMemory } from "./oracle-control.ts";
import { requestsPerRecord, TransferRecords, transferTable } from "./transfer-records.ts";

const recordsPerBatch = 48;
const transactionsPerBatch = recordsPerBatch * requestsPerRecord;
/** A full window of stream time, so that what leaves it is part of the measurement. */
const batchesWarm = 220;
const batchesPerRun = 60;
const repetitions = 9;
const startMs = 1_700_000_000_000;
/**
 * Stream time of one batch: 1,152 transactions in 50 ms, about what a shard of many small writes
 * carries.
 */
const batchMs = 50;
const shard = "shardId-000000000000" as ShardId;

const transfers = new TransferRecords(batchesWarm * recordsPerBatch);
const start = (startMs * 1000) as Timestamp;
let newest: StoredBlock | undefined;
let blockBytes = 0;
const service = oracleInMemory({
  control: oracleControl(start, transferTable),
  appended: (block) => {
    newest = block;
    blockBytes += block.bytes.length;
  },
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
  for (let i = 0; i < batches; i++) {
    batch += 1;
    const through =
      newest === undefined
        ? start
        : decodeLogBlockHeader(newest.bytes, newest.position).throughTimestamp;
    const records = Array.from({ length: recordsPerBatch }, (_, r) => {
      const withinMs = Math.floor((r * batchMs) / recordsPerBatch);
      return transfers.next(through, startMs + batch * batchMs + withinMs);
    });
    for (const { data } of records) recordBytes += data.length;
    stopwatch.start();
    const report = await service.handle(
      { shard, records },
      { remainingMs: () => timeLimitMs("oracle") },
    );
    stopwatch.stop();
    committed += report.verdicts.committed;
  }
  const transactions = batches * transactionsPerBatch;
  return {
    perCpuSecond: (transactions / stopwatch.cpuMs) * 1000,
    perSecond: (transactions / stopwatch.wallMs) * 1000,
    committed: committed / transactions,
    bytes: recordBytes / transactions,
  };
}

await run(batchesWarm);
const results: Measured[] = [];
for (let i = 0; i < repetitions; i++) results.push(await run(batchesPerRun));
printFigures("oracle service without network: 2 reads + 2 writes, one thread", [
  figure(
    "transactions/s of processor time",
    results.map((result) => result.perCpuSecond),
    { target: 400_000 },
  ),
  figure(
    "transactions/s on the wall",
    results.map((result) => result.perSecond),
    { target: 400_000 },
  ),
  figure(
    "share committed",
    results.map((result) => result.committed),
  ),
  figure(
    "stream bytes per transaction",
    results.map((result) => result.bytes),
  ),
  figure("log bytes per transaction", [blockBytes / (batch * transactionsPerBatch)]),
]);
