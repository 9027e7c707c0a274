/**
 * The REST interface's routes as data: the service mounts them, the generator of docs/openapi.json
 * prints them. What a route takes is what its definitions here let through, and nothing else.
 */
import * as z from "zod";
import * as limits from "../../core/limits.ts";
import {
  commitAnswer,
  healthAnswer,
  openAnswer,
  outcomeAnswer,
  problem,
  snapshotAnswer,
  transactionAnswer,
  unknownAnswer,
  unknownLocalAnswer,
} from "./answers.ts";
import {
  baseName,
  baseQuery,
  baseRequest,
  baseRequested,
  baseResumed,
  baseStatus,
  openBases,
  openBasesQuery,
} from "./base.ts";
import {
  beginRequest,
  commitRequest,
  healthQuery,
  readRequest,
  snapshotRequest,
  transactionIdPath,
  transactionRequest,
} from "./requests.ts";

export const jsonType = "application/json";
export const problemType = "application/problem+json";
export const idempotencyKeyHeader = "Idempotency-Key";
export const idempotencyReplayedHeader = "Idempotency-Replayed";

const json = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { [jsonType]: { schema } },
});

const retryAfter = {
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } },
} as const;
const replayed = {
  [idempotencyReplayedHeader]: {
    description: "true: the first answer, given again.",
    schema: { type: "string" },
  },
} as const;

const titles = {
  400: "The body is not JSON, or a name stands twice in it.",
  404: "There is no BASE transaction of that name and id.",
  409:
    "Nothing was written: a conflict with another transaction or, on a mixed table, a native " +
    "write (send again after Retry-After), " +
    "or the token's transaction was committed before.",
  410: "The token has expired, or the point in time is gone.",
  412: "A condition does not hold; the problem carries which, and the item as it stands.",
  413: "More bytes, keys or pages than a limit allows; the problem names it.",
  415: "The body is not declared as JSON.",
  422: "Understood, and wrong: a field, a token, or an Idempotency-Key used for another request.",
  429: "The store throttles. Send again after Retry-After.",
  500: "A fault of ours; the problem has an incident id.",
  503: "The store, the stream or the oracle did not answer in time.",
  507: "The disk of an embedded stack is full; nothing was written. Never on AWS.",
} as const;

type ProblemStatus = keyof typeof titles;

const isRetryable = (status: ProblemStatus): boolean =>
  status === 409 || status === 429 || status === 503 || status === 507;

const problems = (...statuses: readonly ProblemStatus[]) =>
  Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: titles[status],
        content: { [problemType]: { schema: problem } },
        ...(isRetryable(status) ? { headers: retryAfter } : {}),
      },
    ]),
  );

const body = <Schema extends z.ZodType>(schema: Schema) => ({
  body: { required: true, content: { [jsonType]: { schema } } },
});

const idempotency = {
  headers: z.object({
    [idempotencyKeyHeader]: z
      .string()
      .regex(/^[\x21-\x7e]+$/, { error: "must be printable ASCII without spaces" })
      .max(limits.restIdempotencyKeyLengthMax)
      .optional()
      .meta({
        description:
          "A repeat within 24 h gets the first answer, marked Idempotency-Replayed: true.",
      }),
  }),
};

const unknown = {
  ...json(
    "Sent and not answered in time: committed or not. Settle it before anything else.",
    unknownAnswer,
  ),
  headers: { Location: { description: "Where to settle it.", schema: { type: "string" } } },
} as const;

const unknownOneShot = {
  ...json(
    "Sent and not answered in time: committed or not. Settle it before anything else; with " +
      "local, read the item.",
    z.union([unknownAnswer, unknownLocalAnswer]),
  ),
  headers: {
    Location: {
      description: "Where to settle it; absent with local.",
      schema: { type: "string" },
    },
  },
} as const;

const unsettled = {
  ...unknown,
  ...json("Not settled in time. Ask again.", unknownAnswer),
} as const;

const unhealthy = {
  description: "A store did not answer, or the service not in time.",
  content: { [jsonType]: { schema: healthAnswer }, [problemType]: { schema: problem } },
} as const;

export const routes = {
  transaction: {
    method: "post",
    path: "/v1/transactions",
    operationId: "transact",
    summary: "Read, check and write in one transaction",
    description:
      "Conflicts are retried by the server. Reads and conditions see the state before the writes.",
    request: { ...idempotency, ...body(transactionRequest) },
    responses: {
      200: { ...json("Committed.", transactionAnswer), headers: replayed },
      202: unknownOneShot,
      ...problems(400, 409, 412, 413, 415, 422, 429, 500, 503, 507),
    },
  },
  begin: {
    method: "post",
    path: "/v1/transactions/begin",
    operationId: "begin",
    summary: "Begin an interactive transaction",
    description:
      "The server keeps nothing: the token carries the transaction. In a deployment of several " +
      "shards `readTimestamp` is the greatest of those read in, and 0 before the first read.",
    request: body(beginRequest),
    responses: {
      200: json("Open.", openAnswer),
      ...problems(400, 409, 413, 415, 422, 429, 500, 503, 507),
    },
  },
  read: {
    method: "post",
    path: "/v1/transactions/read",
    operationId: "read",
    summary: "Read in an interactive transaction: items, query pages, scan pages",
    request: body(readRequest),
    responses: {
      200: json("Still open, with a new token.", openAnswer),
      ...problems(400, 409, 410, 413, 415, 422, 429, 500, 503, 507),
    },
  },
  commit: {
    method: "post",
    path: "/v1/transactions/commit",
    operationId: "commit",
    summary: "Commit an interactive transaction with its writes",
    request: { ...idempotency, ...body(commitRequest) },
    responses: {
      200: { ...json("Committed.", commitAnswer), headers: replayed },
      202: unknown,
      ...problems(400, 409, 410, 412, 413, 415, 422, 429, 500, 503, 507),
    },
  },
  snapshot: {
    method: "post",
    path: "/v1/snapshots",
    operationId: "snapshot",
    summary: "Read one consistent snapshot",
    request: body(snapshotRequest),
    responses: {
      200: json("All reads at one timestamp.", snapshotAnswer),
      ...problems(400, 409, 410, 413, 415, 422, 429, 500, 503, 507),
    },
  },
  outcome: {
    method: "post",
    path: "/v1/transactions/{id}/outcome",
    operationId: "settleOutcome",
    summary: "Settle the outcome of a transaction",
    description:
      "Decides an undecided transaction by aborting it, for good. Hence POST: a GET must be " +
      "safe to send for anyone.",
    request: { params: transactionIdPath },
    responses: {
      200: json("Settled; every later answer is the same.", outcomeAnswer),
      202: unsettled,
      ...problems(410, 422, 429, 500, 503, 507),
    },
  },
  requestBase: {
    method: "post",
    path: "/v1/base",
    operationId: "requestBase",
    summary: "Ask for a BASE transaction, which a runner begins",
    description:
      "The same request again, by name and id, finds it, for a week after its end. Nothing has " +
      "happened before its first step, which may refuse.",
    request: body(baseRequest),
    responses: {
      200: json("Found again: begun, or over.", baseRequested),
      202: json("Recorded, and not begun.", baseRequested),
      ...problems(400, 413, 415, 422, 429, 500, 503, 507),
    },
  },
  base: {
    method: "get",
    path: "/v1/base",
    operationId: "lookUpBase",
    summary: "Look up a BASE transaction by name and id",
    request: { query: baseQuery },
    responses: {
      200: json("As it stands.", baseStatus),
      ...problems(404, 422, 429, 500, 503, 507),
    },
  },
  cancelBase: {
    method: "delete",
    path: "/v1/base",
    operationId: "cancelBase",
    summary: "Take back a BASE transaction that has not begun",
    request: { query: baseQuery },
    responses: {
      200: json("Cancelled, or refused: nothing of it has happened, and nothing will.", baseStatus),
      ...problems(404, 422, 429, 500, 503, 507),
      409: {
        description: "It has begun, and goes on to its end.",
        content: { [problemType]: { schema: problem } },
      },
    },
  },
  openBases: {
    method: "get",
    path: "/v1/base/open",
    operationId: "listOpenBases",
    summary: "List BASE transactions that are requested or open: parked ones, then the oldest",
    request: { query: openBasesQuery },
    responses: {
      200: json("The first of them.", openBases),
      ...problems(422, 429, 500, 503, 507),
    },
  },
  resumeBase: {
    method: "post",
    path: "/v1/base/resume",
    operationId: "resumeBase",
    summary: "Let a parked BASE transaction go on with the next runner",
    request: body(baseName),
    responses: {
      200: json("As it stands.", baseResumed),
      ...problems(400, 404, 413, 415, 422, 429, 500, 503, 507),
    },
  },
  health: {
    method: "get",
    path: "/v1/health",
    operationId: "health",
    summary: "Whether the service answers, and with deep=true whether it reaches its stores",
    request: { query: healthQuery },
    responses: {
      200: json("Healthy.", healthAnswer),
      503: unhealthy,
      ...problems(422),
    },
  },
} as const;

export type RouteName = keyof typeof routes;
