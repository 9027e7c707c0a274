import { systemDigest } from "../../aws/system-digest.ts";
import { describe, expect, test } from "vitest";
import { FrameError, StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { oracleBoundsDefault } from "../../core/oracle-bounds.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { CommitRequest, TransactionId } from "../../core/types.ts";
import {
  createOracleService,
  OracleUnfinishedError,
  type OracleService,
} from "../../functions/oracle/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { spillPayload } from "../../schemas/spill.ts";
import { id, startTimestamp } from "../core/oracle-harness.ts";
import { MemoryLog, storeFault } from "./memory-log.ts";
import {
  shard,
  arrivalMs,
  payloadOf,
  keyHashOf,
  request,
  record,
  verdictsOf,
  kindsOf,
} from "./oracle-batches.ts";

const ample = { remainingMs: () => 60_000 };

/** Delivers until it succeeds, as a mapping does. */
async function deliver(service: OracleService, records: readonly StreamRecord[]): Promise<number> {
  for (let deliveries = 1; deliveries < 50; deliveries++) {
    try {
      await service.handle({ shard, records }, ample);
      return deliveries;
    } catch (error) {
      if (!(error instanceof OracleUnfinishedError) && !(error instanceof CrashError)) throw error;
    }
  }
  throw new Error("the batch never finished");
}

/** The process dies: nothing after it runs, nothing in memory survives. */
class CrashError extends Error {}

/** Conflicting requests over three records; the last has one that must abort. */
const stream = [
  record(1, [request(1, "a"), request(2, "b")]),
  record(2, [request(3, "c", { checks: [keyHashOf("x")] })]),
  record(3, [request(4, "d", { checks: [keyHashOf("y"), keyHashOf("a")] }), request(5, "a")]),
];
const expectedKinds = ["committed", "committed", "committed", "conflict", "committed"];

describe("oracle service", () => {
  test("says of which shard its blocks and verdicts are", async () => {
    const log = new MemoryLog(startTimestamp);
    const told: (readonly [string, number, string | undefined])[] = [];
    const tell = (name: string, value: number, of?: string): void =>
      void told.push([name, value, of]);
    const { log: silent } = silentObservability;
    const metrics = { count: tell, milliseconds: tell, bytes: tell };
    const service = createOracleService({
      ...log.ports(),
      observability: { log: silent, metrics },
    });
    await service.handle({ shard, records: stream }, ample);
    expect(told).toContainEqual(["Committed", 4, shard]);
    expect(told).toContainEqual(["AbortedConflict", 1, shard]);
    expect(told).toContainEqual(["Blocks", 1, shard]);
    expect(told).toContainEqual(["BlockBytes", log.blocks[0]?.bytes.length, shard]);
    // What is wrong in the stream is nobody's.
    expect(told).toContainEqual(["RejectedRecords", 0, undefined]);
  });

  test("certifies a batch into one block, and says so", async () => {
    const log = new MemoryLog(startTimestamp);
    const service = createOracleService(log.ports());
    const report = await service.handle({ shard, records: stream }, ample);
    expect(kindsOf(log)).toEqual(expectedKinds);
    expect(report).toMatchObject({ blocks: 1, rebuilds: 1, taken: 0, duplicates: 0 });
    expect(report.verdicts).toMatchObject({ committed: 4, conflict: 1 });
    expect(log.decoded()[0]).toMatchObject({
      position: 1,
      previousTimestamp: startTimestamp,
      cursor: { sequenceNumber: stream[2]?.sequenceNumber, requestsDone: "all" },
      arrivalMs: arrivalMs + 3,
    });
  });

  test("computes the written hashes from the payload, and says where it lies", async () => {
    const log = new MemoryLog(startTimestamp);
    await createOracleService(log.ports()).handle({ shard, records: stream.slice(0, 1) }, ample);
    expect(verdictsOf(log)[1]).toMatchObject({
      id: id(2),
      payload: { kind: "stream", sequenceNumber: stream[0]?.sequenceNumber, requestIndex: 1 },
      writes: [{ key: keyHashOf("b") }],
    });
  });

  test("keeps its oracle warm: a second batch reads nothing", async () => {
    const log = new MemoryLog(startTimestamp);
    const service = createOracleService(log.ports());
    await service.handle({ shard, records: stream.slice(0, 1) }, ample);
    const before = log.calls;
    const report = await service.handle({ shard, records: stream.slice(1) }, ample);
    expect(log.calls - before).toBe(1);
    expect(report.rebuilds).toBe(0);
  });

  test("I3: a batch redelivered, whole or in part, changes nothing", async () => {
    const log = new MemoryLog(startTimestamp);
    for (const records of [stream, stream, stream.slice(1), stream.slice(0, 2)]) {
      await createOracleService(log.ports()).handle({ shard, records }, ample);
    }
    expect(log.blocks).toHaveLength(1);
  });

  test("I3: a request in two records is decided once; the cursor passes both", async () => {
    const log = new MemoryLog(startTimestamp);
    const service = createOracleService(log.ports());
    const copy = record(9, [request(1, "a"), request(2, "b")]);
    await service.handle({ shard, records: stream }, ample);
    const report = await service.handle({ shard, records: [copy] }, ample);
    expect(report).toMatchObject({ blocks: 1, duplicates: 2 });
    expect(log.decoded()[1]).toMatchObject({
      verdicts: [],
      cursor: { sequenceNumber: copy.sequenceNumber, requestsDone: "all" },
    });
  });

  test.each<[string, Uint8Array]>([
    ["nothing", new Uint8Array(0)],
    ["noise", Uint8Array.from({ length: 300 }, (_, i) => (i * 37) & 255)],
    ["a truncated record", stream[0]?.data.subarray(0, 40) ?? new Uint8Array(0)],
    ["a record of a later version", Uint8Array.of(0x54, 0x4d, 0x63, 0, 1)],
  ])("counts and passes a record of %s, and certifies its neighbours", async (_, data) => {
    const log = new MemoryLog(startTimestamp);
    const bad = { ...record(2, [request(9, "z")]), data };
    const records = [record(1, [request(1, "a")]), bad, record(3, [request(2, "b")])];
    const report = await createOracleService(log.ports()).handle({ shard, records }, ample);
    expect(report.rejectedRecords).toBe(1);
    expect(kindsOf(log)).toEqual(["committed", "committed"]);
    expect(log.decoded()[0]?.rejectedRecords).toBe(1);
  });

  test("takes a record that comes twice in a batch, or out of order, as seen", async () => {
    const log = new MemoryLog(startTimestamp);
    const [first, second] = stream;
    const records = [first, second, first, second].filter((one) => one !== undefined);
    await createOracleService(log.ports()).handle({ shard, records }, ample);
    expect(kindsOf(log)).toEqual(["committed", "committed", "committed"]);
  });

  test("I9: a crash at any call, before or after its effect, loses nothing", async () => {
    const whole = new MemoryLog(startTimestamp);
    const bounds = { ...oracleBoundsDefault, blockVerdictsMax: 2 };
    await deliver(createOracleService({ ...whole.ports(), bounds }), stream);
    const expected = verdictsOf(whole);
    for (let call = 0; call < whole.calls; call++) {
      for (const kind of ["before", "after"] as const) {
        const log = new MemoryLog(startTimestamp);
        log.faults.set(call, { kind, error: new CrashError() });
        const ports = { ...log.ports(), bounds };
        await expect(
          createOracleService(ports).handle({ shard, records: stream }, ample),
        ).rejects.toThrow(CrashError);
        await deliver(createOracleService(ports), stream);
        expect(verdictsOf(log), `crash ${kind} call ${call.toString()}`).toEqual(expected);
      }
    }
  });

  test.each(["unavailable", "throttled"] as const)(
    "I9: a call that is %s, done or not, is settled from the log within the invocation",
    async (fault) => {
      const whole = new MemoryLog(startTimestamp);
      const bounds = { ...oracleBoundsDefault, blockVerdictsMax: 2 };
      await deliver(createOracleService({ ...whole.ports(), bounds }), stream);
      for (let call = 0; call < whole.calls; call++) {
        for (const kind of ["before", "after"] as const) {
          const log = new MemoryLog(startTimestamp);
          log.faults.set(call, { kind, error: storeFault(fault) });
          const service = createOracleService({ ...log.ports(), bounds });
          await service.handle({ shard, records: stream }, ample);
          expect(verdictsOf(log)).toEqual(verdictsOf(whole));
          expect(log.sleeps).toEqual([limits.oracleBackoffMsMin]);
        }
      }
    },
  );

  test("I1: another instance that appends first is followed, not fought", async () => {
    const whole = new MemoryLog(startTimestamp);
    await deliver(createOracleService(whole.ports()), stream);
    for (let call = 0; call < whole.calls; call++) {
      const log = new MemoryLog(startTimestamp);
      const other = createOracleService(log.ports());
      const run = async (): Promise<void> => {
        await other.handle({ shard, records: stream.slice(0, 2) }, ample);
      };
      log.faults.set(call, { kind: "meanwhile", run });
      const report = await createOracleService(log.ports()).handle(
        { shard, records: stream },
        ample,
      );
      expect(kindsOf(log)).toEqual(expectedKinds);
      expect(log.decoded().map(({ position }) => position)).toEqual([1, 2]);
      if (call === whole.calls - 1) expect(report).toMatchObject({ taken: 1, rebuilds: 1 });
    }
  });

  test("I1: overlapping invocations in one process decide everything once", async () => {
    const log = new MemoryLog(startTimestamp);
    const service = createOracleService(log.ports());
    const parts = [stream, stream.slice(0, 2), stream, stream.slice(0, 1)];
    await Promise.all(parts.map((records) => service.handle({ shard, records }, ample)));
    expect(kindsOf(log)).toEqual(expectedKinds);
  });

  test("gives up after bounded tries, and finishes when delivered again", async () => {
    const log = new MemoryLog(startTimestamp);
    for (let call = 0; call < 100; call++) {
      log.faults.set(call, { kind: "before", error: storeFault("unavailable") });
    }
    const service = createOracleService(log.ports());
    const failure = service.handle({ shard, records: stream }, ample);
    await expect(failure).rejects.toMatchObject({
      reason: "stores",
      cause: expect.any(StoreError) as unknown,
    });
    expect(log.sleeps).toHaveLength(limits.oracleTriesMax - 1);
    expect(log.sleeps.toSorted((left, right) => left - right)).toEqual(log.sleeps);
    expect(log.sleeps.at(-1)).toBeLessThanOrEqual(limits.oracleBackoffMsMax);
    log.faults.clear();
    await service.handle({ shard, records: stream }, ample);
    expect(kindsOf(log)).toEqual(expectedKinds);
  });

  test("goes on at once however often others take its position", async () => {
    const log = new MemoryLog(startTimestamp);
    const { log: calls, ...options } = log.ports();
    let losses = 3 * limits.oracleTriesMax;
    const append: typeof calls.append = (...args) => {
      losses -= 1;
      return losses < 0 ? calls.append(...args) : Promise.resolve({ taken: undefined });
    };
    const service = createOracleService({ ...options, log: { ...calls, append } });
    await service.handle({ shard, records: stream }, ample);
    expect(losses).toBeLessThan(0);
    expect(log.sleeps).toEqual([]);
    expect(kindsOf(log)).toEqual(expectedKinds);
  });

  test("does not repeat a call that the store rejects for good", async () => {
    const log = new MemoryLog(startTimestamp);
    log.faults.set(2, { kind: "before", error: storeFault("rejected") });
    const service = createOracleService(log.ports());
    await expect(service.handle({ shard, records: stream }, ample)).rejects.toThrow(
      OracleUnfinishedError,
    );
    expect(log.sleeps).toEqual([]);
  });

  test("a shard without a watermark is not certified", async () => {
    const log = new MemoryLog(startTimestamp);
    log.watermark = undefined;
    const service = createOracleService(log.ports());
    await expect(service.handle({ shard, records: stream }, ample)).rejects.toThrow(
      OracleUnfinishedError,
    );
    expect(log.blocks).toEqual([]);
  });
});

describe("the deadline", () => {
  test("stops before an append that it might not survive; the next delivery goes on", async () => {
    const log = new MemoryLog(startTimestamp);
    const bounds = { ...oracleBoundsDefault, blockVerdictsMax: 1 };
    const service = createOracleService({ ...log.ports(), bounds });
    const budget = {
      remainingMs: () => (log.blocks.length < 2 ? 60_000 : limits.oracleReserveMs - 1),
    };
    await expect(service.handle({ shard, records: stream }, budget)).rejects.toMatchObject({
      reason: "deadline",
    });
    expect(log.blocks).toHaveLength(2);
    await service.handle({ shard, records: stream }, ample);
    expect(kindsOf(log)).toEqual(expectedKinds);
  });

  test("does nothing when it has passed at the start", async () => {
    const log = new MemoryLog(startTimestamp);
    const service = createOracleService(log.ports());
    const late = service.handle({ shard, records: stream }, { remainingMs: () => 0 });
    await expect(late).rejects.toMatchObject({ reason: "deadline" });
    expect(log.calls).toBe(0);
  });
});

describe("spilled payloads", () => {
  function spilledRequest(log: MemoryLog, n: number, key: string): CommitRequest {
    const { chunks, source } = spillPayload(encodePayload(payloadOf(key)), systemDigest);
    log.spilled.set(id(n), chunks);
    return request(n, key, { payload: source });
  }

  test("are read, hashed and committed where they lie", async () => {
    const log = new MemoryLog(startTimestamp);
    const records = [
      record(1, [spilledRequest(log, 1, "a"), request(2, "b"), spilledRequest(log, 3, "c")]),
      record(2, [request(4, "d", { checks: [keyHashOf("c")] })]),
    ];
    await createOracleService(log.ports()).handle({ shard, records }, ample);
    expect(kindsOf(log)).toEqual(["committed", "committed", "committed", "conflict"]);
    expect(verdictsOf(log)[2]).toMatchObject({
      payload: { kind: "spilled", chunks: 1 },
      writes: [{ key: keyHashOf("c") }],
    });
  });

  test.each<[string, (log: MemoryLog, of: TransactionId) => void]>([
    ["missing", (log, of) => log.spilled.delete(of)],
    ["of another length", (log, of) => log.spilled.set(of, [new Uint8Array(3)])],
    [
      "altered",
      (log, of) =>
        log.spilled.set(
          of,
          (log.spilled.get(of) ?? []).map((chunk) => chunk.map((byte) => byte ^ 1)),
        ),
    ],
  ])("that are %s abort their request, and no other", async (_, spoil) => {
    const log = new MemoryLog(startTimestamp);
    const records = [record(1, [spilledRequest(log, 1, "a"), spilledRequest(log, 2, "b")])];
    spoil(log, id(1));
    await createOracleService(log.ports()).handle({ shard, records }, ample);
    expect(kindsOf(log)).toEqual(["payload-unreadable", "committed"]);
  });

  test("that are no payload abort their request", async () => {
    const log = new MemoryLog(startTimestamp);
    const { chunks, source } = spillPayload(Uint8Array.of(1, 2, 3), systemDigest);
    log.spilled.set(id(1), chunks);
    const records = [record(1, [request(1, "a", { payload: source })])];
    await createOracleService(log.ports()).handle({ shard, records }, ample);
    expect(kindsOf(log)).toEqual(["payload-unreadable"]);
  });

  test("are read and held in bounded numbers at once, in stream order", async () => {
    const log = new MemoryLog(startTimestamp);
    const count = limits.spilledHeldMax * 2 + 5;
    const requests = Array.from({ length: count }, (_, n) =>
      spilledRequest(log, n, `k${n.toString()}`),
    );
    await createOracleService(log.ports()).handle({ shard, records: [record(1, requests)] }, ample);
    expect(log.readsAtOnceMax).toBe(limits.spilledReadsMax);
    expect(log.decoded().map(({ verdicts }) => verdicts.length)).toEqual([
      limits.spilledHeldMax,
      limits.spilledHeldMax,
      5,
    ]);
    expect(verdictsOf(log).map((verdict) => verdict.id)).toEqual(requests.map((one) => one.id));
  });

  test("I9: a failure while reading them leaves nothing behind for the next try", async () => {
    const whole = new MemoryLog(startTimestamp);
    const recordsFor = (log: MemoryLog): readonly StreamRecord[] => [
      record(
        1,
        [1, 2, 3, 4].map((n) => spilledRequest(log, n, `k${n.toString()}`)),
      ),
    ];
    await deliver(createOracleService(whole.ports()), recordsFor(whole));
    for (let call = 0; call < whole.calls; call++) {
      const log = new MemoryLog(startTimestamp);
      log.faults.set(call, { kind: "after", error: storeFault("unavailable") });
      await createOracleService(log.ports()).handle({ shard, records: recordsFor(log) }, ample);
      expect(verdictsOf(log)).toEqual(verdictsOf(whole));
    }
  });
});

describe("rebuilding", () => {
  test("reads the log's pages back to one window, and no further", async () => {
    const log = new MemoryLog(startTimestamp);
    const service = createOracleService(log.ports());
    for (let n = 1; n <= 30; n++) {
      const checkedTo = log.decoded().at(-1)?.throughTimestamp ?? startTimestamp;
      const one = record(n, [request(n, "a", { checkedTo })]);
      await service.handle(
        { shard, records: [{ ...one, arrivalMs: arrivalMs + n * 1_000 }] },
        ample,
      );
    }
    const before = log.calls;
    const cold = createOracleService(log.ports());
    await cold.handle({ shard, records: [record(31, [request(99, "z")])] }, ample);
    // Eleven blocks reach back ten seconds: four pages of three; the watermark; the append.
    expect(log.calls - before).toBe(6);
  });

  test("starts from the watermark when the log's blocks have expired", async () => {
    const log = new MemoryLog(startTimestamp);
    await createOracleService(log.ports()).handle({ shard, records: stream }, ample);
    const [block] = log.decoded();
    if (block === undefined) throw new Error("no block");
    log.watermark = {
      position: block.position,
      timestamp: block.throughTimestamp,
      cursor: block.cursor,
    };
    log.blocks.length = 0;
    const next = record(7, [
      request(7, "a"),
      request(8, "a", { checkedTo: block.throughTimestamp }),
    ]);
    await createOracleService(log.ports()).handle({ shard, records: [...stream, next] }, ample);
    expect(log.decoded()).toMatchObject([
      { position: 2, previousTimestamp: block.throughTimestamp },
    ]);
    expect(kindsOf(log)).toEqual(["stale", "committed"]);
  });

  test("takes a hole in an expiring log as its end", async () => {
    const log = new MemoryLog(startTimestamp);
    const service = createOracleService(log.ports());
    for (const one of stream) await service.handle({ shard, records: [one] }, ample);
    log.blocks.splice(1, 1);
    const [, third] = log.decoded();
    const old = record(7, [request(7, "q", { checkedTo: startTimestamp })]);
    await createOracleService(log.ports()).handle({ shard, records: [old] }, ample);
    expect(third?.position).toBe(3);
    expect(verdictsOf(log).at(-1)).toEqual({ kind: "stale", id: id(7) });
  });

  test("certifies nothing over a log that does not decode", async () => {
    const log = new MemoryLog(startTimestamp);
    await createOracleService(log.ports()).handle({ shard, records: stream }, ample);
    log.blocks[0]?.bytes.set([0], 0);
    const cold = createOracleService(log.ports());
    const records = [record(9, [request(9, "z")])];
    await expect(cold.handle({ shard, records }, ample)).rejects.toThrow(FrameError);
    expect(log.blocks).toHaveLength(1);
  });
});
