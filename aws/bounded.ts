/** Bounded concurrency and backoff, as every adapter needs them. */
import { StoreError } from "../core/errors.ts";
import type { Clock, Random } from "../core/ports.ts";
import * as limits from "../core/limits.ts";

/**
 * Maps with at most `concurrency` calls under way. Results stand in input order. After the first
 * failure no new call begins; those under way are waited for, so none outlives the promise.
 */
export async function mapBounded<Input, Output>(
  inputs: readonly Input[],
  concurrency: number,
  map: (input: Input, index: number) => Promise<Output>,
): Promise<Output[]> {
  const outputs: Output[] = [];
  outputs.length = inputs.length;
  const failures: unknown[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (failures.length === 0) {
      const index = next;
      const input = inputs[index];
      if (input === undefined) return;
      next += 1;
      try {
        outputs[index] = await map(input, index);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  const workers = Math.min(concurrency, inputs.length);
  await Promise.all(Array.from({ length: workers }, worker));
  if (failures.length > 0) throw failures[0];
  return outputs;
}

/** Sleeps a uniform share of the capped exponential step (full jitter). `tries` counts from 1. */
export async function backOff(
  tries: number,
  parts: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal | undefined,
): Promise<void> {
  const step = Math.min(limits.backoffMsMax, limits.backoffMsBase * 2 ** (tries - 1));
  await parts.clock.sleep(parts.random.next() * step, signal);
}

/**
 * The same call until it is answered: for work of hours, in which the stores may be away for a
 * moment.
 * @throws what the last try has thrown; at once what another try would not change.
 */
export async function persistently<Result>(
  parts: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal | undefined,
  call: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      const isPassing = error instanceof StoreError && error.fault !== "rejected";
      if (!isPassing || tries >= limits.accessCallTriesMax) throw error;
      await backOff(tries, parts, signal);
    }
  }
}
