/**
 * What memory alone allows: reads of random words of a table that depend on nothing, so that the
 * processor waits for as many of them at once as it can. No hash table of that size is faster.
 */
import { seededWords, Stopwatch } from "./measure.ts";

const reads = 1 << 18;
const rounds = 15;

/** Nanoseconds of processor time per read: the median of several rounds. */
export function randomReadNanos(tableBytes: number): number {
  const table = new Uint32Array(Math.ceil(tableBytes / 4)).fill(1);
  const words = seededWords(2);
  const at = Uint32Array.from({ length: reads }, () => words() % table.length);
  const nanos: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const stopwatch = new Stopwatch();
    stopwatch.start();
    const read = readAll(table, at);
    stopwatch.stop();
    if (read !== 1) throw new Error("the reads were optimised away");
    nanos.push((stopwatch.cpuMs * 1e6) / reads);
  }
  return nanos.toSorted((left, right) => left - right)[Math.floor(rounds / 2)] ?? 0;
}

function readAll(table: Uint32Array, at: Uint32Array): number {
  let all = 0;
  for (const index of at) all |= table[index] ?? 0;
  return all;
}
