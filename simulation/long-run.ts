/**
 * The state of a sweep that goes on for hours and over restarts: which seed is next, and the totals
 * so far.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";

const stateSchema = z.object({
  nextSeed: z.number().int(),
  seeds: z.number(),
  commits: z.number(),
  aborts: z.number(),
  unknown: z.number(),
  crashes: z.number(),
  calls: z.number(),
  virtualMs: z.number(),
  realMs: z.number(),
  struck: z.record(z.string(), z.number()),
  probes: z.record(z.string(), z.number()),
  allowed: z.record(z.string(), z.number()),
  /** Older states have none. */
  sought: z.record(z.string(), z.number()).default({}),
  failedSeeds: z.array(z.number()),
});

export type LongRunState = z.infer<typeof stateSchema>;

/** Undefined before the first run. @throws ZodError for a file that something else has written. */
export function readLongRun(file: string): LongRunState | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
  return stateSchema.parse(JSON.parse(text));
}

/**
 * Replaces the file as a whole: a run that is killed leaves the state before or the state after.
 */
export function writeLongRun(file: string, state: LongRunState): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, JSON.stringify(state, undefined, 2));
  renameSync(`${file}.new`, file);
}
