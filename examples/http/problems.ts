/**
 * From what a request can fail with to RFC 9457 problems. A client library retries 409 and 503, and
 * nothing else: so these are what the same request may get past when it is sent again.
 */
import {
  CommitUnknownError,
  ConflictError,
  IdempotencyKeyReusedError,
  TransactionError,
  TransactionTooLargeError,
} from "../../sdk/index.ts";

export type Problem = {
  readonly status: number;
  /** For programs; the texts are for people. */
  readonly code: string;
  readonly title: string;
  readonly detail?: string;
  /** What else this code tells. */
  readonly [extra: string]: unknown;
};

/** Thrown where a request is wrong, or means what is not there. */
export class RequestProblem extends Error {
  override readonly name = "RequestProblem";
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.title);
    this.problem = problem;
  }
}

export function notFound(detail: string): RequestProblem {
  return new RequestProblem({ status: 404, code: "not-found", title: "Not found", detail });
}

/** Of a bug it tells nothing but that there is one: log the error itself. */
export function problemOf(error: unknown): Problem {
  if (error instanceof RequestProblem) return error.problem;
  if (!(error instanceof TransactionError)) {
    return { status: 500, code: "internal", title: "Internal error" };
  }
  const { code, message: detail } = error;
  // It may have been committed. The key makes the same request safe; the id settles it for good.
  if (error instanceof CommitUnknownError) {
    const remedy = "send the same request again, with the same Idempotency-Key";
    const { transactionId } = error;
    return { status: 503, code, title: "It is not known yet", detail: remedy, transactionId };
  }
  if (error instanceof ConflictError) {
    return { status: 409, code, title: "Too many others want the same", detail };
  }
  if (error instanceof IdempotencyKeyReusedError) {
    return { status: 422, code, title: "This Idempotency-Key belongs to another request" };
  }
  if (error instanceof TransactionTooLargeError) {
    return { status: 413, code, title: "A limit is exceeded", detail };
  }
  if (error.retryable) return { status: 503, code, title: "Temporarily unavailable" };
  return { status: 500, code, title: "Internal error" };
}

const problemType = "application/problem+json";

/** Whoever may try again is told when. */
export function problemHeaders({ status }: Problem): Record<string, string> {
  const mayRetry = status === 409 || status === 503;
  return { "content-type": problemType, ...(mayRetry ? { "retry-after": "1" } : {}) };
}

export function problemResponse(problem: Problem): Response {
  const headers = problemHeaders(problem);
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}
