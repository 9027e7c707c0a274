/**
 * What the REST interface answers, as definitions for docs/openapi.json. Answers are not validated
 * at run time (they are ours); the tests hold every one of them against these.
 */
import * as z from "zod";
import { errorCodes } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { transactionIdPattern } from "../transaction-id-text.ts";
import { item } from "./requests.ts";

const microseconds = z.int().min(0).meta({ description: "Microseconds since the epoch." });
const transactionId = z.string().regex(transactionIdPattern);
const itemOrNull = z.union([item, z.null()]);

export const page = z
  .strictObject({
    items: z.array(item),
    cursor: z.string().optional().meta({ description: "For the next page; absent at the end." }),
  })
  .meta({ id: "Page" });

export const readsAnswer = z
  .strictObject({
    gets: z.array(itemOrNull).meta({ description: "In the request's order; null: no such item." }),
    queries: z.array(page),
    scans: z.array(page),
  })
  .meta({ id: "ReadsAnswer" });

export const receipt = z
  .strictObject({
    transactionId: z
      .union([transactionId, z.null()])
      .meta({ description: "null: there was nothing to commit, or it was committed locally." }),
    commitTimestamp: z.union([microseconds, z.null()]),
    local: z
      .literal(true)
      .optional()
      .meta({
        description:
          "Committed by one conditional write of the one item of a mixed table that it touched: " +
          "the log has no id and no timestamp for it, and there is no outcome to ask for.",
      }),
    readTimestamp: microseconds,
    attempts: z.int().min(1),
    installed: z
      .boolean()
      .meta({ description: "false: committed, and the tables will have it in a moment." }),
    replayed: z
      .boolean()
      .meta({ description: "true: an earlier request with this Idempotency-Key did the work." }),
    consumed: z.strictObject({
      readUnits: z.number(),
      writeUnits: z.number(),
      calls: z.int(),
    }),
    phases: z.strictObject({
      retryMs: z.number(),
      bodyMs: z.number(),
      certifyMs: z.number(),
      installMs: z.number(),
    }),
  })
  .meta({ id: "Receipt" });

const written = z
  .array(itemOrNull)
  .optional()
  .meta({ description: "With returnItems: per write, the item after the transaction." });

export const transactionAnswer = z
  .strictObject({ reads: readsAnswer, written, receipt })
  .meta({ id: "TransactionAnswer" });

export const openAnswer = z
  .strictObject({
    transaction: z.string().meta({ description: "Token for the next call; replaces the old one." }),
    readTimestamp: microseconds,
    expiresAt: z.iso.datetime(),
    reads: readsAnswer,
  })
  .meta({ id: "OpenTransaction" });

export const commitAnswer = z.strictObject({ written, receipt }).meta({ id: "CommitAnswer" });

export const snapshotAnswer = z
  .strictObject({ readTimestamp: microseconds, reads: readsAnswer })
  .meta({ id: "SnapshotAnswer" });

export const outcomeAnswer = z
  .discriminatedUnion("outcome", [
    z.strictObject({
      transactionId,
      outcome: z.literal("committed"),
      commitTimestamp: microseconds,
    }),
    z.strictObject({ transactionId, outcome: z.literal("aborted") }),
  ])
  .meta({ id: "Outcome" });

export const unknownAnswer = z
  .strictObject({
    outcome: z.literal("unknown"),
    code: z.literal("commit-unknown"),
    transactionId,
    detail: z.string(),
    settle: z
      .string()
      .meta({ description: "Path to POST to, which settles the outcome for good." }),
  })
  .meta({ id: "UnknownOutcome" });

/** The `202` of a one-shot on one item of a mixed table, which was to be committed locally. */
export const unknownLocalAnswer = z
  .strictObject({
    outcome: z.literal("unknown"),
    code: z.literal("commit-unknown"),
    local: z.literal(true),
    detail: z.string(),
  })
  .meta({
    id: "UnknownLocalOutcome",
    description: "No log will ever tell: read the item, and see whether it was written.",
  });

const check = z.strictObject({ ok: z.boolean(), durationMs: z.number() });

export const healthAnswer = z
  .strictObject({
    status: z.enum(["ok", "unavailable"]),
    checks: z.strictObject({ control: check, log: check }).optional(),
  })
  .meta({ id: "Health" });

/** The SDK's codes, without `commit-unknown`, which is an outcome; and those of HTTP alone. */
export const problemCodes = [
  ...errorCodes.filter((code) => code !== "commit-unknown"),
  "already-committed",
  "base-begun",
  "base-id-reused",
  "condition-failed",
  "internal",
  "invalid-token",
  "malformed-request",
  "method-not-allowed",
  "not-found",
  "request-too-large",
  "throttled",
  "storage-full",
  "unsupported-media-type",
] as const;

export type ProblemCode = (typeof problemCodes)[number];

export const problem = z
  .strictObject({
    type: z.string().meta({ description: "urn:tidemark:problem:<code>" }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(problemCodes),
    retryable: z.boolean().meta({ description: "Whether the same request may succeed later." }),
    outcome: z
      .enum(["aborted", "unknown"])
      .optional()
      .meta({ description: "aborted: nothing was written." }),
    requestId: z.string(),
    field: z.string().optional(),
    errors: z
      .array(z.strictObject({ field: z.string(), message: z.string() }))
      .max(limits.restErrorsMax)
      .optional()
      .meta({ description: "The first faults found; of a list, those of its first wrong member." }),
    limit: z.strictObject({ name: z.string(), max: z.number(), actual: z.number() }).optional(),
    transactionId: transactionId.optional(),
    conflict: z
      .strictObject({
        on: z.enum(["key", "partition", "table"]),
        table: z.string().optional(),
        key: item.optional(),
        version: microseconds.optional(),
        foundBy: z
          .enum(["process", "tail", "oracle", "native"])
          .optional()
          .meta({
            description:
              "native: an item of a mixed table is not as it was read; a native write, or " +
              "another transaction. The others: a transaction, found in this process, in the " +
              "log as the service knew it, or by the oracle.",
          }),
      })
      .optional(),
    condition: z
      .strictObject({
        list: z.enum(["conditions", "writes"]),
        index: z.int().min(0),
        attribute: z.string().optional(),
        table: z.string(),
        key: item,
        currentItem: itemOrNull,
      })
      .optional(),
    incident: z.string().optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457." });

export type Receipt = z.output<typeof receipt>;
export type ReadsAnswer = z.output<typeof readsAnswer>;
export type Problem = z.output<typeof problem>;
export type UnknownLocalAnswer = z.output<typeof unknownLocalAnswer>;
export type UnknownAnswer = z.output<typeof unknownAnswer>;
