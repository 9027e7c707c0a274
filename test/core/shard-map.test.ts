import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CorruptDataError } from "../../core/errors.ts";
import { equalRanges, ShardMap, type ShardEntry } from "../../core/shard-map.ts";
import type { KeyHash, ShardId, ShardNumber } from "../../core/types.ts";

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
    ["64 is no number of a shard", [entry(64, 0)]],
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
