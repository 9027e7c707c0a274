import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CorruptDataError } from "../../core/errors.ts";
import { equalRanges, ShardMap, type ShardEntry } from "../../core/shard-map.ts";
import type { KeyHash, LogPosition, ShardId, ShardNumber } from "../../core/types.ts";

function entry(number: number, from: number): ShardEntry {
  return { number: number as ShardNumber, id: `shard-${number}` as ShardId, from };
}

function equal(count: number): ShardMap {
  return new ShardMap(equalRanges(count).map((from, number) => entry(number, from)));
}

describe("a map of shards", () => {
  test("gives every hash to the one shard whose range holds it", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 64 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        (count, hash) => {
          const map = equal(count);
          const { number } = map.at(hash as KeyHash);
          const high = Number(hash >> 32n);
          const holding = map.entries.filter((each) => {
            const { from, to } = map.rangeOf(each.number);
            return high >= from && high < to;
          });
          expect(holding.map((each) => each.number)).toEqual([number]);
        },
      ),
    );
  });

  test("has ranges that differ in size by one at most", () => {
    for (const count of [1, 2, 3, 7, 64]) {
      const map = equal(count);
      const sizes = map.entries.map(({ number }) => {
        const { from, to } = map.rangeOf(number);
        return to - from;
      });
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(2 ** 32);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }
  });

  test.each([
    ["there is no shard", []],
    ["no shard has the range that begins at 0", [entry(0, 5)]],
    ["two ranges begin at 7", [entry(0, 0), entry(1, 7), entry(2, 7)]],
    ["two shards have one number", [entry(0, 0), entry(0, 7)]],
    ["256 is no number of a shard", [entry(256, 0)]],
    ["the range of shard 1 begins at 4294967296", [entry(0, 0), entry(1, 2 ** 32)]],
    [
      "there are more than 64 shards",
      Array.from({ length: 65 }, (_, number) => entry(number, number)),
    ],
  ])("edited by hand is refused: %s", (why, entries) => {
    const make = () => new ShardMap(entries);
    expect(make).toThrow(CorruptDataError);
    expect(make).toThrow(why);
  });
});

describe("a map of shards that were split", () => {
  const shard = (number: number) => number as ShardNumber;
  const at = (of: number, position: number) => ({ of: shard(of), at: position as LogPosition });
  const once = equal(1).forkedBy({ shard: shard(1), from: 2 ** 31 }, at(0, 9));
  const twice = once.forkedBy({ shard: shard(2), from: 3 * 2 ** 30 }, at(1, 20));

  test("gives the upper part of the range to the other shard", () => {
    expect(once.rangeOf(shard(0))).toEqual({ from: 0, to: 2 ** 31 });
    expect(once.rangeOf(shard(1))).toEqual({ from: 2 ** 31, to: 2 ** 32 });
    expect(twice.rangeOf(shard(1))).toEqual({ from: 2 ** 31, to: 3 * 2 ** 30 });
    expect(twice.get(shard(2))?.id).toBe("shard-002");
  });

  test("knows through which logs the past of each goes, the oldest first", () => {
    expect(twice.lineageOf(shard(0))).toEqual([]);
    expect(twice.lineageOf(shard(2))).toEqual([
      { shard: 0, through: 9 },
      { shard: 1, through: 20 },
    ]);
  });

  test("knows which range a log has at each of its blocks", () => {
    const whole = { from: 0, to: 2 ** 32 };
    expect(twice.rangeAt(shard(0), 9 as LogPosition)).toEqual(whole);
    expect(twice.rangeAt(shard(0), 10 as LogPosition)).toEqual({ from: 0, to: 2 ** 31 });
    expect(twice.rangeAt(shard(1), 20 as LogPosition)).toEqual({ from: 2 ** 31, to: 2 ** 32 });
    expect(twice.rangeAt(shard(1), 21 as LogPosition)).toEqual(twice.rangeOf(shard(1)));
    expect(twice.rangeAt(shard(2), 25 as LogPosition)).toEqual({ from: 3 * 2 ** 30, to: 2 ** 32 });
    // Of one that lies between two that the deployment was made with.
    const of3 = equal(3).forkedBy({ shard: shard(3), from: 2 ** 31 }, at(1, 5));
    const before = of3.rangeAt(shard(1), 5 as LogPosition);
    expect(before).toEqual(equal(3).rangeOf(shard(1)));
  });

  test("knows the newest fork that a tail of each has to know", () => {
    expect([0, 1, 2].map((number) => twice.changedAt(shard(number)))).toEqual([9, 20, 20]);
  });

  test.each([
    ["at its beginning", { shard: shard(3), from: 2 ** 31 }, at(1, 30), "outside of it"],
    ["at its end", { shard: shard(3), from: 2 ** 31 }, at(0, 30), "outside of it"],
    [
      "into one that is there",
      { shard: shard(2), from: 5 },
      at(0, 30),
      "two shards have one number",
    ],
    [
      "before its own log's first",
      { shard: shard(3), from: 2 ** 31 + 5 },
      at(1, 9),
      "before its log's first",
    ],
  ])("is not split %s", (_, fork, point, why) => {
    expect(() => twice.forkedBy(fork, point)).toThrow(why);
  });

  test("edited by hand so that a shard's past is missing is refused", () => {
    const orphan = { ...entry(1, 7), forked: at(5, 3) };
    expect(() => new ShardMap([entry(0, 0), orphan])).toThrow("from one that is not there");
  });
});
