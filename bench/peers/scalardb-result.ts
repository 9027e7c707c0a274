/** The line of JSON that the ScalarDB peer prints, checked before anything is made of it. */
import { z } from "zod";

const count = z.int().nonnegative();
const amount = z.number().nonnegative();

const latencySchema = z.strictObject({
  p50: amount,
  p95: amount,
  p99: amount,
  max: amount,
  mean: amount,
  /** HDR, compressed, base64; microseconds. */
  histogram: z.base64(),
});

const countsShape = {
  committed: count,
  /**
   * Attempts that ended in a conflict; each was tried again, or its transaction failed or is
   * unfinished.
   */
  conflicts: count,
  failures: count,
  rolledBack: count,
  /** Commits of which nobody knows. */
  unknown: count,
  /** Transactions whose last attempt was a conflict when the time was over. */
  unfinished: count,
  attempts: count,
  /** Transactions that ended as wanted on their first attempt. */
  firstAttempts: count,
  /** Of transactions that committed or were rolled back as wanted; null if there was none. */
  latencyMs: latencySchema.nullable(),
};

const storeSchema = z.strictObject({
  /** By operation of DynamoDB; those that fail and those sent again count. */
  calls: z.record(z.string(), count),
  /** Items of all TransactWriteItems. */
  transactItems: count,
  /** As the store reports them; DynamoDB Local misreports those of TransactWriteItems. */
  readUnits: amount,
  writeUnits: amount,
  /** All absent if nothing committed. */
  callsPerCommit: amount.optional(),
  readUnitsPerCommit: amount.optional(),
  writeUnitsPerCommit: amount.optional(),
});

/**
 * Transactions alone, one after the other, after the measured phase; writes priced by DynamoDB's
 * rule.
 */
const sampleSchema = z.strictObject({
  committed: z.int().positive(),
  callsPerCommit: amount,
  readUnitsPerCommit: amount,
  writeUnitsPerCommit: amount,
});

const runSchema = z.strictObject({
  seconds: z.number().positive(),
  /** Committed transactions per second. */
  throughput: amount,
  ...countsShape,
  /** At a rate: transactions that were due and never begun. */
  unstarted: count,
  operations: z.record(z.string(), z.strictObject(countsShape)),
  store: storeSchema,
  /** Null if none was asked for, or nothing of it committed. */
  sample: sampleSchema.nullable(),
  /** Of the peer's process, all threads. */
  processorSeconds: amount,
  /** Messages of failures, and how often. */
  errors: z.record(z.string(), count),
  /** Conditions that do not hold after the run: figures of such a run are worth nothing. */
  violations: z.array(z.string()),
});

const resultSchema = z
  .strictObject({
    system: z.literal("scalardb"),
    version: z.string().min(1),
    workload: z.string().min(1),
    parameters: z.record(z.string(), z.unknown()),
    concurrency: z.int().positive(),
    rate: z.number().positive().nullable(),
    warmUpSeconds: amount,
    seed: z.int(),
    profile: z.enum(["tuned", "plain"]),
    /** ScalarDB's, beyond its defaults and the isolation level. */
    properties: z.record(z.string(), z.string()),
    /** Null if nothing was loaded. */
    rowsLoaded: count.nullable(),
    /** Null if it only loaded. */
    run: runSchema.nullable(),
  })
  .check((context) => {
    const { run } = context.value;
    if (run === null) return;
    for (const name of summed) {
      const sum = Object.values(run.operations).reduce((all, counts) => all + counts[name], 0);
      if (sum !== run[name]) {
        const message = `${name} is ${run[name]}, but ${sum} over all operations`;
        context.issues.push({ code: "custom", message, input: run[name], path: ["run", name] });
      }
    }
  });

const summed = [
  ...(["committed", "conflicts", "failures", "rolledBack"] as const),
  ...(["unknown", "unfinished", "attempts"] as const),
];

export type ScalarDbResult = z.infer<typeof resultSchema>;
export type ScalarDbRun = z.infer<typeof runSchema>;

/** The output is not what the peer prints. */
export class ScalarDbOutputError extends Error {
  override readonly name = "ScalarDbOutputError";
}

/**
 * The last line of what the peer printed.
 * @throws ScalarDbOutputError saying what is wrong with it.
 */
export function parseScalarDbOutput(output: string): ScalarDbResult {
  const line = output.trimEnd().split("\n").at(-1) ?? "";
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new ScalarDbOutputError("the ScalarDB peer's last line is no JSON", { cause });
  }
  const parsed = resultSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ScalarDbOutputError(
    `the ScalarDB peer's result is wrong: ${z.prettifyError(parsed.error)}`,
  );
}
