/** What a function behind the local event source mapping can rely on, claim by claim. */
import type { KinesisStreamEvent } from "aws-lambda";
import { describe, expect, onTestFinished, test } from "vitest";
import fc from "fast-check";
import {
  startEventSourceMapping,
  type EventSourceMapping,
} from "../../localstack/event-source-mapping.ts";
import type { Checkpoint, MappingOptions, MappingReport } from "../../localstack/shard-consumer.ts";
import { MemoryStream, VirtualClock } from "./fixtures/memory-stream.ts";

const origin = {
  region: "eu-west-1",
  streamArn: "arn:aws:kinesis:eu-west-1:000000000000:stream/s",
  roleArn: "arn:aws:iam::000000000000:role/r",
};

type Harness = {
  readonly stream: MemoryStream;
  readonly clock: VirtualClock;
  readonly checkpoints: Map<string, Checkpoint>;
  readonly reports: MappingReport[];
  /** Texts of each event, in the order in which the function was invoked. */
  readonly batches: { readonly shardId: string; readonly texts: readonly string[] }[];
  start(
    handler?: (event: KinesisStreamEvent, invocation: number) => Promise<unknown>,
    options?: Partial<MappingOptions>,
  ): EventSourceMapping;
};

function harness(shards: readonly string[] = ["a"]): Harness {
  const stream = new MemoryStream();
  for (const shard of shards) stream.addShard(shard);
  const made: Harness = {
    stream,
    clock: new VirtualClock(),
    checkpoints: new Map(),
    reports: [],
    batches: [],
    start(handler = () => Promise.resolve(undefined), options = {}) {
      const mapping = startEventSourceMapping(
        {
          origin,
          batchSize: 100,
          windowMs: 0,
          partialBatchResponse: false,
          invocationMsMax: Infinity,
          pollMsMin: 1,
          pollMsMax: 50,
          retryMsMin: 10,
          retryMsMax: 1_000,
          ...options,
        },
        {
          clock: made.clock,
          reader: stream,
          invoke: async (event) => {
            made.batches.push({ shardId: shardOf(event), texts: textsOf(event) });
            return handler(event, made.batches.length);
          },
          loadCheckpoint: (shardId) => made.checkpoints.get(shardId),
          saveCheckpoint: (shardId, checkpoint) => made.checkpoints.set(shardId, checkpoint),
          report: (report) => made.reports.push(report),
        },
      );
      onTestFinished(() => mapping.stop());
      return mapping;
    },
  };
  return made;
}

function shardOf(event: KinesisStreamEvent): string {
  return event.Records[0]?.eventID.split(":")[0] ?? "";
}

function textsOf(event: KinesisStreamEvent): string[] {
  return event.Records.map((record) => Buffer.from(record.kinesis.data, "base64").toString());
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100_000; turn += 1) {
    if (condition()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("the condition never came true");
}

const delivered = (h: Harness, shardId = "a"): string[] =>
  h.batches.filter((batch) => batch.shardId === shardId).flatMap((batch) => batch.texts);

describe("delivery", () => {
  test("starts at the oldest record, delivers in order, in batches of bounded size", async () => {
    const h = harness();
    h.stream.put("a", "1", "2", "3", "4", "5");
    h.start(undefined, { batchSize: 2 });
    await until(() => delivered(h).length === 5);
    expect(h.batches.map((batch) => batch.texts)).toEqual([["1", "2"], ["3", "4"], ["5"]]);
  });

  test("the event has the shape that Lambda gives it", async () => {
    const h = harness();
    h.stream.put("a", "héllo");
    let seen: KinesisStreamEvent | undefined;
    h.start((event) => Promise.resolve((seen = event)));
    await until(() => seen !== undefined);
    expect(seen).toEqual({
      Records: [
        {
          kinesis: {
            kinesisSchemaVersion: "1.0",
            partitionKey: "p",
            sequenceNumber: "1",
            data: Buffer.from("héllo").toString("base64"),
            approximateArrivalTimestamp: 1_700_000_000.123,
          },
          eventSource: "aws:kinesis",
          eventVersion: "1.0",
          eventID: "a:1",
          eventName: "aws:kinesis:record",
          invokeIdentityArn: origin.roleArn,
          awsRegion: "eu-west-1",
          eventSourceARN: origin.streamArn,
        },
      ],
    });
  });

  test("one batch at a time per shard, while other shards go on", async () => {
    const h = harness(["a", "b"]);
    h.stream.put("a", "a1");
    h.stream.put("b", "b1");
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    h.start(async (event) => (shardOf(event) === "a" ? held : undefined));
    await until(() => h.batches.length === 2);
    h.stream.put("a", "a2");
    h.stream.put("b", "b2");
    await until(() => delivered(h, "b").length === 2);
    expect(delivered(h, "a")).toEqual(["a1"]);
    release();
    await until(() => delivered(h, "a").length === 2);
  });

  test("a batch window gathers what arrives within it, and no longer", async () => {
    const h = harness();
    h.stream.put("a", "1");
    h.start(undefined, { windowMs: 100 });
    await until(() => h.clock.monotonicMs() > 40);
    expect(h.batches).toEqual([]);
    h.stream.put("a", "2");
    await until(() => h.batches.length === 1);
    expect(h.batches[0]?.texts).toEqual(["1", "2"]);
    expect(h.clock.monotonicMs()).toBeLessThanOrEqual(126);
  });

  test("a full batch does not wait for its window", async () => {
    const h = harness();
    h.stream.put("a", "1", "2");
    h.start(undefined, { windowMs: 1_000_000, batchSize: 2 });
    await until(() => h.batches.length === 1);
    expect(h.clock.monotonicMs()).toBeLessThan(1_000_000);
  });

  test("an event's payload stays within 6 MB, base64 and envelope included", async () => {
    const h = harness();
    const megabyte = new Uint8Array(1024 * 1024).fill(97);
    h.stream.put("a", ...Array.from({ length: 9 }, () => megabyte));
    const sizes: number[] = [];
    h.start((event) => Promise.resolve(sizes.push(JSON.stringify(event).length)));
    await until(() => delivered(h).length === 9);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(6 * 1024 * 1024);
    expect(h.batches.map((batch) => batch.texts.length)).toEqual([4, 4, 1]);
  });

  test("a record larger than the payload limit is delivered alone and blocks nothing", async () => {
    const h = harness();
    h.stream.put("a", "1", "x".repeat(2_000), "3");
    h.start(undefined, { payloadBytesMax: 1_500 });
    await until(() => delivered(h).length === 3);
    expect(h.batches.map((batch) => batch.texts.length)).toEqual([1, 1, 1]);
  });

  test("an idle shard is read ever more rarely, invokes nothing, and wakes at once", async () => {
    const h = harness();
    const mapping = h.start(undefined, { pollMsMin: 1, pollMsMax: 1_000_000 });
    await until(() => h.stream.reads >= 20);
    expect(h.batches).toEqual([]);
    const beforeMs = h.clock.monotonicMs();
    expect(beforeMs).toBeGreaterThan(100_000);
    h.stream.put("a", "1");
    mapping.wake();
    await until(() => h.batches.length === 1);
    expect(h.clock.monotonicMs() - beforeMs).toBeLessThan(500_000);
  });

  test("a shard that was read to its end is not read again before it is woken", async () => {
    const h = harness();
    const mapping = h.start(undefined, { pollMsMin: 1_000_000, pollMsMax: 1_000_000 });
    await until(() => h.stream.reads === 1);
    for (const text of ["1", "2", "3"]) {
      h.stream.put("a", text);
      mapping.wake();
      await until(() => delivered(h).includes(text));
    }
    expect(h.stream.reads).toBe(4);
  });

  test("a woken mapping with a window reads once, when the window ends", async () => {
    const h = harness();
    const mapping = h.start(undefined, { windowMs: 40, pollMsMin: 10_000, pollMsMax: 10_000 });
    await until(() => h.stream.reads === 1);
    const wokenMs = h.clock.monotonicMs();
    h.stream.put("a", "1");
    mapping.wake();
    h.stream.put("a", "2");
    await until(() => h.batches.length === 1);
    expect(h.batches[0]?.texts).toEqual(["1", "2"]);
    expect(h.clock.monotonicMs() - wokenMs).toBeLessThan(10_000);
    expect(h.stream.reads).toBe(2);
  });
});

describe("failure", () => {
  test("a batch whose handler throws comes again whole, until it is accepted", async () => {
    const h = harness();
    h.stream.put("a", "1", "2", "3");
    h.start((_event, invocation) =>
      invocation < 5 ? Promise.reject(new Error("no")) : Promise.resolve(undefined),
    );
    await until(() => h.checkpoints.size === 1);
    expect(h.batches.map((batch) => batch.texts.join())).toEqual(Array(5).fill("1,2,3"));
    expect(h.checkpoints.get("a")).toEqual({ kind: "after", sequenceNumber: "3" });
    expect(h.reports.map((report) => report.failures)).toEqual([1, 2, 3, 4]);
    // 10 + 20 + 40 + 80 ms of backoff.
    expect(h.clock.monotonicMs()).toBeGreaterThanOrEqual(150);
  });

  test("a handler that always throws blocks its shard and nothing else", async () => {
    const h = harness(["a", "b"]);
    h.stream.put("a", "a1");
    h.stream.put("b", "b1");
    h.start((event) =>
      shardOf(event) === "a" ? Promise.reject(new Error("no")) : Promise.resolve(undefined),
    );
    await until(() => delivered(h, "a").length === 8);
    h.stream.put("a", "a2");
    h.stream.put("b", "b2");
    await until(() => delivered(h, "b").length === 2 && delivered(h, "a").length > 12);
    expect(new Set(delivered(h, "a"))).toEqual(new Set(["a1"]));
    expect(h.checkpoints.has("a")).toBe(false);
  });

  test("an invocation that takes too long counts as failed", async () => {
    const h = harness();
    h.stream.put("a", "1");
    h.start(
      (_event, invocation) =>
        invocation === 1 ? new Promise(() => undefined) : Promise.resolve(undefined),
      { invocationMsMax: 500 },
    );
    await until(() => h.checkpoints.size === 1);
    expect(h.batches.length).toBe(2);
    expect(h.reports[0]).toMatchObject({ kind: "batch-failed", records: 1 });
  });

  test("a failing read is reported and tried again, and loses nothing", async () => {
    const h = harness();
    h.stream.put("a", "1", "2");
    h.stream.faults.push(new Error("connection refused"), new Error("connection refused"));
    h.start();
    await until(() => delivered(h).length === 2);
    expect(h.reports.map((report) => report.kind)).toEqual(["read-failed", "read-failed"]);
  });

  test("an expired iterator is replaced by one behind the last record read", async () => {
    const h = harness();
    h.stream.put("a", "1", "2");
    h.start();
    await until(() => delivered(h).length === 2);
    h.stream.expireIterators();
    h.stream.put("a", "3");
    await until(() => delivered(h).length === 3);
    expect(delivered(h)).toEqual(["1", "2", "3"]);
  });
});

describe("partial batch response", () => {
  const failing = (...identifiers: readonly unknown[]): unknown => ({
    batchItemFailures: identifiers.map((itemIdentifier) => ({ itemIdentifier })),
  });
  const run = async (first: unknown, partialBatchResponse = true): Promise<string[]> => {
    const h = harness();
    h.stream.put("a", "r1", "r2", "r3", "r4");
    h.start((_event, invocation) => Promise.resolve(invocation === 1 ? first : undefined), {
      partialBatchResponse,
    });
    await until(() => h.checkpoints.get("a")?.kind === "after" && lastDone(h) === "4");
    return h.batches.map((batch) => batch.texts.join());
  };
  const lastDone = (h: Harness): string | undefined => {
    const checkpoint = h.checkpoints.get("a");
    return checkpoint?.kind === "after" ? checkpoint.sequenceNumber : undefined;
  };

  test("delivers again from the lowest sequence number reported, successes included", async () => {
    expect(await run(failing("3", "2", "4"))).toEqual(["r1,r2,r3,r4", "r2,r3,r4"]);
  });
  test.each([
    ["nothing", undefined],
    ["null", null],
    ["an empty object", {}],
    ["an empty list", { batchItemFailures: [] }],
    ["a null list", { batchItemFailures: null }],
  ])("takes %s for success", async (_title, response) => {
    expect(await run(response)).toEqual(["r1,r2,r3,r4"]);
  });
  test.each([
    ["an empty identifier", failing("")],
    ["a null identifier", failing(null)],
    ["an identifier of another batch", failing("3", "99")],
    ["a failure without an identifier", { batchItemFailures: [{}] }],
    ["a list that is none", { batchItemFailures: "2" }],
  ])("takes %s for a failure of the whole batch", async (_title, response) => {
    expect(await run(response)).toEqual(["r1,r2,r3,r4", "r1,r2,r3,r4"]);
  });
  test("is ignored when it is not enabled", async () => {
    expect(await run(failing("2"), false)).toEqual(["r1,r2,r3,r4"]);
  });
  test("saves the checkpoint before the lowest sequence number", async () => {
    const h = harness();
    h.stream.put("a", "1", "2", "3");
    h.start(
      (_event, invocation) => Promise.resolve(invocation === 1 ? failing("3") : failing("")),
      {
        partialBatchResponse: true,
      },
    );
    await until(() => h.batches.length > 3);
    expect(h.checkpoints.get("a")).toEqual({ kind: "after", sequenceNumber: "2" });
  });
});

describe("start, stop and shards", () => {
  test("goes on behind the checkpoint", async () => {
    const h = harness();
    h.stream.put("a", "1", "2", "3");
    h.checkpoints.set("a", { kind: "after", sequenceNumber: "2" });
    h.start();
    await until(() => h.batches.length === 1);
    expect(delivered(h)).toEqual(["3"]);
  });

  test("a batch handled but not checkpointed is delivered by the next mapping", async () => {
    const h = harness();
    h.stream.put("a", "1", "2");
    // The host dies between the handler's return and the checkpoint: the first mapping never saves.
    const first = startEventSourceMapping(
      {
        origin,
        batchSize: 10,
        windowMs: 0,
        partialBatchResponse: false,
        invocationMsMax: 1_000,
        pollMsMin: 1,
        pollMsMax: 10,
        retryMsMin: 1,
        retryMsMax: 10,
      },
      {
        clock: h.clock,
        reader: h.stream,
        invoke: (event) => Promise.resolve(h.batches.push({ shardId: "a", texts: textsOf(event) })),
        loadCheckpoint: () => undefined,
        saveCheckpoint: () => {
          throw new Error("killed");
        },
        report: () => undefined,
      },
    );
    await expect(first.finished).rejects.toThrow("killed");
    h.start();
    await until(() => h.batches.length === 2);
    expect(delivered(h)).toEqual(["1", "2", "1", "2"]);
  });

  test("stop waits for the batch under way, saves its checkpoint, delivers no more", async () => {
    const h = harness();
    h.stream.put("a", "1", "2");
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const mapping = h.start(() => held, { batchSize: 1 });
    await until(() => h.batches.length === 1);
    let stopped = false;
    const stopping = mapping.stop().then(() => (stopped = true));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(stopped).toBe(false);
    release();
    await stopping;
    expect(h.checkpoints.get("a")).toEqual({ kind: "after", sequenceNumber: "1" });
    expect(h.batches.length).toBe(1);
  });

  test("stop does not wait for a batch that keeps failing", async () => {
    const h = harness();
    h.stream.put("a", "1");
    const mapping = h.start(() => Promise.reject(new Error("no")));
    await until(() => h.batches.length > 2);
    await mapping.stop();
    expect(h.checkpoints.size).toBe(0);
  });

  test("a child shard begins only when its parent is finished", async () => {
    const h = harness();
    h.stream.put("a", "a1", "a2");
    h.stream.addShard("b", ["a"]);
    h.stream.put("b", "b1");
    h.start(undefined, { batchSize: 1 });
    await until(() => delivered(h).length === 2);
    await until(() => h.stream.reads > 20);
    expect(delivered(h, "b")).toEqual([]);
    h.stream.put("a", "a3");
    h.stream.closeShard("a");
    await until(() => delivered(h, "b").length === 1);
    expect(h.batches.map((batch) => batch.texts.join())).toEqual(["a1", "a2", "a3", "b1"]);
    expect(h.checkpoints.get("a")).toEqual({ kind: "shard-end" });
  });

  test("a child whose parent the stream no longer lists begins at once", async () => {
    const h = harness([]);
    h.stream.addShard("b", ["gone"]);
    h.stream.put("b", "b1");
    h.start();
    await until(() => delivered(h, "b").length === 1);
  });

  test("a shard made while the mapping runs is found", async () => {
    const h = harness();
    h.start();
    await until(() => h.stream.reads > 3);
    h.stream.addShard("c");
    h.stream.put("c", "c1");
    await until(() => delivered(h, "c").length === 1);
  });
});

test("at least once: first deliveries are the stream's records in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("ok", "throw", "partial", "expire", "fault"), { maxLength: 30 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 25 }),
      async (script, batchSize, recordCount) => {
        const h = harness();
        const texts = Array.from({ length: recordCount }, (_unused, index) => index.toString());
        h.stream.put("a", ...texts);
        const mapping = h.start(
          (event, invocation) => {
            const step = script[invocation - 1] ?? "ok";
            if (step === "expire") h.stream.expireIterators();
            if (step === "fault") h.stream.faults.push(new Error("fault"));
            if (step === "throw") return Promise.reject(new Error("no"));
            const middle = event.Records[Math.floor(event.Records.length / 2)];
            return Promise.resolve(
              step === "partial"
                ? { batchItemFailures: [{ itemIdentifier: middle?.kinesis.sequenceNumber }] }
                : undefined,
            );
          },
          { batchSize, partialBatchResponse: true },
        );
        await until(() => {
          const checkpoint = h.checkpoints.get("a");
          return (
            checkpoint?.kind === "after" && checkpoint.sequenceNumber === recordCount.toString()
          );
        });
        await mapping.stop();
        expect([...new Set(delivered(h))]).toEqual(texts);
        for (const batch of h.batches) {
          const first = Number(batch.texts[0]);
          expect(batch.texts).toEqual(texts.slice(first, first + batch.texts.length));
        }
      },
    ),
    { numRuns: 60 },
  );
});
