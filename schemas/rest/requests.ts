/**
 * What the REST interface takes, as definitions that both validate requests and generate
 * docs/openapi.json. Items stay unread here: their format is a member of the request, so
 * schemas/rest/items.ts decodes them afterwards.
 */
import * as z from "zod";
import * as limits from "../../core/limits.ts";
import { transactionIdPattern } from "../transaction-id-text.ts";
import { listOf, recordOf } from "./bounded.ts";
import { isJsonObject, type Json, type JsonObject } from "./items.ts";

export const item = z.custom<JsonObject>(isJsonObject, { error: "must be a JSON object" }).meta({
  id: "Item",
  type: "object",
  additionalProperties: true,
  description:
    'An item, or a key, in the request\'s format. "json": plain values; sets, binary and ' +
    "numbers that no double holds " +
    'stand as {"$typed": {"SS": ["a"]}}. "dynamodb": {"attribute": {"S": "text"}}, binary as ' +
    "base64. " +
    "At most 400 KB as DynamoDB counts, 32 levels deep, names of at most 65,535 bytes; a key's " +
    "values of at most 2,048 and 1,024 bytes.",
  examples: [{ account: "ada", balanceCents: 1200 }, { account: { S: "ada" } }],
});

export const value = z
  .custom<Json>((input) => input !== undefined, { error: "is required" })
  .meta({
    id: "Value",
    type: ["string", "number", "boolean", "object", "array", "null"],
    items: true,
    description: "One attribute value, in the request's format.",
    examples: [1200, { N: "1200" }],
  });

const table = z
  .string()
  .min(1)
  .max(limits.nameBytesMax)
  .meta({ description: "Name of a registered table." });
const cursor = z
  .string()
  .min(1)
  .max(limits.restCursorLengthMax)
  .meta({ description: "Of the page before; opaque. Absent: the first page." });
const pageLimit = z
  .int()
  .min(1)
  .max(limits.restPageItemsMax)
  .meta({ description: "Rows examined by this page; a page also ends at 1 MB." });

export const format = z
  .enum(["json", "dynamodb"])
  .default("json")
  .meta({ id: "Format", description: "How items are written, in the request and its answer." });
const isolation = z.enum(["serializable", "snapshot"]).default("serializable").meta({
  id: "Isolation",
  description:
    "serializable checks everything read; snapshot only what is written (write skew is possible).",
});
const acknowledgement = z
  .enum(["installed", "certified"])
  .default("installed")
  .meta({
    id: "Acknowledgement",
    description:
      "installed: answered when every write stands in its table. certified: as soon as the " +
      "commit " +
      "is durable.",
  });
const transaction = z
  .string()
  .min(1)
  .max(limits.restTokenLengthMax)
  .meta({ description: "The token of the call before. Signed; valid until expiresAt." });

const getRequest = z.strictObject({ table, key: item }).meta({ id: "Get" });

const comparisons = {
  eq: value.optional(),
  lt: value.optional(),
  lte: value.optional(),
  gt: value.optional(),
  gte: value.optional(),
  beginsWith: value.optional(),
};

const sortKeyRequest = z
  .strictObject({ ...comparisons, between: listOf(value, { min: 2, max: 2 }).optional() })
  .refine((given) => Object.keys(given).length === 1, {
    error: "must have exactly one of eq, lt, lte, gt, gte, between, beginsWith",
  })
  .meta({ id: "SortKeyCondition", minProperties: 1, maxProperties: 1 });

const queryRequest = z
  .strictObject({
    table,
    index: z
      .strictObject({
        name: z.string().min(1).max(limits.nameBytesMax),
        partitionKey: z.string().min(1).max(limits.nameBytesMax),
        sortKey: z.string().min(1).max(limits.nameBytesMax).optional(),
      })
      .optional()
      .meta({
        description:
          "A global secondary index and the names of its key attributes. It finds candidates, " +
          "eventually consistent.",
      }),
    partitionKey: value,
    sortKey: sortKeyRequest.optional(),
    descending: z.boolean().default(false),
    limit: pageLimit.optional(),
    cursor: cursor.optional(),
  })
  .meta({ id: "Query" });

const scanRequest = z
  .strictObject({ table, limit: pageLimit.optional(), cursor: cursor.optional() })
  .meta({ id: "Scan" });

/** Keys of all lists together are counted by the service. */
const keys = { max: limits.transactionKeysMax, limit: "transactionKeysMax" };
const pages = { max: limits.restPagesPerRequestMax };

const readsRequest = z
  .strictObject({
    gets: listOf(getRequest, keys).default([]),
    queries: listOf(queryRequest, pages).default([]),
    scans: listOf(scanRequest, pages).default([]),
  })
  .meta({ id: "Reads", description: "Each query and scan is one page." });

const comparison = z
  .strictObject({
    exists: z.boolean().optional(),
    ...comparisons,
    ne: value.optional(),
    in: listOf(value, { min: 1, max: limits.restComparandsMax }).optional(),
  })
  .refine((given) => Object.keys(given).length > 0, { error: "must have at least one comparison" })
  .meta({
    id: "Comparison",
    minProperties: 1,
    description:
      "All must hold. An order holds only between values of one type (string, number, binary); " +
      "ne holds for a missing attribute.",
  });

const condition = z
  .strictObject({
    exists: z.boolean().optional(),
    attributes: recordOf(comparison, { max: limits.restComparandsMax }).optional(),
  })
  .refine((given) => given.exists !== undefined || Object.keys(given.attributes ?? {}).length > 0, {
    error: "must say exists or compare attributes",
  })
  .meta({
    id: "Condition",
    description: "About the item as it stood before this transaction's writes.",
    examples: [{ exists: true, attributes: { balanceCents: { gte: 300 } } }],
  });

const conditionRequest = z
  .strictObject({ table, key: item, condition })
  .meta({ id: "ConditionCheck", description: "A condition on an item that is not written." });

const attributeName = z
  .string()
  .min(1)
  .max(limits.attributeNameBytesMax)
  .meta({ id: "AttributeName" });

const given = { table, condition: condition.optional() };

const writeRequest = z
  .discriminatedUnion("op", [
    z
      .strictObject({ op: z.literal("put"), ...given, item })
      .meta({ id: "Put", description: "Stores the whole item, key attributes included." }),
    z
      .strictObject({
        op: z.literal("update"),
        ...given,
        key: item,
        set: item.optional(),
        add: item.optional(),
        remove: listOf(attributeName, { max: limits.restRemovalsMax }).optional(),
      })
      .meta({
        id: "Update",
        description:
          "Changes single attributes and keeps the others; makes the item if there is none. add " +
          "sums numbers (missing counts as 0).",
      }),
    z.strictObject({ op: z.literal("delete"), ...given, key: item }).meta({ id: "Delete" }),
  ])
  .meta({ id: "Write" });

const changes = {
  conditions: listOf(conditionRequest, keys).default([]),
  writes: listOf(writeRequest, keys).default([]),
  returnItems: z
    .boolean()
    .default(false)
    .meta({ description: "Answer with each written item as it stands after the transaction." }),
  ack: acknowledgement,
};

const emptyReads = { gets: [], queries: [], scans: [] };
const reads = readsRequest.default(emptyReads);

export const transactionRequest = z
  .strictObject({ format, isolation, reads, ...changes })
  .meta({ id: "TransactionRequest" });

export const beginRequest = z
  .strictObject({ format, isolation, reads })
  .meta({ id: "BeginRequest" });

export const readRequest = z
  .strictObject({ transaction, format, reads: readsRequest })
  .meta({ id: "ReadRequest" });

export const commitRequest = z
  .strictObject({ transaction, format, ...changes })
  .meta({ id: "CommitRequest" });

export const snapshotRequest = z
  .strictObject({
    format,
    reads: readsRequest,
    asOf: z.int().min(limits.momentMicrosMin).max(Number.MAX_SAFE_INTEGER).optional().meta({
      description: "A read timestamp (microseconds); the tables read must keep history.",
    }),
    maxStalenessMs: z
      .int()
      .min(0)
      .max(limits.transactionAgeMsMax)
      .optional()
      .meta({ description: "0 sees everything acknowledged before; more may save a round trip." }),
  })
  .refine((request) => request.asOf === undefined || request.maxStalenessMs === undefined, {
    error: "cannot stand together with maxStalenessMs",
    path: ["asOf"],
  })
  .meta({ id: "SnapshotRequest" });

/** What only lists and records hold; docs/openapi.json has them as components. */
export const members = [
  getRequest,
  queryRequest,
  scanRequest,
  value,
  comparison,
  attributeName,
  conditionRequest,
  writeRequest,
] as const;

export const transactionIdPath = z.strictObject({
  id: z
    .string()
    .regex(transactionIdPattern, {
      error: "must be the 32 lower-case hexadecimal digits that a receipt or an answer gave",
    })
    .meta({ description: "Id of a transaction.", examples: ["0600e1a5c2d3400f1e2d3c4b5a697887"] }),
});

export const healthQuery = z.strictObject({
  deep: z
    .enum(["true", "false"])
    .optional()
    .meta({ description: "true: also reach the control table and the log." }),
});

export type QueryRequest = z.output<typeof queryRequest>;
export type ReadsRequest = z.output<typeof readsRequest>;
export type Comparison = z.output<typeof comparison>;
export type Condition = z.output<typeof condition>;
export type ConditionRequest = z.output<typeof conditionRequest>;
export type WriteRequest = z.output<typeof writeRequest>;
export type TransactionRequest = z.output<typeof transactionRequest>;
export type BeginRequest = z.output<typeof beginRequest>;
export type ReadRequest = z.output<typeof readRequest>;
export type CommitRequest = z.output<typeof commitRequest>;
export type SnapshotRequest = z.output<typeof snapshotRequest>;
