/**
 * What stands beside a projected commit: the same items read by one BatchGetItem and written by one
 * TransactWriteItems that checks what was read, from the same distributions, without conflicts.
 */
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { LatencySamples } from "./latency-samples.ts";
import { drawLogNormal, logNormalThrough } from "./log-normal.ts";
import { callLatencies } from "./published-figures.ts";

const draws = 20_000;

export function nativeLatency(seed: number): LatencySamples {
  const random = new SeededRandom(`native ${seed.toString()}`);
  const read = logNormalThrough(callLatencies.BatchGetItem);
  const write = logNormalThrough(callLatencies.TransactWriteItems);
  const samples = new LatencySamples();
  for (let n = 0; n < draws; n++) {
    samples.add(drawLogNormal(read, random) + drawLogNormal(write, random));
  }
  return samples;
}
