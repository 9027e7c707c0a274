/** Names and numbers that make up the small key spaces of workloads. */
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";

/** 0 … count - 1. */
export function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_unused, index) => index);
}

/** `seat-0`, `seat-1` … */
export function numbered(name: string, count: number): readonly string[] {
  return upTo(count).map((index) => `${name}-${index.toString()}`);
}

export function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

/** One of them, mostly one of the first two: so that few clients, too, get in each other's way. */
export function pickHot<Element>(random: SeededRandom, elements: readonly Element[]): Element {
  return random.pick(random.chance(0.7) ? elements.slice(0, 2) : elements);
}
