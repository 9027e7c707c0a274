/** What the demo and its client processes say to each other over the IPC channel. */
import { z } from "zod";

/** How a client commits (docs/sdk.md, `commit`). */
export const commitWays = ["stream", "auto", "express"] as const;

/** What a client is told when it starts, as its only argument. */
export const clientSettingsSchema = z.object({
  endpoint: z.string(),
  client: z.int(),
  life: z.int(),
  /** Where the journals are. */
  folder: z.string(),
  /** Begins every key that this run writes, so that runs on one stack do not meet. */
  runId: z.string(),
  /** Where to record what is read and written, if that is wanted. */
  history: z.object({ folder: z.string(), originNs: z.string() }).optional(),
  seed: z.int(),
  concurrency: z.int(),
  commit: z.enum(commitWays),
  /** Give some transfers a deadline that they may well miss, so that outcomes stay unknown. */
  impatience: z.boolean(),
  accountIds: z.array(z.string()).readonly(),
  eventIds: z.array(z.string()).readonly(),
  seatIds: z.array(z.string()).readonly(),
});

export type ClientSettings = z.infer<typeof clientSettingsSchema>;

const operationKinds = ["transfer", "purchase", "cancellation", "report"] as const;

/** One finished operation, in milliseconds. */
const sampleSchema = z.object({
  kind: z.enum(operationKinds),
  done: z.boolean(),
  /** An earlier life's commit, found under the idempotency key. */
  replayed: z.boolean(),
  attempts: z.int(),
  totalMs: z.number(),
  bodyMs: z.number(),
  certifyMs: z.number(),
  installMs: z.number(),
});

export type Sample = z.infer<typeof sampleSchema>;

const countersSchema = z.object({
  /** Conflicts found on the client's own tail, and those that the oracle found. */
  earlyConflicts: z.int(),
  oracleConflicts: z.int(),
  /** Attempts that ended for another reason. */
  otherAborts: z.int(),
  resends: z.int(),
  unknowns: z.int(),
  /** Operations that ended without being done, for certain. */
  abortedOperations: z.int(),
  /** Commits of others that this client installed. */
  helped: z.int(),
  installsLeft: z.int(),
});

export type Counters = z.infer<typeof countersSchema>;

export const fromClientSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ready") }),
  z.object({
    kind: z.literal("progress"),
    samples: z.array(sampleSchema),
    counters: countersSchema,
  }),
  /** A commit request is just leaving; said once after each `watch`. */
  z.object({ kind: z.literal("sending") }),
]);

export type FromClient = z.infer<typeof fromClientSchema>;

export const toClientSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("watch") }),
  /** kill -9 yourself when the next commit is decided, before any of its writes leaves. */
  z.object({ kind: z.literal("die-at-decision") }),
  /** Finish what is under way, then exit. */
  z.object({ kind: z.literal("stop") }),
]);

export type ToClient = z.infer<typeof toClientSchema>;

export function noCounts(): Counters {
  return {
    earlyConflicts: 0,
    oracleConflicts: 0,
    otherAborts: 0,
    resends: 0,
    unknowns: 0,
    abortedOperations: 0,
    helped: 0,
    installsLeft: 0,
  };
}
