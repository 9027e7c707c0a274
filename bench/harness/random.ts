/** Numbers for one worker, from the run's seed. */
import { seededWords } from "../measure.ts";
import type { BenchRandom } from "./workload.ts";

/**
 * The generator's first words show the seed; neighbours would draw neighbouring keys and conflict.
 */
const wordsSkipped = 64;
/** Odd, so that no two workers of a seed share a state. */
const workerStride = 0x9e3779b1;

export function benchRandom(seed: number, worker: number): BenchRandom {
  const words = seededWords(
    (Math.imul(seed, 0x85ebca6b) + Math.imul(worker + 1, workerStride)) | 0,
  );
  for (let n = 0; n < wordsSkipped; n += 1) words();
  const fraction = (): number => words() / 2 ** 32;
  return { fraction, below: (below) => Math.floor(fraction() * below) };
}
