/**
 * From errors to RFC 9457 problems: which status, what the caller may know, and what it should do.
 * Codes are API. 409 means that the same request may succeed when it is sent again; 412 that the
 * data itself says no, so that sending again is pointless; retrying middleware relies on the
 * difference.
 */
import { InvariantViolation } from "../../core/assert.ts";
import {
  CommitUnknownError,
  ConflictError,
  diskFullCode,
  type ErrorCode,
  InvalidRequestError,
  SnapshotTooOldError,
  StoreError,
  TransactionError,
  TransactionTooLargeError,
  UnavailableError,
} from "../../core/errors.ts";
import { TableRefusedError } from "../../engine/table-registry.ts";
import type { Problem, ProblemCode } from "../../schemas/rest/answers.ts";
import { encodeItem, type ItemFormat } from "../../schemas/rest/items.ts";

type ProblemStatus = 400 | 404 | 405 | 409 | 410 | 412 | 413 | 415 | 422 | 429 | 500 | 503 | 507;

type Kind = {
  readonly status: ProblemStatus;
  readonly title: string;
  /** Whether the same request may succeed when it is sent again, and after how many seconds. */
  readonly retry?: { readonly afterSeconds: number | undefined };
};

const kinds: Readonly<Record<ProblemCode, Kind>> = {
  conflict: {
    status: 409,
    title: "Conflict with another write",
    retry: { afterSeconds: 1 },
  },
  "snapshot-too-old": {
    status: 409,
    title: "The version to read is gone",
    retry: { afterSeconds: 1 },
  },
  "transaction-too-large": { status: 413, title: "A limit is exceeded" },
  "transaction-closed": { status: 410, title: "The transaction is over" },
  "invalid-request": { status: 422, title: "The request is wrong" },
  "idempotency-key-reused": {
    status: 422,
    title: "The idempotency key belongs to another request",
  },
  unavailable: { status: 503, title: "Temporarily unavailable", retry: { afterSeconds: 2 } },
  "corrupt-data": { status: 500, title: "Internal error" },
  "changes-expired": { status: 410, title: "The changes are gone" },
  "base-open": {
    status: 409,
    title: "An open BASE transaction holds it",
    retry: { afterSeconds: 2 },
  },
  "base-begun": { status: 409, title: "The BASE transaction has begun" },
  "base-id-reused": { status: 422, title: "The id belongs to another BASE transaction" },
  "base-refused": { status: 412, title: "The BASE transaction was refused" },
  "already-committed": { status: 409, title: "The transaction was committed before" },
  "condition-failed": { status: 412, title: "A condition does not hold" },
  internal: { status: 500, title: "Internal error", retry: { afterSeconds: undefined } },
  "invalid-token": { status: 422, title: "The transaction token is not valid" },
  "malformed-request": { status: 400, title: "The request cannot be read" },
  "method-not-allowed": { status: 405, title: "Method not allowed" },
  "not-found": { status: 404, title: "Not found" },
  "request-too-large": { status: 413, title: "The request is too large" },
  throttled: { status: 429, title: "Too many requests", retry: { afterSeconds: 2 } },
  "storage-full": { status: 507, title: "The disk is full", retry: { afterSeconds: 30 } },
  "unsupported-media-type": { status: 415, title: "Unsupported media type" },
};

type Extras = Omit<
  Problem,
  "type" | "title" | "status" | "detail" | "code" | "retryable" | "requestId"
>;

/** A refusal that only HTTP knows, or one whose parts were gathered for it. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly code: ProblemCode;
  readonly extras: Extras;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    code: ProblemCode,
    detail: string,
    extras: Extras = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.code = code;
    this.extras = extras;
    this.headers = headers;
  }
}

export type ProblemAnswer = {
  readonly status: ProblemStatus;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Problem;
};

export type ProblemContext = {
  readonly requestId: string;
  readonly format: ItemFormat;
  /** The request named the point in time itself, so that its loss is final. */
  readonly fixedTime: boolean;
  /** Made for errors that are ours; they are logged under it. */
  readonly makeIncident: () => string;
};

/** Total: whatever was thrown becomes a problem, and nothing internal leaves with it. */
export function problemOf(error: unknown, context: ProblemContext): ProblemAnswer {
  if (error instanceof ApiProblem) {
    return answer(error.code, error.message, context, error.extras, error.headers);
  }
  if (isOfFullDisk(error)) {
    const detail =
      "the disk of the embedded stack is full, and nothing was written: make room where its data " +
      "folder is, and it goes on by itself";
    return answer("storage-full", detail, context, { outcome: "aborted" });
  }
  if (error instanceof StoreError && error.fault !== "rejected") {
    const code = error.fault === "throttled" ? "throttled" : "unavailable";
    return answer(code, "the store did not answer in time", context, { outcome: "aborted" });
  }
  if (error instanceof TransactionError && error.code !== "corrupt-data") {
    return ofTransactionError(error, context);
  }
  const incident = context.makeIncident();
  const code = error instanceof TransactionError ? "corrupt-data" : "internal";
  const detail =
    error instanceof InvariantViolation
      ? "an internal check failed; the incident id finds it in the logs"
      : "the service failed; the incident id finds the reason in the logs";
  return answer(code, detail, context, { incident });
}

/** Of a commit that may stand all the same the outcome is said, and not why it is unknown. */
function isOfFullDisk(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === diskFullCode;
  return error instanceof UnavailableError && isOfFullDisk(error.cause);
}

function ofTransactionError(error: TransactionError, context: ProblemContext): ProblemAnswer {
  const extras: Extras = { outcome: error.outcome };
  if (error instanceof ConflictError) {
    const { on, table, key, version, foundBy } = error.detail;
    return answer("conflict", error.message, context, {
      ...extras,
      conflict: {
        on,
        ...(version === undefined ? {} : { version }),
        ...(table === undefined ? {} : { table }),
        ...(key === undefined ? {} : { key: encodeItem(key, context.format) }),
        ...(foundBy === undefined ? {} : { foundBy }),
      },
    });
  }
  if (error instanceof TransactionTooLargeError) {
    return answer(error.code, error.message, context, { ...extras, limit: { ...error.limit } });
  }
  if (error instanceof InvalidRequestError) {
    return answer(error.code, error.message, context, { ...extras, field: error.field });
  }
  if (error instanceof SnapshotTooOldError && context.fixedTime) {
    const final = answer(error.code, error.message, context, extras);
    return { status: 410, headers: {}, body: { ...final.body, status: 410, retryable: false } };
  }
  // An adapter's own text may name tables' addresses or accounts, so only the kind goes out.
  if (error.code === "unavailable") {
    const refused = [error, error.cause].find((each) => each instanceof TableRefusedError);
    if (refused !== undefined) return answer("unavailable", refused.message, context, extras);
    const throttled = error.cause instanceof StoreError && error.cause.fault === "throttled";
    const detail =
      "the store, the stream or the oracle did not answer in time; nothing was written";
    return answer(throttled ? "throttled" : "unavailable", detail, context, extras);
  }
  if (error instanceof CommitUnknownError) {
    const { transactionId } = error;
    return answer("unavailable", error.message, context, { ...extras, transactionId });
  }
  const code: Exclude<ErrorCode, "commit-unknown"> =
    error.code === "commit-unknown" ? "unavailable" : error.code;
  return answer(code, error.message, context, extras);
}

function answer(
  code: ProblemCode,
  detail: string,
  context: ProblemContext,
  extras: Extras = {},
  headers: Readonly<Record<string, string>> = {},
): ProblemAnswer {
  const { status, title, retry } = kinds[code];
  const after = retry?.afterSeconds;
  return {
    status,
    headers: after === undefined ? headers : { "Retry-After": after.toString(), ...headers },
    body: {
      type: `urn:tidemark:problem:${code}`,
      title,
      status,
      // A store's own words may name an account or a role; those are not the caller's business.
      detail: detail.replaceAll(/\barn:\S+/g, "…"),
      code,
      retryable: retry !== undefined,
      requestId: context.requestId,
      ...extras,
    },
  };
}
