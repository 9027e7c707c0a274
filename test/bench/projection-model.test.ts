/**
 * The projection's model of the services: it must give the published percentiles, and refuse what
 * the services refuse.
 */
import { describe, expect, test } from "vitest";
import { createDelivery } from "../../bench/projection/delivery.ts";
import { LatencySamples } from "../../bench/projection/latency-samples.ts";
import { LimitedDynamoDb } from "../../bench/projection/limited-dynamodb.ts";
import { LimitedKinesis } from "../../bench/projection/limited-kinesis.ts";
import {
  drawLogNormal,
  logNormalBehindPoll,
  logNormalThrough,
} from "../../bench/projection/log-normal.ts";
import { projectedLatency } from "../../bench/projection/projected-world.ts";
import {
  callLatencies,
  consumers,
  deliveryLatencies,
  serviceLimits,
} from "../../bench/projection/published-figures.ts";
import { UsageLedger } from "../../bench/projection/usage-ledger.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";

const draws = 40_000;

/** Within so much of the figure asked for; of 40,000 draws 400 lie above the p99. */
function expectNear(
  samples: LatencySamples,
  wanted: { readonly p50: number; readonly p99: number },
) {
  const { p50, p99 } = samples.percentiles;
  expect(p50 / wanted.p50).toBeGreaterThan(0.97);
  expect(p50 / wanted.p50).toBeLessThan(1.03);
  expect(p99 / wanted.p99).toBeGreaterThan(0.95);
  expect(p99 / wanted.p99).toBeLessThan(1.05);
}

describe("latencies", () => {
  test.each([
    { p50: 7.6, p99: 16 },
    { p50: 49, p99: 109 },
    { p50: 10, p99: 10 },
  ])("are drawn with p50 $p50 and p99 $p99", (figure) => {
    const random = new SeededRandom("draws");
    const distribution = logNormalThrough(figure);
    const samples = new LatencySamples();
    for (let i = 0; i < draws; i += 1) samples.add(drawLogNormal(distribution, random));
    expectNear(samples, figure);
  });

  test.each(Object.entries(callLatencies))("of %s are those of its figure", (operation, figure) => {
    const random = new SeededRandom(operation);
    const samples = new LatencySamples();
    const call = { service: "dynamodb", operation, target: "" } as const;
    for (let i = 0; i < draws; i += 1) samples.add(projectedLatency(call, random));
    expectNear(samples, figure);
  });

  test.each([
    { p50: 10, p99: 9 },
    { p50: 0, p99: 1 },
  ])("refuse p50 $p50 with p99 $p99", (figure) => {
    expect(() => logNormalThrough(figure)).toThrow(RangeError);
  });

  test("refuse percentiles that lie closer together than a poll's own wait", () => {
    expect(() => logNormalBehindPoll(1_000, { p50: 900, p99: 950 })).toThrow(RangeError);
  });
});

describe("delivery to a function", () => {
  /** Arrivals at random moments, `gapMs` apart on average. */
  function delivered(consumer: (typeof consumers)[number], gapMs: number): LatencySamples {
    const random = new SeededRandom(`${consumer} ${gapMs.toString()}`);
    const delivery = createDelivery(consumer, random.fork("delivery"));
    const samples = new LatencySamples();
    let atMs = 0;
    let beforeMs = 0;
    let outOfOrder = 0;
    for (let i = 0; i < draws; i += 1) {
      atMs += -Math.log(1 - random.next()) * gapMs;
      const availableMs = delivery.availableAtMs(atMs);
      if (availableMs < Math.max(beforeMs, atMs)) outOfOrder += 1;
      beforeMs = availableMs;
      samples.add(availableMs - atMs);
    }
    expect(outOfOrder).toBe(0);
    return samples;
  }

  test.each(consumers)("by %s keeps order and has the published percentiles", (consumer) => {
    expectNear(delivered(consumer, 5_000), deliveryLatencies[consumer]);
  });

  test("by fan-out is not slower on a busy shard by more than a few milliseconds", () => {
    // 40,000 records at this pace span 2,000 times the delay's memory.
    const { p50 } = delivered("fan-out", 50).percentiles;
    expect(Math.abs(p50 - deliveryLatencies["fan-out"].p50)).toBeLessThan(8);
  });
});

describe("a shard", () => {
  function streamOf() {
    let nowMs = 0;
    const ledger = new UsageLedger();
    const kinesis = new LimitedKinesis({ nowMs: () => nowMs, ledger });
    kinesis.execute("CreateStream", { StreamName: "s", ShardCount: 1 });
    const put = (records: number, bytes: number): number => {
      const { FailedRecordCount = 0 } = kinesis.execute("PutRecords", {
        StreamName: "s",
        Records: Array.from({ length: records }, () => ({
          Data: new Uint8Array(bytes),
          PartitionKey: "k",
        })),
      });
      return records - FailedRecordCount;
    };
    const pass = (ms: number): void => {
      nowMs += ms;
    };
    return { kinesis, put, pass, ledger };
  }

  /** Offers ten times what the limit lets through, in small steps, for ten seconds. */
  function acceptedIn10Seconds(recordBytes: number, recordsPerStep: number): number {
    const { put, pass } = streamOf();
    let accepted = 0;
    for (let ms = 0; ms < 10_000; ms += 10) {
      accepted += put(recordsPerStep, recordBytes);
      pass(10);
    }
    return accepted;
  }

  test("takes 1,000 records a second and refuses the others one by one", () => {
    const accepted = acceptedIn10Seconds(10, 100);
    // A tenth of a second's allowance is there from before.
    expect(accepted).toBeLessThanOrEqual(10.1 * serviceLimits.shardRecordsPerSecond);
    expect(accepted).toBeGreaterThanOrEqual(9.9 * serviceLimits.shardRecordsPerSecond);
  });

  test("takes 1 MB a second", () => {
    const bytes = 20_000;
    const accepted = bytes * acceptedIn10Seconds(bytes, 5);
    expect(accepted).toBeLessThanOrEqual(10.2 * serviceLimits.shardBytesPerSecond);
    expect(accepted).toBeGreaterThanOrEqual(9.9 * serviceLimits.shardBytesPerSecond);
  });

  test("answers five GetRecords a second", () => {
    const { kinesis, pass, ledger } = streamOf();
    const [shard] = kinesis.execute("ListShards", { StreamName: "s" }).Shards ?? [];
    const { ShardIterator } = kinesis.execute("GetShardIterator", {
      StreamName: "s",
      ShardId: shard?.ShardId,
      ShardIteratorType: "TRIM_HORIZON",
    });
    const read = () => kinesis.execute("GetRecords", { ShardIterator });
    for (let i = 0; i < 5; i += 1) read();
    expect(read).toThrow(
      expect.objectContaining({ name: "ProvisionedThroughputExceededException" }),
    );
    pass(200);
    read();
    expect(read).toThrow(
      expect.objectContaining({ name: "ProvisionedThroughputExceededException" }),
    );
    expect(ledger.snapshot().other.throttled).toBe(2);
  });
});

describe("a partition", () => {
  function tableOf() {
    let nowMs = 0;
    const ledger = new UsageLedger();
    const dynamodb = new LimitedDynamoDb({ nowMs: () => nowMs, ledger });
    dynamodb.execute("CreateTable", {
      TableName: "items",
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      BillingMode: "PAY_PER_REQUEST",
    });
    const accepted = (act: () => unknown): boolean => {
      try {
        act();
        return true;
      } catch (error) {
        expect(error).toMatchObject({ name: "ProvisionedThroughputExceededException" });
        return false;
      }
    };
    return {
      ledger,
      pass: (ms: number) => {
        nowMs += ms;
      },
      put: (id: string, bytes = 10) =>
        accepted(() =>
          dynamodb.execute("PutItem", {
            TableName: "items",
            Item: { id: { S: id }, text: { S: "x".repeat(bytes) } },
          }),
        ),
      get: (id: string) =>
        accepted(() =>
          dynamodb.execute("GetItem", {
            TableName: "items",
            Key: { id: { S: id } },
            ConsistentRead: true,
          }),
        ),
    };
  }

  test("takes 1,000 write units a second, and an item's size counts", () => {
    const { put, pass } = tableOf();
    let accepted = 0;
    for (let ms = 0; ms < 3_000; ms += 2) {
      for (let i = 0; i < 3; i += 1) if (put("hot", 1_500)) accepted += 2;
      pass(2);
    }
    // The allowance of the second before the first is there, too.
    expect(accepted).toBeLessThanOrEqual(4 * serviceLimits.partitionWriteUnitsPerSecond + 2);
    expect(accepted).toBeGreaterThanOrEqual(3.9 * serviceLimits.partitionWriteUnitsPerSecond);
  });

  test("gives 3,000 read units a second, and another partition has its own", () => {
    const { get, ledger } = tableOf();
    const answered = Array.from({ length: 5_000 }, () => get("hot")).filter(Boolean).length;
    expect(answered).toBe(serviceLimits.partitionReadUnitsPerSecond);
    expect(get("cold")).toBe(true);
    expect(ledger.snapshot().other).toMatchObject({ readUnits: 3_001, throttled: 2_000 });
  });
});
