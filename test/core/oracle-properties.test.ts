import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Oracle } from "../../core/oracle.ts";
import { oracleBoundsDefault, type OracleBounds } from "../../core/oracle-bounds.ts";
import { compareCursors } from "../../core/cursor.ts";
import type { KeyHash, LogBlock, LogPosition, TransactionId } from "../../core/types.ts";
import { streams } from "./oracle-arbitraries.ts";
import { slotSeedOf, slotSeedWords } from "../../core/slot-seed.ts";
import {
  blockOf,
  certify,
  newOracle,
  oracleInput,
  startTimestamp,
  type TestRecord,
  type TestRequest,
} from "./oracle-harness.ts";
import { asModelVerdict, OracleModel } from "./oracle-model.ts";
import { sampleSeed } from "../../testing/sample-hashes.ts";

const bounds: fc.Arbitrary<OracleBounds> = fc.record({
  windowMicros: fc.constantFrom(5_000, 20_000, 10_000_000),
  indexEntriesMax: fc.constantFrom(20, 100, oracleBoundsDefault.indexEntriesMax),
  blockBytesMax: fc.constantFrom(700, 1_500, oracleBoundsDefault.blockBytesMax),
  blockVerdictsMax: fc.constantFrom(1, 3, oracleBoundsDefault.blockVerdictsMax),
  blockStepsMax: fc.constantFrom(1, 7, oracleBoundsDefault.blockStepsMax),
});

/**
 * What an oracle is rebuilt from: the newest blocks, down to one that lies a window behind, or to
 * the bound on blocks.
 */
function rebuild(
  log: readonly LogBlock[],
  limits: OracleBounds,
  blocksMax = Number.POSITIVE_INFINITY,
): Oracle {
  const newest = log.at(-1);
  if (newest === undefined) return newOracle(limits);
  const horizon = newest.throughTimestamp - limits.windowMicros;
  const behind = log.findLastIndex((block) => block.throughTimestamp <= horizon);
  const window = log.slice(Math.max(behind, log.length - blocksMax, 0));
  const oldest = window[0] ?? newest;
  const oracle = new Oracle(
    {
      position: (oldest.position - 1) as LogPosition,
      timestamp: oldest.previousTimestamp,
      cursor: undefined,
    },
    sampleSeed,
    limits,
  );
  const oldestOpen = oldest.oldestOpen ?? oldest.position;
  for (const block of log.slice(oldestOpen - 1, oldest.position - 1)) oracle.foldOpen(block);
  for (const block of window) oracle.fold(block);
  return oracle;
}

describe("oracle", () => {
  test("I4: gives the verdicts of docs/protocol.md §3, wherever blocks are cut", () => {
    fc.assert(
      fc.property(streams(40), bounds, (records, limits) => {
        const oracle = newOracle(limits);
        const model = new OracleModel(startTimestamp, limits);
        const expected = records.flatMap(({ requests, arrivalMs }) =>
          requests.flatMap((request) => model.certify(request, arrivalMs) ?? []),
        );
        const blocks = certify(oracle, records);
        expect(blocks.flatMap(({ verdicts }) => verdicts).map(asModelVerdict)).toEqual(expected);
        expect(oracle.floor).toBe(model.floor);
      }),
      { numRuns: 300 },
    );
  });

  test("I3, I4: no decision depends on the seed of its tables", () => {
    const words = { minLength: 4 * slotSeedWords, maxLength: 4 * slotSeedWords };
    fc.assert(
      fc.property(streams(40), bounds, fc.uint8Array(words), (records, limits, bytes) => {
        const other = newOracle(limits, slotSeedOf(bytes));
        expect(certify(other, records)).toEqual(certify(newOracle(limits), records));
      }),
      { numRuns: 300 },
    );
  });

  test("I3: a cold oracle, rebuilt anywhere, decides as the warm one does", () => {
    fc.assert(
      fc.property(streams(40), bounds, fc.nat(), (records, limits, cut) => {
        const warm = newOracle(limits);
        const at = records.length === 0 ? 0 : cut % records.length;
        const log = certify(warm, records.slice(0, at));
        const cold = rebuild(log, limits);
        expect(cold.floor).toBe(warm.floor);
        expect(certify(cold, records)).toEqual(certify(warm, records));
      }),
      { numRuns: 300 },
    );
  });

  test("I3: a cold oracle's floor is never below a warm one's, however little it reads", () => {
    fc.assert(
      fc.property(streams(40), bounds, fc.nat({ max: 40 }), fc.nat({ max: 9 }), (...drawn) => {
        const [records, limits, cut, blocks] = drawn;
        // The warm one was cold itself, earlier, and read as much.
        const before = certify(newOracle(limits), records.slice(0, cut));
        const warm = rebuild(before, limits, 1 + blocks);
        const log = [...before, ...certify(warm, records)];
        const cold = rebuild(log, limits, 1 + blocks);
        expect(cold.last).toBe(warm.last);
        expect(cold.floor).toBeGreaterThanOrEqual(warm.floor);
      }),
      { numRuns: 300 },
    );
  });

  test("I1, I2, I3, I4, I9: hold on the log of overlapping instances, redelivery included", () => {
    const delivery = fc.record({
      instance: fc.nat({ max: 1 }),
      from: fc.nat({ max: 40 }),
      length: fc.integer({ min: 1, max: 12 }),
      /** The invocation dies after this many blocks. */
      blocksMax: fc.integer({ min: 0, max: 6 }),
    });
    const rebuilt = fc.constantFrom(1, 2, 5, Number.POSITIVE_INFINITY);
    fc.assert(
      fc.property(
        streams(30),
        bounds,
        rebuilt,
        fc.array(delivery, { maxLength: 40 }),
        (records, limits, rebuildBlocksMax, deliveries) => {
          const log: LogBlock[] = [];
          const instances: (Oracle | undefined)[] = [undefined, undefined];
          let delivered = 0;
          for (const { instance, from, length, blocksMax } of deliveries) {
            // A mapping never passes over a record that it has not delivered.
            const start = Math.min(from, delivered);
            const batch = records.slice(start, start + length);
            const finished = deliver({
              ...{ log, instances, instance, batch, blocksMax },
              rebuild: () => rebuild(log, limits, rebuildBlocksMax),
            });
            if (finished) delivered = Math.max(delivered, start + batch.length);
          }
          judge(log, records);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/**
 * One invocation: appends at its own position, rebuilds when that is taken. True when it finished.
 */
function deliver(run: {
  readonly log: LogBlock[];
  readonly instances: (Oracle | undefined)[];
  readonly instance: number;
  readonly rebuild: () => Oracle;
  readonly batch: readonly TestRecord[];
  readonly blocksMax: number;
}): boolean {
  const { log, instances, instance, batch } = run;
  const input = oracleInput(batch);
  let oracle = instances[instance] ?? run.rebuild();
  for (let blocks = 0; ; blocks++) {
    const draft = oracle.next(input);
    if (draft === undefined) {
      instances[instance] = oracle;
      return true;
    }
    if (blocks >= run.blocksMax) {
      // Died between certification and append: its state is lost.
      instances[instance] = undefined;
      return false;
    }
    const block = blockOf(draft, input);
    if (log.length >= block.position) oracle = run.rebuild();
    else {
      oracle.appended();
      log.push(block);
    }
  }
}

/** Judges a log by the invariants alone, from end to end. */
function judge(log: readonly LogBlock[], records: readonly TestRecord[]): void {
  const requests = new Map<TransactionId, TestRequest>();
  for (const record of records) {
    for (const request of record.requests) {
      if (request.kind !== "vote" && request.kind !== "abort") requests.set(request.id, request);
    }
  }
  const commits: { readonly timestamp: number; readonly hashes: ReadonlySet<KeyHash> }[] = [];
  const decided = new Set<TransactionId>();
  let last: number = startTimestamp;
  let cursor: LogBlock["cursor"];
  for (const [i, block] of log.entries()) {
    expect(block.position, "I1").toBe(i + 1);
    expect(block.previousTimestamp, "I2").toBe(last);
    expect(compareCursors(block.cursor, cursor), "I9").toBeGreaterThan(0);
    cursor = block.cursor;
    for (const verdict of block.verdicts) {
      if (verdict.kind === "stale" || verdict.kind === "busy") continue;
      expect(verdict.timestamp, "I2").toBeGreaterThan(last);
      last = verdict.timestamp;
      if (verdict.kind === "prepared") continue;
      expect(decided.has(verdict.id), "I3").toBe(false);
      decided.add(verdict.id);
      if (verdict.kind === "aborted") continue;
      const request = requests.get(verdict.id);
      const checkedTo = request?.checkedTo ?? 0;
      const conflict = commits.find(
        ({ timestamp, hashes }) =>
          timestamp > checkedTo && request?.checks?.some((check) => hashes.has(check)) === true,
      );
      expect(conflict, "I4, I5").toBeUndefined();
      const hashes = verdict.writes.flatMap(({ table, partition, key }) => [table, partition, key]);
      commits.push({ timestamp: verdict.timestamp, hashes: new Set(hashes) });
    }
    expect(block.throughTimestamp, "I2").toBe(last);
  }
}
