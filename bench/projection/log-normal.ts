/**
 * Latencies as log-normal distributions. Two percentiles determine one: `ln p50` is the mean of the
 * logarithm, and the p99 lies 2.326 standard deviations above it. Beyond p99 the fit says what such
 * a distribution would do, and a real service's tail is often longer.
 */
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";

export type LogNormal = { readonly mu: number; readonly sigma: number };

/** 99 % of a standard normal distribution lies below. */
const z99 = 2.3263478740408408;

/** The one with these percentiles. @throws RangeError unless 0 < p50 ≤ p99. */
export function logNormalThrough({
  p50,
  p99,
}: {
  readonly p50: number;
  readonly p99: number;
}): LogNormal {
  if (!(p50 > 0 && p99 >= p50)) {
    throw new RangeError(`no log-normal with p50 ${p50.toString()} and p99 ${p99.toString()}`);
  }
  return { mu: Math.log(p50), sigma: Math.log(p99 / p50) / z99 };
}

/** @param z standard normal. */
export function valueAt({ mu, sigma }: LogNormal, z: number): number {
  return Math.exp(mu + sigma * z);
}

/**
 * Box and Muller's method; the second value of each pair is thrown away, so that every draw costs
 * two numbers.
 */
export function standardNormal(random: SeededRandom): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
  return radius * Math.cos(2 * Math.PI * random.next());
}

export function drawLogNormal(distribution: LogNormal, random: SeededRandom): number {
  return valueAt(distribution, standardNormal(random));
}

const zMax = 5;
const zStep = 0.02;
const bisections = 40;

/** Share of `uniform(0, periodMs) + X` that lies below `ms`, by summing over X's density. */
function shareBelow(distribution: LogNormal, periodMs: number, ms: number): number {
  let below = 0;
  let all = 0;
  for (let z = -zMax; z <= zMax; z += zStep) {
    const weight = Math.exp((-z * z) / 2);
    const rest = (ms - valueAt(distribution, z)) / periodMs;
    below += weight * Math.min(1, Math.max(0, rest));
    all += weight;
  }
  return below / all;
}

/** The argument in `[low, high]` at which a rising function passes zero. */
function rootOf(rising: (x: number) => number, low: number, high: number): number {
  for (let i = 0; i < bisections; i += 1) {
    const middle = (low + high) / 2;
    if (rising(middle) < 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * What has to come on top of the wait for the next poll so that both together have these
 * percentiles.
 * @throws RangeError when no such distribution exists: the percentiles are too close for so long a
 * period.
 */
export function logNormalBehindPoll(
  periodMs: number,
  { p50, p99 }: { readonly p50: number; readonly p99: number },
): LogNormal {
  const withSigma = (sigma: number): LogNormal => {
    const mu = rootOf((x) => 0.5 - shareBelow({ mu: x, sigma }, periodMs, p50), 0, Math.log(p50));
    return { mu, sigma };
  };
  const sigma = rootOf((x) => 0.99 - shareBelow(withSigma(x), periodMs, p99), 0.01, 4);
  const found = withSigma(sigma);
  const misses = [
    shareBelow(found, periodMs, p50) - 0.5,
    shareBelow(found, periodMs, p99) - 0.99,
  ].some((miss) => Math.abs(miss) > 0.001);
  if (misses) throw new RangeError("no log-normal behind such a poll has these percentiles");
  return found;
}
