/** What the splitter sees of a log: where moments lie, and how busy it is, by few reads. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeyHasher } from "../../core/key-hash.ts";
import * as limits from "../../core/limits.ts";
import type { StoredBlock } from "../../core/ports.ts";
import { wholeRange } from "../../core/shard-map.ts";
import type { LogPosition, ShardId, ShardNumber, Timestamp } from "../../core/types.ts";
import { measureLoad, type MeasuringPorts } from "../../functions/splitter/measure-load.ts";
import { Moments, timeMsOf } from "../../functions/splitter/moments.ts";
import { sampleHashes, sampleHashSecret } from "../../testing/sample-hashes.ts";
import { loadedBlocks, type LoadedBlock } from "../harness/loaded-log.ts";

const id = "shardId-000000000000" as ShardId;
const number = 0 as ShardNumber;
const beginMs = 1_000_000;

/** A log in memory that counts its reads. */
class CountedLog {
  reads = 0;
  /** Blocks below are gone. */
  expiredTo = 0;
  watermark = 0;
  readonly blocks: readonly StoredBlock[];

  constructor(blocks: readonly StoredBlock[]) {
    this.blocks = blocks;
  }

  readAt(position: number): StoredBlock | undefined {
    this.reads += 1;
    return position <= this.expiredTo ? undefined : this.blocks[position - 1];
  }

  ports(): MeasuringPorts {
    return {
      log: {
        readAt: (_shard, position) => Promise.resolve(this.readAt(position)),
        readBackward: (_shard, { from, blocksMax }) => {
          this.reads += 1;
          const end = from ?? this.blocks.length;
          const found = this.blocks.slice(Math.max(this.expiredTo, end - blocksMax), end);
          return Promise.resolve(found.toReversed());
        },
      },
      control: {
        keyHasher: () => Promise.resolve(new KeyHasher(sampleHashSecret)),
        readWatermark: () =>
          Promise.resolve({
            position: this.watermark as LogPosition,
            timestamp: 0 as Timestamp,
            cursor: undefined,
          }),
      },
    };
  }
}

function logOf(blocks: readonly LoadedBlock[]): CountedLog {
  return new CountedLog(loadedBlocks(sampleHashes, blocks));
}

const partitions = (count: number, high = 3) => Array.from({ length: count }, () => high);

/** So many blocks, the gaps between them as the shares say. */
function uneven(gapsMs: readonly number[]): readonly LoadedBlock[] {
  let atMs = beginMs;
  return gapsMs.map((gapMs) => ({ atMs: (atMs += gapMs), partitions: partitions(1) }));
}

describe("the position of a moment", () => {
  const gaps = fc.array(
    fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 9_000 })),
    {
      minLength: 1,
      maxLength: 300,
    },
  );

  test("is found exactly in a log that is not long, whatever its pace", async () => {
    await fc.assert(
      fc.asyncProperty(gaps, fc.integer({ min: -10, max: 110 }), async (gapsMs, percent) => {
        const log = logOf(uneven(gapsMs));
        const newest = log.blocks.at(-1);
        if (newest === undefined) throw new Error("the log has a block");
        const momentMs = beginMs + ((timeMsOf(newest) - beginMs) * percent) / 100;
        const at = { log: log.ports().log, shard: id, beginsAt: 0 as LogPosition };
        const position = await new Moments(at, newest, {}).positionAt(momentMs);
        const wanted = log.blocks.findLastIndex((each) => timeMsOf(each) <= momentMs) + 1;
        // A look halves what is left, at every other time at least.
        if (log.reads < limits.splitProbesMax) expect(position).toBe(wanted);
        expect(log.reads).toBeLessThanOrEqual(limits.splitProbesMax);
        expect(Math.abs(position - wanted)).toBeLessThanOrEqual(gapsMs.length / 8);
      }),
      { numRuns: 200 },
    );
  });

  test("is nearly right in a long log, by a dozen reads", async () => {
    const log = logOf(uneven(Array.from({ length: 20_000 }, (_, i) => (i % 7 === 0 ? 40 : 2))));
    const newest = log.blocks.at(-1);
    if (newest === undefined) throw new Error("the log has a block");
    const endMs = timeMsOf(newest);
    for (const agoMs of [1_000, 20_000, 90_000]) {
      log.reads = 0;
      const at = { log: log.ports().log, shard: id, beginsAt: 0 as LogPosition };
      const position = await new Moments(at, newest, {}).positionAt(endMs - agoMs);
      const wanted = log.blocks.findLastIndex((each) => timeMsOf(each) <= endMs - agoMs) + 1;
      expect(Math.abs(position - wanted)).toBeLessThanOrEqual((newest.position - wanted) / 20);
      expect(log.reads).toBeLessThanOrEqual(limits.splitProbesMax);
    }
  });

  test("lies behind what has expired", async () => {
    const log = logOf(uneven(Array.from({ length: 1_000 }, () => 10)));
    log.expiredTo = 700;
    const newest = log.blocks.at(-1);
    if (newest === undefined) throw new Error("the log has a block");
    const at = { log: log.ports().log, shard: id, beginsAt: 0 as LogPosition };
    const moments = new Moments(at, newest, {});
    expect(await moments.positionAt(beginMs)).toBe(700);
    expect(await moments.positionAt(timeMsOf(newest) - 1_000)).toBe(900);
  });
});

describe("a log's load", () => {
  const shard = { number, id, range: wholeRange, beginsAt: 0 as LogPosition };
  const lengthMs = 10_000;
  const endsMs = beginMs + 60_000;
  const measure = (log: CountedLog, how: Partial<typeof shard> = {}) =>
    measureLoad(log.ports(), { ...shard, ...how }, { window: { endsMs, lengthMs }, call: {} });
  /** One every 20 ms, over the last so many milliseconds. */
  const lately = (lastMs: number, block: Omit<LoadedBlock, "atMs">): readonly LoadedBlock[] =>
    Array.from({ length: lastMs / 20 }, (_, i) => ({
      ...block,
      atMs: endsMs - lastMs + 20 * (i + 1),
    }));
  const nothing = { entries: 0, writeUnits: 0 };

  test("is nothing where there is no block, or none in the window", async () => {
    for (const log of [logOf([]), logOf(uneven([1, 1, 1]))]) {
      const load = await measure(log);
      expect(load.slots).toEqual(Array.from({ length: limits.splitSlots }, () => nothing));
      expect(load).toMatchObject({ hashes: [], shard: number, range: wholeRange });
      expect(log.reads).toBeLessThanOrEqual(2);
    }
  });

  test("is what its blocks hold, a second, in each part of the window", async () => {
    const log = logOf(lately(30_000, { partitions: partitions(4) }));
    log.watermark = log.blocks.length;
    const load = await measure(log);
    expect(load.slots).toHaveLength(limits.splitSlots);
    for (const { entries, writeUnits } of load.slots) {
      expect(entries).toBeGreaterThan(195);
      expect(entries).toBeLessThan(205);
      expect(writeUnits).toBeCloseTo(entries / 4, 5);
    }
    expect(load.lagMs).toBe(0);
    const probes = limits.splitSlots * (limits.splitProbesMax + 1);
    expect(log.reads).toBeLessThanOrEqual(probes + 2);
    expect(load.hashes.length).toBe(limits.splitSlots * limits.splitSlotBlocksMax * 4);
  });

  test("counts write units by the size of blocks", async () => {
    const large = { partitions: partitions(1), payloadBytes: 5_000 };
    const load = await measure(logOf(lately(10_000, large)));
    const { entries, writeUnits } = load.slots[2] ?? nothing;
    expect(writeUnits).toBeCloseTo(entries * 5, 5);
  });

  test("of the last second is no load of the seconds before", async () => {
    const load = await measure(logOf(lately(1_000, { partitions: partitions(1) })));
    const [last = nothing, ...before] = load.slots.toReversed();
    expect(before).toEqual(before.map(() => nothing));
    // 50 blocks in a part of two seconds.
    expect(last.entries).toBeCloseTo(25, 5);
  });

  test("before the fork is another one's", async () => {
    const log = logOf(lately(10_000, { partitions: partitions(1) }));
    const beginsAt = 400 as LogPosition;
    const load = await measure(log, { beginsAt });
    const [first = nothing] = load.slots;
    expect(first).toEqual(nothing);
    expect(load.slots.reduce((sum, { entries }) => sum + 2 * entries, 0)).toBeCloseTo(100, 5);
  });

  test("knows which partitions are written, and how long a commit has waited", async () => {
    const log = logOf([
      ...lately(10_000, { partitions: [...partitions(3, 10), ...partitions(1, 4_000_000_000)] }),
    ]);
    log.watermark = 450;
    const load = await measure(log);
    const upper = load.hashes.filter((hash) => hash === 4_000_000_000).length;
    expect(upper / load.hashes.length).toBe(1 / 4);
    expect(new Set(load.hashes)).toEqual(new Set([10, 4_000_000_000]));
    const next = log.blocks[450];
    expect(load.lagMs).toBe(endsMs - (next === undefined ? 0 : timeMsOf(next)));
  });

  test("takes few hashes of a block that has thousands, and all of one that has few", async () => {
    const log = logOf([
      { atMs: endsMs - 1_000, partitions: Array.from({ length: 3_000 }, (_, i) => i) },
      { atMs: endsMs - 500, partitions: partitions(5, 7_000) },
    ]);
    const { hashes } = await measure(log);
    expect(hashes.filter((hash) => hash === 7_000)).toHaveLength(5);
    expect(hashes.length).toBeLessThan(300);
    expect(hashes.length).toBeGreaterThan(200);
  });

  test("a block that is damaged is counted by its size alone", async () => {
    const whole = lately(10_000, { partitions: partitions(1) });
    const log = logOf(whole);
    const damaged = log.blocks.map(({ position, bytes }) => ({
      position,
      bytes: position % 2 === 0 ? bytes : Uint8Array.from([...bytes, 0]),
    }));
    const load = await measure(new CountedLog(damaged));
    const { entries, writeUnits } = load.slots[3] ?? nothing;
    expect(writeUnits).toBeGreaterThan(45);
    expect(entries).toBeCloseTo(writeUnits / 2, 5);
  });
});
