/**
 * A cold oracle where stream time stands still: arrivals lie behind what was decided, so that
 * decisions are a microsecond apart, and no block ever leaves the window.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Oracle } from "../../core/oracle.ts";
import { oracleBoundsDefault } from "../../core/oracle-bounds.ts";
import type { StoredBlock, StreamRecord } from "../../core/ports.ts";
import type { CommitRequest, ShardId, Timestamp } from "../../core/types.ts";
import {
  Rebuild,
  rebuildBoundsDefault,
  type RebuildBounds,
} from "../../functions/oracle/rebuild.ts";
import { createOracleService, OracleUnfinishedError } from "../../functions/oracle/service.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { sampleHashes, sampleSeed } from "../../testing/sample-hashes.ts";
import { id, sequenceText, startTimestamp } from "../core/oracle-harness.ts";
import { MemoryLog } from "./memory-log.ts";

const shard = "shardId-000000000000" as ShardId;
const ample = { remainingMs: () => 60_000 };
const aheadMs = startTimestamp / 1000 + 60_000;

/** `n` writes item `n`. */
function request(n: number, change: Partial<CommitRequest> = {}): CommitRequest {
  const key = { pk: { S: n.toString() } };
  const table = { name: "accounts", partitionKey: "pk", history: false };
  return {
    kind: "commit",
    id: id(n),
    isolation: "serializable",
    checkedTo: startTimestamp,
    checks: [],
    payload: {
      kind: "inline",
      bytes: encodePayload({ tables: [table], writes: [{ table: 0, key, item: key }] }),
    },
    ...change,
  };
}

function record(
  sequence: number,
  requests: readonly CommitRequest[],
  arrivalMs: number,
): StreamRecord {
  return {
    sequenceNumber: sequenceText(10n ** 20n + BigInt(sequence)),
    arrivalMs,
    data: encodeCommitRecord(
      sampleHashes.fingerprint,
      requests.map((one) => encodeCommitRequest(one)),
    ),
  };
}

/** A block a request; the first arrived a minute ahead of all others. */
async function standingLog(blocks: number): Promise<MemoryLog> {
  const log = new MemoryLog(startTimestamp);
  const service = createOracleService(log.ports());
  for (let n = 1; n <= blocks; n++) {
    const arrivalMs = n === 1 ? aheadMs : aheadMs - 30_000 + n;
    await service.handle({ shard, records: [record(n, [request(n)], arrivalMs)] }, ample);
  }
  expect(log.blocks).toHaveLength(blocks);
  return log;
}

/** What the last block says of its requests. */
function lastKinds(log: MemoryLog): readonly string[] {
  const verdicts = log.decoded().at(-1)?.verdicts ?? [];
  return verdicts.map((one) => (one.kind === "aborted" ? one.reason.kind : one.kind));
}

/** Delivers with a deadline that comes after so many looks at it; how often it took. */
async function deliveriesOf(
  log: MemoryLog,
  { records, looks }: { readonly records: readonly StreamRecord[]; readonly looks: number },
): Promise<number> {
  const service = createOracleService(log.ports());
  for (let deliveries = 1; deliveries <= 1_000; deliveries++) {
    let left = looks;
    try {
      await service.handle({ shard, records }, { remainingMs: () => (left-- > 0 ? 60_000 : 0) });
      return deliveries;
    } catch (error) {
      if (!(error instanceof OracleUnfinishedError)) throw error;
    }
  }
  throw new Error("the batch never finished");
}

describe("a rebuild that its deadline stops", () => {
  test.each([3, 5, 20])(
    "goes on in the next invocation: %s looks at the deadline",
    async (looks) => {
      const log = await standingLog(60);
      const calls = log.calls;
      const records = [record(100, [request(100)], aheadMs)];
      const deliveries = await deliveriesOf(log, { records, looks });
      expect(lastKinds(log)).toEqual(["committed"]);
      // A page of three blocks or a block at each step; the last looks certify, append and end.
      expect(deliveries).toBeLessThanOrEqual(Math.ceil((20 + 60 + 10) / (looks - 2)));
      // Pages, the watermark, what was appended meanwhile, the append.
      expect(log.calls - calls).toBeLessThanOrEqual(20 + 1 + 3 + 1);
    },
  );

  test("takes in what another instance appended meanwhile", async () => {
    const log = await standingLog(20);
    const service = createOracleService(log.ports());
    let left = 12;
    const short = { remainingMs: () => (left-- > 0 ? 60_000 : 0) };
    const records = [21, 22].map((n) => record(n, [request(n)], aheadMs));
    await expect(service.handle({ shard, records }, short)).rejects.toThrow(OracleUnfinishedError);
    const other = createOracleService(log.ports());
    await other.handle({ shard, records: records.slice(0, 1) }, ample);
    const report = await service.handle({ shard, records }, ample);
    expect(report).toMatchObject({ taken: 0, rebuilds: 1, blocks: 1 });
    expect(log.decoded().flatMap(({ verdicts }) => verdicts)).toHaveLength(22);
  });

  test("I3: stands where one stands that begins at the end, whatever was appended", async () => {
    const log = await standingLog(40);
    const { blocks } = log;
    const stops = fc.array(
      fc.record({ steps: fc.nat({ max: 12 }), appended: fc.nat({ max: 15 }) }),
      { maxLength: 5 },
    );
    const bounds = fc.record({
      blocksMax: fc.integer({ min: 1, max: 45 }),
      bytesMax: fc.integer({ min: 1, max: 6_000 }),
      pageBlocksMax: fc.integer({ min: 1, max: 4 }),
    });
    const windows = fc.constantFrom(3, 11, oracleBoundsDefault.windowMicros);
    await fc.assert(
      fc.asyncProperty(stops, bounds, windows, async (stopped, rebuildBounds, windowMicros) => {
        let length = 8;
        const grown = (): readonly StoredBlock[] => blocks.slice(0, length);
        const stoppedAndGone = rebuildOf(grown, rebuildBounds, windowMicros);
        let oracle: Oracle | undefined;
        for (const { steps, appended } of stopped) {
          for (let i = 0; i < steps && oracle === undefined; i++) {
            oracle = await stoppedAndGone.step({});
          }
          if (oracle !== undefined) break;
          length = Math.min(length + appended, blocks.length);
          stoppedAndGone.resume();
        }
        while (oracle === undefined) oracle = await stoppedAndGone.step({});
        const whole = rebuildOf(grown, rebuildBounds, windowMicros);
        let fresh: Oracle | undefined;
        while (fresh === undefined) fresh = await whole.step({});
        expect(stateOf(oracle)).toEqual(stateOf(fresh));
      }),
      { numRuns: 300 },
    );
  });

  function stateOf(oracle: Oracle): unknown {
    const { position, last, cursor, floor } = oracle;
    const { decidedIds, indexLive } = oracle.figures();
    return { position, last, cursor, floor, decidedIds, indexLive };
  }

  function rebuildOf(
    blocks: () => readonly StoredBlock[],
    bounds: RebuildBounds,
    windowMicros: number,
  ): Rebuild {
    const log = new MemoryLog(startTimestamp);
    const ports = (): ReturnType<MemoryLog["ports"]> => {
      log.blocks.splice(0, log.blocks.length, ...blocks());
      return log.ports();
    };
    return new Rebuild({
      shard,
      log: {
        readBackward: (...call) => ports().log.readBackward(...call),
        readAfter: (...call) => ports().log.readAfter(...call),
      },
      control: log.ports().control,
      hashes: sampleHashes,
      seed: sampleSeed,
      oracleBounds: { ...oracleBoundsDefault, windowMicros },
      bounds,
    });
  }
});

describe("a rebuild's bounds", () => {
  test.each(["blocksMax", "bytesMax"] as const)("%s: a log that no window ends", async (name) => {
    const log = await standingLog(50);
    const newest = log.blocks.slice(-4);
    const bytesMax = newest.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const { calls } = log;
    const rebuildBounds = { ...rebuildBoundsDefault, [name]: { blocksMax: 4, bytesMax }[name] };
    const service = createOracleService({ ...log.ports(), rebuildBounds });
    await service.handle({ shard, records: [record(51, [request(51)], aheadMs)] }, ample);
    // Two pages of three, the watermark, the append.
    expect(log.calls - calls).toBe(4);
  });

  test("I3, I4: set the floor: below it all is stale, above it all is known", async () => {
    const log = await standingLog(50);
    const rebuildBounds = { ...rebuildBoundsDefault, blocksMax: 4 };
    const through = (n: number): Timestamp =>
      log.decoded()[n - 1]?.throughTimestamp ?? startTimestamp;
    const floor = through(46);
    const read = (n: number) =>
      sampleHashes.item({ name: "accounts", partitionKey: "pk" }, { pk: { S: n.toString() } }).key;
    const requests = [
      // Copies of what was decided, as their clients had sent them: checked to less.
      request(46, { checkedTo: through(45) }),
      request(47, { checkedTo: floor }),
      request(3, { kind: "abort", checkedTo: through(2), payload: { kind: "none" } }),
      request(61, { checkedTo: (floor - 1) as Timestamp }),
      request(62, { checkedTo: floor, checks: [read(46)] }),
      request(63, { checkedTo: floor, checks: [read(47)] }),
    ];
    const service = createOracleService({ ...log.ports(), rebuildBounds });
    const report = await service.handle({ shard, records: [record(51, requests, 0)] }, ample);
    expect(report.duplicates).toBe(1);
    expect(lastKinds(log)).toEqual(["stale", "stale", "stale", "committed", "conflict"]);
  });
});
