/**
 * What the model of Kinesis offers beyond the API, and documented behaviour that kinesalite does
 * not show.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { isSequenceNumber } from "../../core/sequence-number.ts";
import { KinesisModel } from "../../testing/cloud/kinesis/model.ts";

const StreamName = "commits";
const shard = "shardId-000000000000";
let nowMs = 0;
let arrivalMs = 0;
let model: KinesisModel;

beforeEach(() => {
  nowMs = 1_767_225_600_000;
  arrivalMs = nowMs;
  model = new KinesisModel({ nowMs: () => nowMs, arrivalMs: () => arrivalMs });
  model.execute("CreateStream", { StreamName, ShardCount: 1 });
});

function put(text: string): string {
  const Data = new TextEncoder().encode(text);
  const output = model.execute("PutRecord", { StreamName, PartitionKey: "k", Data });
  return output.SequenceNumber ?? "";
}

function iterator(input: Record<string, unknown>): string {
  const request = { StreamName, ShardId: shard, ...input };
  return model.execute("GetShardIterator", request as never).ShardIterator ?? "";
}

function read(ShardIterator: string, Limit?: number) {
  const output = model.execute("GetRecords", {
    ShardIterator,
    ...(Limit === undefined ? {} : { Limit }),
  });
  const texts = (output.Records ?? []).map(({ Data }) => new TextDecoder().decode(Data));
  return { ...output, texts };
}

const horizon = { ShardIteratorType: "TRIM_HORIZON" };

function nameOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error.name;
  }
  return "none";
}

describe("sequence numbers", () => {
  test("are decimal texts of 56 digits that rise with every record of a shard", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -5_000, max: 5_000 }), { minLength: 2 }), (steps) => {
        const numbers = steps.map((step) => {
          arrivalMs = nowMs + step;
          nowMs += Math.max(0, step);
          return put("x");
        });
        for (const [index, number] of numbers.entries()) {
          expect(number).toHaveLength(56);
          expect(isSequenceNumber(number)).toBe(true);
          if (index > 0) expect(BigInt(number) > BigInt(numbers[index - 1] ?? "0")).toBe(true);
        }
      }),
    );
  });

  test("of another shard or another stream are refused", () => {
    const own = put("a");
    model.execute("SplitShard", {
      StreamName,
      ShardToSplit: shard,
      NewStartingHashKey: (2n ** 127n).toString(),
    });
    const start = { ShardIteratorType: "AT_SEQUENCE_NUMBER", StartingSequenceNumber: own };
    const elsewhere = () => iterator({ ...start, ShardId: "shardId-000000000001" });
    expect(nameOf(elsewhere)).toBe("InvalidArgumentException");
    model.execute("DeleteStream", { StreamName });
    nowMs += 1_000;
    model.execute("CreateStream", { StreamName, ShardCount: 1 });
    expect(nameOf(() => iterator(start))).toBe("InvalidArgumentException");
  });
});

describe("iterators", () => {
  test("expire when they are older than five minutes", () => {
    const made = iterator(horizon);
    nowMs += 5 * 60_000;
    expect(nameOf(() => read(made))).toBe("none");
    nowMs += 1;
    expect(nameOf(() => read(made))).toBe("ExpiredIteratorException");
  });

  test("that nobody made are refused", () => {
    expect(nameOf(() => read("iterator"))).toBe("InvalidArgumentException");
  });

  test("at a time begin with the first record that arrived then or later", () => {
    put("a");
    arrivalMs = nowMs + 1_000;
    put("b");
    nowMs += 2_000;
    const at = (ms: number) =>
      read(iterator({ ShardIteratorType: "AT_TIMESTAMP", Timestamp: new Date(ms) })).texts;
    expect(at(arrivalMs)).toEqual(["b"]);
    expect(at(arrivalMs - 1_000)).toEqual(["a", "b"]);
    expect(at(arrivalMs + 1)).toEqual([]);
    expect(nameOf(() => at(nowMs + 1))).toBe("InvalidArgumentException");
  });

  test("at and after a sequence number", () => {
    const [, second] = [put("a"), put("b"), put("c")];
    const from = (ShardIteratorType: string) =>
      read(iterator({ ShardIteratorType, StartingSequenceNumber: second })).texts;
    expect(from("AT_SEQUENCE_NUMBER")).toEqual(["b", "c"]);
    expect(from("AFTER_SEQUENCE_NUMBER")).toEqual(["c"]);
    const latest = iterator({ ShardIteratorType: "LATEST" });
    put("d");
    expect(read(latest).texts).toEqual(["d"]);
  });
});

describe("retention", () => {
  const hourMs = 3_600_000;

  test("takes old records from readers, who then begin with the oldest that is left", () => {
    const first = put("a");
    arrivalMs = nowMs + 2 * hourMs;
    put("b");
    nowMs += 25 * hourMs;
    expect(read(iterator(horizon)).texts).toEqual(["b"]);
    const at = { ShardIteratorType: "AT_SEQUENCE_NUMBER", StartingSequenceNumber: first };
    expect(read(iterator(at)).texts).toEqual(["b"]);
    expect(model.records(StreamName, shard)).toHaveLength(2);
  });

  test("can be made longer and shorter within its bounds", () => {
    put("a");
    model.execute("IncreaseStreamRetentionPeriod", { StreamName, RetentionPeriodHours: 48 });
    nowMs += 25 * hourMs;
    expect(read(iterator(horizon)).texts).toEqual(["a"]);
    model.execute("DecreaseStreamRetentionPeriod", { StreamName, RetentionPeriodHours: 24 });
    expect(read(iterator(horizon)).texts).toEqual([]);
    const tooShort = () =>
      model.execute("DecreaseStreamRetentionPeriod", { StreamName, RetentionPeriodHours: 23 });
    expect(nameOf(tooShort)).toBe("InvalidArgumentException");
  });
});

describe("pages", () => {
  test("end at ten megabytes, and say how far behind they are", () => {
    const Data = new Uint8Array(1024 * 1024 - 1);
    for (let i = 0; i < 12; i++) {
      model.execute("PutRecord", { StreamName, PartitionKey: "k", Data });
    }
    nowMs += 3_000;
    const page = model.execute("GetRecords", { ShardIterator: iterator(horizon) });
    expect(page.Records).toHaveLength(10);
    expect(page.MillisBehindLatest).toBe(3_000);
    const next = model.execute("GetRecords", { ShardIterator: page.NextShardIterator });
    expect([next.Records?.length, next.MillisBehindLatest]).toEqual([2, 0]);
  });

  test("of a closed shard end with its children instead of a next iterator", () => {
    put("a");
    put("b");
    model.execute("SplitShard", {
      StreamName,
      ShardToSplit: shard,
      NewStartingHashKey: (2n ** 127n).toString(),
    });
    const first = read(iterator(horizon), 1);
    expect(first.NextShardIterator).toBeDefined();
    const last = read(first.NextShardIterator ?? "", 1);
    expect(last.texts).toEqual(["b"]);
    expect(last.NextShardIterator).toBeUndefined();
    expect(last.ChildShards?.map(({ ShardId }) => ShardId)).toEqual([
      "shardId-000000000001",
      "shardId-000000000002",
    ]);
    const middle = (2n ** 127n).toString();
    const byHash = (ExplicitHashKey: string) =>
      model.execute("PutRecord", {
        StreamName,
        PartitionKey: "k",
        ExplicitHashKey,
        Data: new Uint8Array(0),
      }).ShardId;
    expect([byHash("0"), byHash(middle)]).toEqual(["shardId-000000000001", "shardId-000000000002"]);
  });
});

describe("puts", () => {
  test("fail entry by entry where they are told to, and keep the rest", () => {
    const Records = ["a", "b", "c"].map((text) => ({
      PartitionKey: "k",
      Data: new TextEncoder().encode(text),
    }));
    const failEntries = (index: number) => (index === 1 ? ("InternalFailure" as const) : undefined);
    const output = model.execute("PutRecords", { StreamName, Records }, { failEntries });
    expect(output.FailedRecordCount).toBe(1);
    expect(output.Records?.map(({ ErrorCode }) => ErrorCode)).toEqual([
      ...[undefined, "InternalFailure", undefined],
    ]);
    expect(read(iterator(horizon)).texts).toEqual(["a", "c"]);
  });

  test.each([
    ["a record at its limit", [1024 * 1024 - 1], "none"],
    ["a record above it with its key", [1024 * 1024], "ValidationException"],
    ["five megabytes", Array.from({ length: 5 }, () => 1024 * 1024 - 1), "none"],
    [
      "more than five megabytes",
      [...Array.from({ length: 5 }, () => 1024 * 1024 - 1), 0],
      "InvalidArgumentException",
    ],
    ["no record", [], "ValidationException"],
    ["501 records", Array.from({ length: 501 }, () => 0), "ValidationException"],
  ])("of %s", (_words, sizes, expected) => {
    const Records = sizes.map((size) => ({ PartitionKey: "k", Data: new Uint8Array(size) }));
    expect(nameOf(() => model.execute("PutRecords", { StreamName, Records }))).toBe(expected);
  });
});
