/**
 * What a failed AWS call means for the protocol: nothing happened (`throttled`), it can never
 * happen (`rejected`), or nobody knows (`unavailable`). The last is the default: an error that this
 * module does not know may hide an effect, and taking an effect for none is how acknowledged data
 * gets lost.
 */
import { StoreError } from "../core/errors.ts";

/** Refused before any effect, and likely to succeed later. */
const throttledNames: ReadonlySet<string> = new Set([
  "ProvisionedThroughputExceededException",
  "ThrottlingException",
  "Throttling",
  "ThrottledException",
  "RequestLimitExceeded",
  "RequestThrottled",
  "RequestThrottledException",
  "TooManyRequestsException",
  "LimitExceededException",
  "KMSThrottlingException",
  // A native TransactWriteItems holds the item just now; the put had no effect.
  "TransactionConflictException",
]);

/** Refused for good. Most carry status 400; they are named because some emulators answer 500. */
const rejectedNames: ReadonlySet<string> = new Set([
  "ValidationException",
  "ResourceNotFoundException",
  "AccessDeniedException",
  "ItemCollectionSizeLimitExceededException",
  "SerializationException",
  "InvalidArgumentException",
  "UnrecognizedClientException",
  "IncompleteSignatureException",
  "MissingAuthenticationTokenException",
]);

/** The error's name as the service spells it; undefined for what is no error. */
function errorName(error: unknown): string | undefined {
  return error instanceof Error ? error.name : undefined;
}

export function isNamed(error: unknown, name: string): boolean {
  return errorName(error) === name;
}

function httpStatus(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("$metadata" in error)) return undefined;
  const metadata: unknown = error.$metadata;
  if (typeof metadata !== "object" || metadata === null) return undefined;
  if (!("httpStatusCode" in metadata)) return undefined;
  return typeof metadata.httpStatusCode === "number" ? metadata.httpStatusCode : undefined;
}

export function faultOf(error: unknown): StoreError["fault"] {
  if (error instanceof StoreError) return error.fault;
  const name = errorName(error) ?? "";
  if (throttledNames.has(name)) return "throttled";
  if (rejectedNames.has(name)) return "rejected";
  const status = httpStatus(error);
  // 507, insufficient storage: an embedded stack's disk is full, and nothing of it was stored.
  if (status === 429 || status === 507) return "throttled";
  // 408 means that the server gave up waiting for the request; part of it may have been heard.
  if (status !== undefined && status >= 400 && status < 500 && status !== 408) return "rejected";
  return "unavailable";
}

/**
 * @param earlierUnclear an earlier try of the same call ended without a clear answer. Then no later
 * refusal proves
 *   that nothing happened, and the fault is `unavailable` whatever the last answer was.
 */
export function toStoreError(
  operation: string,
  error: unknown,
  earlierUnclear: boolean,
): StoreError {
  if (error instanceof StoreError && !earlierUnclear) return error;
  const fault = earlierUnclear ? "unavailable" : faultOf(error);
  const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new StoreError(fault, `${operation}: ${detail}`, { cause: error, code: errorName(error) });
}
