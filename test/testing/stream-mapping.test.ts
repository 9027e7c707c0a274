/** A mapping from a shard to a function: in order, at least once; what each fault adds to that. */
import { expect, test } from "vitest";
import type { SequenceNumber, ShardId } from "../../core/types.ts";
import { Faults, type FaultPlan } from "../../testing/kernel/faults.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { SimulatedFunction } from "../../testing/kernel/simulated-function.ts";
import { exactClock, SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import {
  StreamMapping,
  type BatchAnswer,
  type ShardBatch,
} from "../../testing/kernel/stream-mapping.ts";
import { Trace } from "../../testing/kernel/trace.ts";
import { VirtualTime } from "../../testing/kernel/virtual-time.ts";
import { Weather } from "../../testing/kernel/weather.ts";

const hourMs = 3600_000;
const batchSize = 5;
const shard = "shard" as ShardId;

type Delivery = { readonly instance: string; readonly first: number; readonly count: number };
type Consume = (batch: Delivery, nth: number) => BatchAnswer | Promise<BatchAnswer>;

function stage(plan: FaultPlan, consume: Consume = () => ({})) {
  const time = new VirtualTime(0);
  const random = new SeededRandom("mapping");
  const faults = new Faults({ plan, random: random.fork("faults"), onStrike: () => undefined });
  const trace = new Trace({ keepLines: false });
  const weather = new Weather({ time, faults, trace });
  const world = { time, faults, weather, random, trace };
  const deliveries: Delivery[] = [];
  const start =
    (process: SimulatedProcess) =>
    async ({ records }: ShardBatch) => {
      const first = Number(records[0]?.sequenceNumber);
      const delivery = { instance: process.name, first, count: records.length };
      deliveries.push(delivery);
      await process.clock.sleep(20);
      return consume(delivery, deliveries.length);
    };
  const fn = new SimulatedFunction<ShardBatch, BatchAnswer>(
    { name: "f", timeLimitMs: 60_000, start },
    {
      ...world,
      startProcess: (name) => new SimulatedProcess({ name, time, random, clockError: exactClock }),
    },
  );
  let stored = 0;
  const mapping = new StreamMapping(
    { shard, batchSize, windowMs: 0, partialBatchResponse: true, deliveryMs: { min: 10, max: 70 } },
    fn,
    {
      ...world,
      recordCount: () => stored,
      records: (from, end) =>
        Array.from({ length: end - from }, (_, i) => ({
          sequenceNumber: (from + i).toString() as SequenceNumber,
          arrivalMs: 0,
          data: new Uint8Array(0),
        })),
    },
  );
  void mapping.run();
  return {
    mapping,
    deliveries,
    put: (count: number): void => {
      stored += count;
      mapping.wake();
    },
    pass: (durationMs: number): Promise<void> =>
      time.runUntil(time.sleep(durationMs), durationMs + 1),
    /** How often each record was delivered. */
    counts: (): number[] =>
      Array.from(
        { length: stored },
        (_, at) =>
          deliveries.filter(({ first, count }) => first <= at && at < first + count).length,
      ),
  };
}

test("records come once, in order, in batches of the size that was asked for", async () => {
  const { put, pass, deliveries, mapping } = stage({});
  put(12);
  await pass(hourMs);
  put(1);
  await pass(hourMs);
  expect(deliveries.map(({ first, count }) => [first, count])).toEqual([
    [0, 5],
    [5, 5],
    [10, 2],
    [12, 1],
  ]);
  expect(mapping.behind).toBe(0);
});

test("a batch that fails comes again until it succeeds, and none overtakes it", async () => {
  const { put, pass, deliveries } = stage({}, (_batch, nth) => {
    if (nth <= 3) throw new Error("not yet");
    return {};
  });
  put(7);
  await pass(hourMs);
  expect(deliveries.map(({ first, count }) => [first, count])).toEqual([
    ...[0, 0, 0, 0].map((first) => [first, 5]),
    [5, 2],
  ]);
});

test("a batch that is done in part goes on from the record that was named", async () => {
  const { put, pass, deliveries, mapping } = stage({}, (_batch, nth) =>
    nth === 1 ? { unfinishedFrom: "3" } : {},
  );
  put(5);
  await pass(hourMs);
  expect(deliveries.map(({ first, count }) => [first, count])).toEqual([
    [0, 5],
    [3, 2],
  ]);
  expect(mapping.behind).toBe(0);
});

test("a record that the batch did not hold is no progress: the batch comes again", async () => {
  const { put, pass, deliveries } = stage({}, (_batch, nth) =>
    nth === 1 ? { unfinishedFrom: "99" } : {},
  );
  put(2);
  await pass(hourMs);
  expect(deliveries.map(({ first, count }) => [first, count])).toEqual([
    [0, 2],
    [0, 2],
  ]);
});

test("a batch that is cut loses nothing", async () => {
  const { put, pass, deliveries, counts } = stage({ "batch-cut": 0.7 });
  put(30);
  await pass(hourMs);
  expect(counts()).toEqual(new Array(30).fill(1));
  expect(deliveries.length).toBeGreaterThan(6);
  const firsts = deliveries.map(({ first }) => first);
  expect(firsts).toEqual([...firsts].sort((a, b) => a - b));
});

test.each(["batch-redelivered", "consumer-restart"] as const)(
  "%s: records come again, and none is left out",
  async (fault) => {
    const { put, pass, counts, mapping } = stage({ [fault]: 0.5 });
    put(30);
    await pass(hourMs);
    expect(Math.min(...counts())).toBeGreaterThanOrEqual(1);
    expect(Math.max(...counts())).toBeGreaterThan(1);
    expect(mapping.behind).toBe(0);
  },
);

test("an overlap hands one batch to two instances at once", async () => {
  const { put, pass, deliveries } = stage({ "consumer-overlap": 1 });
  put(3);
  await pass(hourMs);
  expect(deliveries).toEqual([
    { instance: "f.1", first: 0, count: 3 },
    { instance: "f.2", first: 0, count: 3 },
  ]);
});

test("nothing is delivered while it pauses, and everything afterwards", async () => {
  const { put, pass, deliveries, mapping } = stage({});
  mapping.pause();
  put(3);
  await pass(hourMs);
  expect(deliveries).toEqual([]);
  expect(mapping.behind).toBe(3);
  mapping.resume();
  await pass(hourMs);
  expect(deliveries).toHaveLength(1);
});
