/**
 * How fast one thread certifies, and whether that depends on how many keys there are: transactions
 * of 4 checks and 4 writes (certification-load.ts) over 10,000 to 10,000,000 keys.
 *
 *     npm run bench:core
 *     npm run bench:core -- --keys 1000000
 */
import { parseArgs } from "node:util";
import { ShardUnderLoad } from "./certification-load.ts";
import { figure, printFigures } from "./measure.ts";
import { randomReadNanos } from "./memory-floor.ts";

const sizes = [10_000, 100_000, 1_000_000, 10_000_000];
/** 600 batches are 12 s of stream time: more than a window. */
const batchesWarm = 600;
const batchesMeasured = 100;
const repetitions = 9;
const target = 2_000_000;
/** Eight hashes in the index, and one id: each in a place of its own. */
const randomReadsPerTransaction = 9;

function measure(keyCount: number): number {
  const shard = new ShardUnderLoad(keyCount);
  shard.certify(batchesWarm);
  const results = Array.from({ length: repetitions }, () => shard.certify(batchesMeasured));
  const { indexBytes, indexLive, decidedIds } = shard.oracle.figures();
  const floorNanos = randomReadNanos(indexBytes) * randomReadsPerTransaction;
  const perCpuSecond = figure(
    "transactions/s of processor time",
    results.map((result) => result.perCpuSecond),
    { target },
  );
  printFigures(
    `certification core: 4 checks + 4 writes, ${keyCount.toLocaleString("en-US")} keys, one thread`,
    [
      perCpuSecond,
      figure(
        "transactions/s on the wall",
        results.map((result) => result.perSecond),
        { target },
      ),
      figure(
        "share committed",
        results.map((result) => result.committed),
      ),
      figure("memory alone would allow", [1e9 / floorNanos]),
      figure("live keys in the index", [indexLive]),
      figure("bytes of index per live key", [indexBytes / indexLive], {
        target: 24,
        lowerIsBetter: true,
      }),
      figure("ids remembered", [decidedIds]),
    ],
  );
  return perCpuSecond.median;
}

const { values } = parseArgs({ options: { keys: { type: "string" } } });
const medians = (values.keys === undefined ? sizes : [Number(values.keys)]).map((keyCount) => ({
  keyCount,
  median: measure(keyCount),
}));
const million = medians.find(({ keyCount }) => keyCount === 1_000_000)?.median;
const most = medians.find(({ keyCount }) => keyCount === 10_000_000)?.median;
if (million !== undefined && most !== undefined) {
  printFigures("flatness: throughput at 10,000,000 keys over that at 1,000,000", [
    figure("ratio", [most / million], { target: 0.75 }),
  ]);
}
