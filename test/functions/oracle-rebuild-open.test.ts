/**
 * A cold oracle of the function, where something was prepared before its window and is open: it
 * decides as a warm one, wherever its deadline stops it. And where the log no longer holds what was
 * prepared, it goes on.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Oracle } from "../../core/oracle.ts";
import { oracleBoundsDefault, type OracleBounds } from "../../core/oracle-bounds.ts";
import type { StoredBlock } from "../../core/ports.ts";
import { Tail } from "../../core/tail.ts";
import type { LogPosition, Timestamp, Watermark } from "../../core/types.ts";
import { Rebuild } from "../../functions/oracle/rebuild.ts";
import { DraftEncoder } from "../../schemas/log-block-draft.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { sampleHashes, sampleSeed } from "../../testing/sample-hashes.ts";
import { streams } from "../core/oracle-arbitraries.ts";
import {
  appendedDrafts,
  type blockOf,
  certify,
  hash,
  id,
  newOracle,
  oracleInput,
  simpleWrite,
  startTimestamp,
  type TestRecord,
} from "../core/oracle-harness.ts";
import { MemoryLog } from "./memory-log.ts";
import { shard } from "./oracle-batches.ts";

const encoder = new DraftEncoder(sampleHashes.fingerprint);

/** As the log has them. */
function storedBy(oracle: Oracle, records: readonly TestRecord[]): StoredBlock[] {
  const input = oracleInput(records);
  return Array.from(appendedDrafts(oracle, input), (draft) => ({
    position: draft.position,
    bytes: encoder.encode(draft, input),
  }));
}

function decoded({ bytes, position }: StoredBlock): ReturnType<typeof blockOf> {
  return decodeLogBlock(bytes, position, sampleHashes);
}

/** Where a watermark may stand: all that was prepared up to there is decided in the log. */
function watermarksOf(blocks: readonly StoredBlock[]): readonly Watermark[] {
  const start = { position: 0 as LogPosition, timestamp: startTimestamp, cursor: undefined };
  const tail = new Tail(start);
  for (const block of blocks) tail.fold(decoded(block));
  const before = tail.open.oldest?.position ?? Number.POSITIVE_INFINITY;
  return [
    start,
    ...blocks
      .map(decoded)
      .filter(({ position }) => position < before)
      .map(({ position, throughTimestamp, cursor }) => {
        return { position, timestamp: throughTimestamp, cursor };
      }),
  ];
}

function rebuildOf(
  log: MemoryLog,
  oracleBounds: OracleBounds,
  blocksMax = Number.POSITIVE_INFINITY,
): Rebuild {
  const { log: reading, control } = log.ports();
  return new Rebuild({
    ...{ shard, log: reading, control, oracleBounds },
    hashes: sampleHashes,
    seed: sampleSeed,
    bounds: { blocksMax, bytesMax: Number.POSITIVE_INFINITY, pageBlocksMax: 3 },
  });
}

async function rebuilt(rebuild: Rebuild): Promise<Oracle> {
  for (;;) {
    const oracle = await rebuild.step({});
    if (oracle !== undefined) return oracle;
  }
}

const bounds: fc.Arbitrary<OracleBounds> = fc.record({
  windowMicros: fc.constantFrom(1_000, 20_000),
  indexEntriesMax: fc.constantFrom(20, oracleBoundsDefault.indexEntriesMax),
  blockBytesMax: fc.constantFrom(1_500, oracleBoundsDefault.blockBytesMax),
  blockVerdictsMax: fc.constantFrom(1, 3),
  blockStepsMax: fc.constant(oracleBoundsDefault.blockStepsMax),
});

describe("a cold oracle, with what was prepared before its window", () => {
  test("I3, I4: decides as a warm one, stopped anywhere, whatever the watermark", async () => {
    let older = 0;
    const stops = fc.array(
      fc.record({ steps: fc.nat({ max: 9 }), appended: fc.nat({ max: 12 }) }),
      { maxLength: 4 },
    );
    const drawn = [streams(40), bounds, fc.integer({ min: 50, max: 100 }), stops] as const;
    await fc.assert(
      fc.asyncProperty(...drawn, fc.nat(), async (records, limits, cut, stopped, which) => {
        const end = Math.floor((records.length * cut) / 100);
        const warm = newOracle(limits);
        const blocks = storedBy(warm, records.slice(0, end));
        const log = new MemoryLog(startTimestamp);
        const rebuild = rebuildOf(log, limits);
        let length = stopped.length === 0 ? blocks.length : Math.ceil(blocks.length / 2);
        const grow = (to: number): void => {
          length = Math.min(to, blocks.length);
          log.blocks.splice(0, log.blocks.length, ...blocks.slice(0, length));
          // One that was read when the log was shorter still holds.
          const lawful = watermarksOf(log.blocks);
          log.watermark = lawful[which % lawful.length];
        };
        grow(length);
        let cold: Oracle | undefined;
        for (const { steps, appended } of stopped) {
          for (let i = 0; i < steps; i++) cold ??= await rebuild.step({});
          grow(length + appended);
          rebuild.resume();
        }
        grow(blocks.length);
        rebuild.resume();
        cold ??= await rebuilt(rebuild);
        // What was appended since its last step it learns from its first put.
        for (const block of blocks.slice(cold.position)) cold.fold(decoded(block));
        const newest = blocks.at(-1);
        const horizon = (newest && decoded(newest).throughTimestamp) ?? 0;
        const open = openOf(blocks);
        if (open !== undefined && open <= horizon - limits.windowMicros) older += 1;
        expect(cold.figures().open).toBe(warm.figures().open);
        expect(certify(cold, records)).toEqual(certify(warm, records));
      }),
      { numRuns: 1_000 },
    );
    expect(older).toBeGreaterThan(20);
  });

  test("reads no further back than the watermark, a page at a time", async () => {
    const log = standingOpen(40);
    const { calls } = log;
    const rebuild = rebuildOf(log, { ...oracleBoundsDefault, windowMicros: 2_000 });
    const oracle = await rebuilt(rebuild);
    expect(oracle.figures().open).toBe(1);
    // The window's page, the watermark, and forty blocks in pages of three.
    expect(log.calls - calls).toBeLessThanOrEqual(2 + 14);
    // Nothing is open at or below a watermark: what a lie names there is not read.
    const settled = decoded(log.blocks[36] ?? fail());
    log.watermark = { ...settled, timestamp: settled.throughTimestamp };
    const again = rebuildOf(log, { ...oracleBoundsDefault, windowMicros: 2_000 });
    const before = log.calls;
    expect((await rebuilt(again)).figures().open).toBe(0);
    expect(log.calls - before).toBeLessThanOrEqual(2 + 1);
  });
});

describe("a cold oracle whose log has let go of what is open", () => {
  test.each(["all", "its block", "one between"])("goes on, and names it: %s", async (gone) => {
    const log = standingOpen(40);
    const lost = { all: [1, 36], "its block": [1, 1], "one between": [5, 5] }[gone] ?? [];
    const [from = 0, to = 0] = lost;
    const kept = log.blocks.filter(({ position }) => position < from || position > to);
    const whole = log.blocks.splice(0, log.blocks.length, ...kept);
    const oracle = await rebuilt(rebuildOf(log, { ...oracleBoundsDefault, windowMicros: 2_000 }));
    const more = [41, 42].map((n) => commit(n));
    const appended = storedBy(oracle, more);
    expect(appended.map((block) => decoded(block).oldestOpen)).toEqual([1]);
    // Whoever knows what is open goes on, too; also when somebody has voted it down meanwhile.
    const tail = new Tail({ position: 0 as LogPosition, timestamp: startTimestamp });
    for (const block of [...whole, ...appended]) tail.fold(decoded(block));
    const against = { id: id(1), kind: "abort" as const, checkedTo: tail.newest };
    const voted = storedBy(oracle, [{ ...commit(43), requests: [against] }]);
    const behind = storedBy(oracle, [commit(44)]);
    for (const block of [...voted, ...behind]) tail.fold(decoded(block));
    expect(tail.open.size).toBe(0);
  });

  test("and stops naming it behind a block of one who knows that it is decided", async () => {
    const log = standingOpen(40);
    const whole = [...log.blocks];
    log.blocks.splice(0, 1);
    const bounds = { ...oracleBoundsDefault, windowMicros: 2_000 };
    const cold = await rebuilt(rebuildOf(log, bounds));
    const warm = newOracle(bounds);
    for (const block of whole) warm.fold(decoded(block));
    const against = { id: id(1), kind: "abort" as const, checkedTo: warm.last };
    const settled = [{ ...commit(41), requests: [against] }, commit(42)].flatMap((one) =>
      storedBy(warm, [one]),
    );
    for (const block of settled) cold.fold(decoded(block));
    const [next] = storedBy(cold, [commit(43)]);
    expect(decoded(next ?? fail()).oldestOpen).toBeUndefined();
  });
});

function fail(): never {
  throw new Error("the log has no such block");
}

function commit(n: number): TestRecord {
  const arrivalMs = startTimestamp / 1_000 + n;
  const request = { id: id(n), checkedTo: startTimestamp + (n - 1) * 1_000 };
  const writes = n === 1 ? [simpleWrite(1_000)] : [simpleWrite(n)];
  return {
    sequence: 10n ** 20n + BigInt(n),
    arrivalMs,
    requests: [{ ...request, kind: n === 1 ? "prepare" : "commit", writes, checks: [hash(n)] }],
  };
}

/** One is prepared and stays open; then a commit in each block, a millisecond apart. */
function standingOpen(blocks: number): MemoryLog {
  const log = new MemoryLog(startTimestamp);
  const oracle = newOracle();
  for (let n = 1; n <= blocks; n++) log.blocks.push(...storedBy(oracle, [commit(n)]));
  return log;
}

/** When the oldest was prepared that is open at the log's end. */
function openOf(blocks: readonly StoredBlock[]): Timestamp | undefined {
  const tail = new Tail({ position: 0 as LogPosition, timestamp: startTimestamp });
  for (const block of blocks) tail.fold(decoded(block));
  return tail.open.oldest?.prepared.timestamp;
}
