/**
 * How long a cold oracle takes to stand where the log ends: a log of 60 s at 5,000 transactions/s,
 * made by the oracle's own service from transfers (transfer-records.ts), and read back without a
 * network.
 *
 * The protocol reads one window of stream time (docs/protocol.md §3, Rebuild). The second
 * measurement folds all 60 s, as if the window were that long.
 *
 *     npm run bench:rebuild
 */
import { systemDigest } from "../aws/system-digest.ts";
import * as limits from "../core/limits.ts";
import { type Oracle } from "../core/oracle.ts";
import { oracleBoundsDefault } from "../core/oracle-bounds.ts";
import type { StoredBlock } from "../core/ports.ts";
import type { ShardId, Timestamp } from "../core/types.ts";
import { Rebuild } from "../functions/oracle/rebuild.ts";
import { createOracleService, type OracleServiceOptions } from "../functions/oracle/service.ts";
import { timeLimitMs } from "../functions/shared/settings.ts";
import { silentObservability } from "../functions/shared/silent-observability.ts";
import { decodeLogBlockHeader } from "../schemas/log-block.ts";
import { figure, printFigures, Stopwatch } from "./measure.ts";
import { oracleControl, stillClock } from "./oracle-control.ts";
import { requestsPerRecord, TransferRecords, transferTable } from "./transfer-records.ts";
import { sampleHashes, sampleRandom, sampleSeed } from "../testing/sample-hashes.ts";

const seconds = 60;
const transactionsPerSecond = 5_000;
/** Five records of 24 requests in 24 ms: one block, about as often as a stream is polled. */
const recordsPerBatch = 5;
const batchMs = (recordsPerBatch * requestsPerRecord * 1000) / transactionsPerSecond;
const batches = (seconds * 1000) / batchMs;
const repetitions = 9;
const targetMs = 2_000;
/** DynamoDB's bound on a page of a query. */
const pageBytesMax = 1024 * 1024;
const startMs = 1_700_000_000_000;
const start = (startMs * 1000) as Timestamp;
const shard = "shardId-000000000000" as ShardId;

const blocks: StoredBlock[] = [];
const log: OracleServiceOptions["log"] = {
  append(_shard, block) {
    blocks.push(block);
    return Promise.resolve("appended");
  },
  readBackward(_shard, { from, blocksMax }) {
    const page: StoredBlock[] = [];
    let bytes = 0;
    for (let position = from ?? blocks.length; position > 0; position--) {
      const block = blocks[position - 1];
      if (block === undefined || page.length === blocksMax) break;
      bytes += block.bytes.length;
      if (bytes > pageBytesMax && page.length > 0) break;
      page.push(block);
    }
    return Promise.resolve(page);
  },
  readAfter: () => Promise.resolve({ blocks: [], complete: true }),
  readAt: () => Promise.resolve(undefined),
  readSpilled: () => Promise.resolve(undefined),
};
const control = oracleControl(start, transferTable);

async function fillLog(): Promise<void> {
  const transfers = new TransferRecords(1_000);
  const clock = stillClock;
  const service = createOracleService({
    log,
    control,
    clock,
    random: sampleRandom,
    digest: systemDigest,
    observability: silentObservability,
  });
  let through = start;
  for (let batch = 1; batch <= batches; batch++) {
    const arrivalMs = startMs + batch * batchMs;
    const records = Array.from({ length: recordsPerBatch }, () => {
      return transfers.next(through, arrivalMs);
    });
    await service.handle({ shard, records }, { remainingMs: () => timeLimitMs("oracle") });
    const newest = blocks.at(-1);
    if (newest === undefined) throw new Error("the service appended nothing");
    through = decodeLogBlockHeader(newest.bytes, newest.position).throughTimestamp;
  }
}

async function measure(name: string, windowMicros: number): Promise<void> {
  const oracleBounds = { ...oracleBoundsDefault, windowMicros };
  const blocksMax = blocks.length;
  const cpuMs: number[] = [];
  const wallMs: number[] = [];
  let decidedIds = 0;
  for (let i = 0; i < repetitions; i++) {
    const stopwatch = new Stopwatch();
    stopwatch.start();
    const rebuild = new Rebuild({
      shard,
      log,
      control,
      hashes: sampleHashes,
      seed: sampleSeed,
      oracleBounds,
      bounds: { blocksMax, bytesMax: Infinity, pageBlocksMax: limits.rebuildPageBlocksMax },
    });
    let oracle: Oracle | undefined;
    while (oracle === undefined) oracle = await rebuild.step({});
    stopwatch.stop();
    cpuMs.push(stopwatch.cpuMs);
    wallMs.push(stopwatch.wallMs);
    decidedIds = oracle.figures().decidedIds;
  }
  printFigures(`rebuild of a cold oracle: ${name}`, [
    figure("ms of processor time", cpuMs, { target: targetMs, lowerIsBetter: true }),
    figure("ms on the wall", wallMs, { target: targetMs, lowerIsBetter: true }),
    figure("first of them, code not yet compiled", wallMs.slice(0, 1)),
    figure("decisions remembered", [decidedIds]),
  ]);
}

await fillLog();
const bytes = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
console.log(
  `${seconds.toString()} s of log: ${blocks.length.toString()} blocks, ${bytes.toString()} bytes`,
);
await measure("one window, what the protocol reads", limits.certificationWindowMicros);
await measure("all of it", seconds * 1_000_000);
