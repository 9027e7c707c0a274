/**
 * The commit stream on a real Kinesis protocol server: puts by shard, partial answers, reads by
 * sequence number.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { PutRecordResult, StreamRead } from "../../core/ports.ts";
import type { SequenceNumber, ShardId } from "../../core/types.ts";
import type { AwsPorts, AwsPortsOptions } from "../../aws/ports.ts";
import { systemClock } from "../../aws/system.ts";
import {
  awsError,
  startFaultyProxy,
  type Fault,
  type FaultyProxy,
} from "../harness/faulty-proxy.ts";
import { recordsAt, startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
let kinesis: FaultyProxy;

beforeAll(async () => {
  stores = await startLocalStores({ shardCount: 3, shards: 3 });
  kinesis = await startFaultyProxy(stores.servers.endpoint.kinesis);
});
afterEach(() => {
  kinesis.reset();
});
afterAll(async () => {
  await stores.stop();
  await kinesis.stop();
});

function faulty(options: Partial<AwsPortsOptions> = {}): AwsPorts {
  const endpoint = { dynamodb: stores.servers.endpoint.dynamodb, kinesis: kinesis.url };
  const clock = { ...systemClock, sleep: () => Promise.resolve() };
  return stores.openPorts({ endpoint, callTriesMax: 1, callTimeoutMs: 20_000, clock, ...options });
}

function record(...bytes: number[]): Uint8Array {
  return Uint8Array.from(bytes);
}

/** Puts one record per byte, in order, and returns their sequence numbers. */
async function putAll(shard: ShardId, ...bytes: number[]): Promise<SequenceNumber[]> {
  const numbers: SequenceNumber[] = [];
  for (const byte of bytes) {
    const [result] = await stores.ports.stream.put(shard, [record(byte)]);
    if (result?.kind !== "stored") throw new Error("not stored");
    numbers.push(result.sequenceNumber);
  }
  return numbers;
}

function shardAt(index: number): ShardId {
  const shard = stores.shards[index];
  if (shard === undefined) throw new Error("no such shard");
  return shard;
}

/** Reads bytes back; each record is one byte long. What was not found is told by its kind. */
async function readBytes(
  from: SequenceNumber,
  recordsMax = 100,
  ports = stores.ports,
): Promise<number[] | Exclude<StreamRead, { kind: "found" }>> {
  const read = await ports.stream.read(shardAt(0), from, { recordsMax });
  return read.kind === "found" ? read.records.map(({ data }) => data[0] ?? -1) : read;
}

describe("put", () => {
  test("reaches exactly the shard that was named", async () => {
    for (const [index, shard] of stores.shards.entries()) {
      const [from] = await putAll(shard, 100 + index);
      const found = await recordsAt(stores, { shard, from: from ?? ("0" as SequenceNumber) });
      expect(found.map(({ data }) => [...data])).toEqual([[100 + index]]);
      expect(found[0]?.sequenceNumber).toBe(from);
      expect(Math.abs((found[0]?.arrivalMs ?? 0) - Date.now())).toBeLessThan(60_000);
      expect(Number.isInteger(found[0]?.arrivalMs)).toBe(true);
    }
  });

  test("of nothing sends nothing", async () => {
    expect(await faulty().stream.put(shardAt(0), [])).toEqual([]);
    expect(kinesis.seen("PutRecords")).toBe(0);
  });

  test("to a shard that the deployment does not have is rejected", async () => {
    const put = stores.ports.stream.put("shardId-000000000099" as ShardId, [record(1)]);
    await expect(put).rejects.toMatchObject({ fault: "rejected" });
  });

  test("takes a record of the largest size", async () => {
    const largest = new Uint8Array(limits.recordBytesMax).fill(7);
    const [result] = await stores.ports.stream.put(shardAt(1), [largest]);
    expect(result?.kind).toBe("stored");
  });

  test("gives each record of a partly failed put its own answer, in order", async () => {
    kinesis.fail("PutRecords", {
      kind: "rewrite",
      change: (body) => {
        const { Records } = body as { Records: unknown[] };
        return {
          FailedRecordCount: 2,
          Records: [
            { ErrorCode: "ProvisionedThroughputExceededException", ErrorMessage: "slow down" },
            Records[1],
            { ErrorCode: "InternalFailure", ErrorMessage: "oops" },
          ],
        };
      },
    });
    const results = await faulty().stream.put(shardAt(0), [record(1), record(2), record(3)]);
    expect(results.map(({ kind }) => kind)).toEqual(["throttled", "stored", "unknown"]);
  });

  test("calls a record unknown that has no answer", async () => {
    kinesis.fail("PutRecords", {
      kind: "rewrite",
      change: (body) => {
        const { Records } = body as { Records: object[] };
        return { Records: Records.slice(0, 1) };
      },
    });
    const results = await faulty().stream.put(shardAt(0), [record(1), record(2)]);
    expect(results.map(({ kind }) => kind)).toEqual(["stored", "unknown"]);
  });

  test.each<readonly [string, PutRecordResult["kind"], Fault]>([
    ["throttled", "throttled", awsError(400, "ProvisionedThroughputExceededException")],
    ["failed by the server", "unknown", awsError(500, "InternalFailure")],
    ["cut off before", "unknown", { kind: "cut-before" }],
    ["cut off after", "unknown", { kind: "cut-after" }],
    ["left without an answer", "unknown", { kind: "hang" }],
  ])("that is %s as a whole makes every record %s", async (_name, expected, fault) => {
    kinesis.fail("PutRecords", fault);
    const callTimeoutMs = fault.kind === "hang" ? 200 : 20_000;
    const results = await faulty({ callTimeoutMs }).stream.put(shardAt(0), [record(1), record(2)]);
    expect(results.map(({ kind }) => kind)).toEqual([expected, expected]);
  });

  test("throttled after a try with a lost answer is unknown", async () => {
    const throttled = awsError(400, "ProvisionedThroughputExceededException");
    kinesis.fail("PutRecords", { kind: "cut-after" }, throttled);
    const [result] = await faulty({ callTriesMax: 2 }).stream.put(shardAt(0), [record(1)]);
    expect(result?.kind).toBe("unknown");
  });

  test("that the stream refuses for good throws", async () => {
    kinesis.fail("PutRecords", awsError(400, "ResourceNotFoundException"));
    const put = faulty().stream.put(shardAt(0), [record(1)]);
    await expect(put).rejects.toMatchObject({ fault: "rejected" });
  });

  test("reads sequence numbers without the zeros that some servers pad them with", async () => {
    kinesis.fail("PutRecords", {
      kind: "rewrite",
      change: () => ({ Records: [{ SequenceNumber: "000123", ShardId: shardAt(0) }] }),
    });
    const results = await faulty().stream.put(shardAt(0), [record(1)]);
    expect(results).toEqual([{ kind: "stored", sequenceNumber: "123" }]);
  });
});

describe("read", () => {
  let numbers: SequenceNumber[];
  beforeAll(async () => {
    numbers = await putAll(shardAt(0), 1, 2, 3, 4, 5);
  });
  const at = (index: number): SequenceNumber => numbers[index] ?? ("0" as SequenceNumber);

  test("begins with the record asked for and keeps order", async () => {
    expect(await readBytes(at(0))).toEqual([1, 2, 3, 4, 5]);
    expect(await readBytes(at(3))).toEqual([4, 5]);
  });

  test.each([
    [1, [2]],
    [2, [2, 3]],
    [4, [2, 3, 4, 5]],
    [5, [2, 3, 4, 5]],
  ])("returns at most %i records", async (recordsMax, expected) => {
    expect(await readBytes(at(1), recordsMax)).toEqual(expected);
  });

  test("goes on after an empty page while records follow", async () => {
    const empty: Fault = {
      kind: "rewrite",
      change: () => ({ Records: [], MillisBehindLatest: 5, NextShardIterator: "again" }),
    };
    // The iterator of an empty page is the server's to make; the real one is fetched anew when it
    // expires.
    kinesis.fail("GetRecords", empty, awsError(400, "ExpiredIteratorException"));
    expect(await readBytes(at(0), 100, faulty())).toEqual([1, 2, 3, 4, 5]);
  });

  test("continues after the last record read when its iterator expires", async () => {
    const firstTwo: Fault = {
      kind: "rewrite",
      change: (body) => {
        const { Records } = body as { Records: unknown[] };
        return { Records: Records.slice(0, 2), MillisBehindLatest: 9, NextShardIterator: "old" };
      },
    };
    kinesis.fail("GetRecords", firstTwo, awsError(400, "ExpiredIteratorException"));
    expect(await readBytes(at(0), 100, faulty())).toEqual([1, 2, 3, 4, 5]);
    expect(kinesis.bodies("GetShardIterator").at(-1)).toMatchObject({
      ShardIteratorType: "AFTER_SEQUENCE_NUMBER",
      StartingSequenceNumber: at(1),
    });
  });

  test("says that the record is trimmed when its shard begins with a later one", async () => {
    kinesis.fail("GetRecords", {
      kind: "rewrite",
      change: (body) => {
        const page = body as { Records: unknown[] };
        return { ...page, Records: page.Records.slice(1) };
      },
    });
    expect(await readBytes(at(0), 100, faulty())).toEqual({ kind: "trimmed" });
  });

  test("proves nothing where the stream does not know the sequence number now", async () => {
    kinesis.fail("GetShardIterator", awsError(400, "InvalidArgumentException"));
    const unseen = { kind: "unseen", complete: true };
    expect(await readBytes(at(0), 100, faulty())).toEqual(unseen);
  });

  test("proves nothing when Kinesis shows an empty page and says nothing follows", async () => {
    kinesis.fail("GetRecords", {
      kind: "rewrite",
      change: (body) => ({ ...(body as object), Records: [], MillisBehindLatest: 0 }),
    });
    const unseen = { kind: "unseen", complete: true };
    expect(await readBytes(at(0), 100, faulty())).toEqual(unseen);
  });

  test("ends after a bounded number of empty pages", async () => {
    const empty: Fault = {
      kind: "rewrite",
      change: (body) => ({ ...(body as object), Records: [], MillisBehindLatest: 5 }),
    };
    kinesis.fail("GetRecords", ...Array.from({ length: 100 }, () => empty));
    const unseen = { kind: "unseen", complete: false };
    expect(await readBytes(at(0), 100, faulty())).toEqual(unseen);
    expect(kinesis.seen("GetRecords")).toBe(limits.streamReadCallsMax);
  });

  test("fails as unavailable when the server does not answer", async () => {
    kinesis.fail("GetRecords", { kind: "hang" });
    await expect(readBytes(at(0), 100, faulty({ callTimeoutMs: 200 }))).rejects.toMatchObject({
      fault: "unavailable",
    });
  });
});
