import type { KinesisStreamEvent, KinesisStreamRecord } from "aws-lambda";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import {
  readCommitPreference,
  readFunctionEnvironment,
} from "../../functions/shared/environment.ts";
import { parseKinesisEvent } from "../../functions/shared/kinesis-event.ts";

function eventRecord(
  change: Partial<KinesisStreamRecord["kinesis"]> = {},
  shard = "shardId-000000000006",
) {
  const sequenceNumber = "49590338271490256608559692538361571095921575989136588898";
  return {
    kinesis: {
      kinesisSchemaVersion: "1.0",
      partitionKey: "1",
      sequenceNumber,
      data: "SGVsbG8sIHRoaXMgaXMgYSB0ZXN0Lg==",
      approximateArrivalTimestamp: 1_545_084_650.987,
      ...change,
    },
    eventSource: "aws:kinesis",
    eventVersion: "1.0",
    eventID: `${shard}:${sequenceNumber}`,
    eventName: "aws:kinesis:record",
    invokeIdentityArn: "arn:aws:iam::123456789012:role/lambda-role",
    awsRegion: "us-east-2",
    eventSourceARN: "arn:aws:kinesis:us-east-2:123456789012:stream/lambda-stream",
  };
}

function parse(...records: KinesisStreamEvent["Records"]) {
  return parseKinesisEvent({ Records: records });
}

describe("kinesis event", () => {
  test("gives shard, sequence number, bytes and arrival in whole milliseconds", () => {
    const batch = parse(eventRecord());
    expect(batch?.shard).toBe("shardId-000000000006");
    expect(batch?.records).toHaveLength(1);
    const [record] = batch?.records ?? [];
    expect(record?.arrivalMs).toBe(1_545_084_650_987);
    expect(Buffer.from(record?.data ?? []).toString()).toBe("Hello, this is a test.");
    expect(record?.sequenceNumber).toHaveLength(56);
  });

  test("takes every millisecond of a second exactly", () => {
    for (let ms = 0; ms < 1_000; ms++) {
      const approximateArrivalTimestamp = Number(`1700000000.${ms.toString().padStart(3, "0")}`);
      const batch = parse(eventRecord({ approximateArrivalTimestamp }));
      expect(batch?.records[0]?.arrivalMs).toBe(1_700_000_000_000 + ms);
    }
  });

  test("of no records is no batch", () => {
    expect(parse()).toBeUndefined();
  });

  test.each<[string, KinesisStreamRecord[]]>([
    ["two shards", [eventRecord(), eventRecord({}, "shardId-000000000007")]],
    ["no shard", [eventRecord({}, "unknown")]],
    ["a sequence number that is no integer", [eventRecord({ sequenceNumber: "12a" })]],
    ["an arrival that is no time", [eventRecord({ approximateArrivalTimestamp: Number.NaN })]],
  ])("of %s is refused", (_, records) => {
    expect(() => parse(...records)).toThrow(InvariantViolation);
  });
});

describe("function environment", () => {
  test("names what it needs when that is missing or wrong", () => {
    expect(() => readFunctionEnvironment({})).toThrow(/TIDEMARK_DEPLOYMENT/);
    const wrong = { TIDEMARK_DEPLOYMENT: "dev", TIDEMARK_LOG_LEVEL: "loud" };
    expect(() => readFunctionEnvironment(wrong)).toThrow(/TIDEMARK_LOG_LEVEL.*DEBUG/);
  });

  test("takes endpoints and a log level in any case", () => {
    const variables = {
      TIDEMARK_DEPLOYMENT: "dev",
      TIDEMARK_LOG_LEVEL: "warn",
      TIDEMARK_ENDPOINT_DYNAMODB: "http://127.0.0.1:1",
    };
    expect(readFunctionEnvironment(variables)).toMatchObject({
      deployment: "dev",
      logLevel: "WARN",
      endpoint: { dynamodb: "http://127.0.0.1:1", kinesis: undefined },
    });
  });

  test("says which way commits go, by what serves better where nothing is said", () => {
    expect(readCommitPreference({})).toBe("auto");
    expect(readCommitPreference({ TIDEMARK_COMMIT: "stream" })).toBe("stream");
    const wrong = { TIDEMARK_COMMIT: "fast" };
    expect(() => readCommitPreference(wrong)).toThrow(/TIDEMARK_COMMIT.*auto, express, stream/);
  });
});
