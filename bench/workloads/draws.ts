/** What workloads draw from random numbers: ranges, skewed choices, and texts to fill rows with. */
import type { BenchRandom } from "../harness/workload.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";

/**
 * The same numbers for the same name, in every process: for the rows that a workload starts with.
 */
export function namedRandom(name: string): BenchRandom {
  const random = new SeededRandom(name);
  return {
    fraction: () => random.next(),
    below: (below) => Math.floor(random.next() * below),
  };
}

/** Uniform in `low … high`, both included. */
export function between(random: BenchRandom, low: number, high: number): number {
  return low + random.below(high - low + 1);
}

export function percent(random: BenchRandom, chance: number): boolean {
  return random.below(100) < chance;
}

/**
 * The skewed choice of TPC-C (clause 2.1.6) and TATP: `or` of two uniform draws favours numbers
 * with many bits set, and `shift` moves the favourites.
 */
export function nonUniform(
  random: BenchRandom,
  from: { readonly low: number; readonly high: number; readonly mask: number },
  shift = 0,
): number {
  const { low, high, mask } = from;
  const mixed = between(random, 0, mask) | between(random, low, high);
  return ((mixed + shift) % (high - low + 1)) + low;
}

const alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Letters and digits, `low … high` of them. */
export function someText(random: BenchRandom, low: number, high = low): string {
  return characters(random, alphanumerics, between(random, low, high));
}

export function someDigits(random: BenchRandom, length: number): string {
  return characters(random, "0123456789", length);
}

function characters(random: BenchRandom, from: string, length: number): string {
  let text = "";
  for (let i = 0; i < length; i += 1) text += from.charAt(random.below(from.length));
  return text;
}

/** Every element once, in random order (Fisher and Yates). */
export function shuffled<Element>(
  random: BenchRandom,
  elements: readonly Element[],
): readonly Element[] {
  const rest = [...elements];
  const taken: Element[] = [];
  while (rest.length > 0) {
    const at = random.below(rest.length);
    const last = rest.length - 1;
    [rest[at], rest[last]] = [rest[last] as Element, rest[at] as Element];
    taken.push(rest.pop() as Element);
  }
  return taken;
}

/** One of the kinds, as often as its weight says. */
export function weighted<Kind extends string>(
  random: BenchRandom,
  weights: Readonly<Record<Kind, number>>,
): Kind {
  const kinds = Object.entries<number>(weights) as [Kind, number][];
  let left = random.fraction() * kinds.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [kind, weight] of kinds) {
    left -= weight;
    if (left < 0) return kind;
  }
  throw new RangeError("no kind has a weight");
}

/** A moment of the year 2026. Drawn, since a clock would make no two runs alike. */
export function someTime(random: BenchRandom): number {
  return Date.UTC(2026, 0) + random.below(365 * 86_400) * 1000;
}
