/**
 * Ranks drawn by Zipf's law, in constant time each: J. Gray et al., "Quickly Generating
 * Billion-Record Synthetic Databases", SIGMOD 1994, the method that YCSB uses, with its exponent
 * 0.99.
 */
import type { BenchRandom } from "../harness/workload.ts";

export const ycsbExponent = 0.99;

/** A whole number in `[0, count)`; rank 0 is the most frequent. */
export function zipfRanks(count: number, exponent = ycsbExponent): (random: BenchRandom) => number {
  if (count < 2) return () => 0;
  const zetaOfTwo = zeta(2, exponent);
  const zetaOfAll = zeta(count, exponent);
  const alpha = 1 / (1 - exponent);
  const eta = (1 - (2 / count) ** (1 - exponent)) / (1 - zetaOfTwo / zetaOfAll);
  return (random) => {
    const u = random.fraction();
    const scaled = u * zetaOfAll;
    if (scaled < 1) return 0;
    if (scaled < zetaOfTwo) return 1;
    return Math.min(count - 1, Math.floor(count * (eta * u - eta + 1) ** alpha));
  };
}

/** The sum of `1 / k ** exponent` for k from 1 to count. */
export function zeta(count: number, exponent: number): number {
  let sum = 0;
  for (let k = 1; k <= count; k += 1) sum += 1 / k ** exponent;
  return sum;
}

/** About the golden section of 2^32; prime, so it divides no count below itself. */
const stride = 2_654_435_761;

/**
 * Spreads ranks over `[0, count)`, each onto one place of its own, so that frequent rows are no
 * neighbours.
 */
export function scattered(rank: number, count: number): number {
  return Number((BigInt(rank) * BigInt(stride)) % BigInt(count));
}
