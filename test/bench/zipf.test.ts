/** Draws by Zipf's law, and keys spread from them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { benchRandom } from "../../bench/harness/random.ts";
import { scattered, ycsbExponent, zeta, zipfRanks } from "../../bench/workloads/zipf.ts";

const draws = 200_000;

test("ranks are as frequent as Zipf's law says", () => {
  const count = 1_000;
  const rank = zipfRanks(count);
  const random = benchRandom(1, 0);
  const seen = new Array<number>(count).fill(0);
  for (let n = 0; n < draws; n += 1) seen[rank(random)]! += 1;
  const total = zeta(count, ycsbExponent);
  // The first two ranks are drawn exactly; the others by the method's approximation.
  for (const first of [0, 1]) {
    const expected = draws / ((first + 1) ** ycsbExponent * total);
    expect(seen[first]! / expected).toBeGreaterThan(0.95);
    expect(seen[first]! / expected).toBeLessThan(1.05);
  }
  for (const [low, high] of [
    [2, 10],
    [10, 100],
    [100, 1_000],
  ] as const) {
    const expected = (draws * (zeta(high, ycsbExponent) - zeta(low, ycsbExponent))) / total;
    const found = seen.slice(low, high).reduce((sum, times) => sum + times, 0);
    expect(found / expected).toBeGreaterThan(0.85);
    expect(found / expected).toBeLessThan(1.15);
  }
});

test("every rank lies in its range, whatever is drawn", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (count, fraction) => {
        const rank = zipfRanks(count)({ fraction: () => fraction, below: () => 0 });
        expect(Number.isInteger(rank) && rank >= 0 && rank < count).toBe(true);
      },
    ),
    { numRuns: 200 },
  );
});

test("ranks fall as what is drawn rises", () => {
  const rank = zipfRanks(10_000);
  const at = (fraction: number): number => rank({ fraction: () => fraction, below: () => 0 });
  const ranks = Array.from({ length: 1_000 }, (_, n) => at(n / 1_000));
  expect(ranks).toEqual(ranks.toSorted((left, right) => left - right));
  expect(ranks[0]).toBe(0);
  expect(ranks.at(-1)).toBeGreaterThan(9_000);
});

test("each rank has a place of its own, and neighbours lie apart", () => {
  for (const count of [1, 2, 10, 997, 10_000]) {
    const places = new Set(Array.from({ length: count }, (_, rank) => scattered(rank, count)));
    expect(places.size).toBe(count);
    expect(Math.min(...places)).toBe(0);
    expect(Math.max(...places)).toBe(count - 1);
  }
  const distance = Math.abs(scattered(0, 10_000) - scattered(1, 10_000));
  expect(distance).toBeGreaterThan(100);
});
