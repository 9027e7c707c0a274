/**
 * Errors by what a caller can do about them. Codes are API; messages are not. Bugs are
 * `InvariantViolation` (core/assert.ts) and are never caught here.
 */
import type { Item, Timestamp, TransactionId } from "./types.ts";

export const errorCodes = [
  "conflict",
  "snapshot-too-old",
  "commit-unknown",
  "transaction-too-large",
  "transaction-closed",
  "invalid-request",
  "idempotency-key-reused",
  "unavailable",
  "corrupt-data",
  "changes-expired",
  "base-open",
  "base-refused",
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** Base of every error that a transaction can end with. */
export abstract class TransactionError extends Error {
  abstract readonly code: ErrorCode;
  /** Whether the same call may succeed when it is made again. */
  abstract readonly retryable: boolean;
  /** `"unknown"` only when the commit may have happened. */
  abstract readonly outcome: "aborted" | "unknown";
}

/** Nothing was committed, and the same call would end the same way. */
abstract class FinalError extends TransactionError {
  readonly retryable = false;
  readonly outcome = "aborted";
}

/** Where a conflict was found. `hash` alone when only a predicate (partition, table) is known. */
export type ConflictDetail = {
  readonly table: string | undefined;
  readonly key: Item | undefined;
  /**
   * Commit timestamp of the write that stood in the way; the version now stored, or about to be.
   * Undefined when that write has no verdict yet (`foundBy: "process"`).
   */
  readonly version: Timestamp | undefined;
  /**
   * `"read"` was read (or will be written), `"predicate"` is a queried partition or a scanned
   * table.
   */
  readonly on: "key" | "partition" | "table";
  /**
   * `"tail"`: seen before anything was sent to the oracle. `"process"`: so, too; by a transaction
   * of the same process that is on its way. `"native"`: an item of a mixed table was not any more
   * as it was read; by a native write, or a transaction's.
   */
  readonly foundBy?: "process" | "tail" | "oracle" | "native";
};

export class ConflictError extends TransactionError {
  override readonly name = "ConflictError";
  readonly code = "conflict";
  readonly retryable = true;
  readonly outcome = "aborted";
  readonly detail: ConflictDetail;
  constructor(message: string, detail: ConflictDetail, options?: ErrorOptions) {
    super(message, options);
    this.detail = detail;
  }
}

/** The version asked for is gone: history does not reach back, or is not kept. */
export class SnapshotTooOldError extends TransactionError {
  override readonly name = "SnapshotTooOldError";
  readonly code = "snapshot-too-old";
  /** False where `asOf` names the moment: it does not come back. */
  readonly retryable: boolean;
  readonly outcome = "aborted";
  constructor(message: string, { retryable = true }: { readonly retryable?: boolean } = {}) {
    super(message);
    this.retryable = retryable;
  }
}

/**
 * The request was sent and no decision was seen. Ask `outcome(transactionId)`; never just run
 * again.
 */
export class CommitUnknownError extends TransactionError {
  override readonly name = "CommitUnknownError";
  readonly code = "commit-unknown";
  readonly retryable = false;
  readonly outcome = "unknown";
  readonly transactionId: TransactionId;
  /** As in a receipt: transactions that were certified as one share the id, and their outcome. */
  readonly place: number;
  constructor(
    message: string,
    transactionId: TransactionId,
    options: ErrorOptions & { readonly place?: number } = {},
  ) {
    super(message, options);
    this.transactionId = transactionId;
    this.place = options.place ?? 0;
  }
}

export class TransactionTooLargeError extends FinalError {
  override readonly name = "TransactionTooLargeError";
  readonly code = "transaction-too-large";
  /** Name of the limit in core/limits.ts, and its value. */
  readonly limit: { readonly name: string; readonly max: number; readonly actual: number };
  constructor(
    message: string,
    limit: { readonly name: string; readonly max: number; readonly actual: number },
  ) {
    super(message);
    this.limit = limit;
  }
}

/**
 * For a limit of whole transactions. `name` is the limit's in core/limits.ts; `remedy` completes
 * the sentence.
 */
export function tooLarge(
  limit: TransactionTooLargeError["limit"],
  remedy = "split the work into smaller transactions",
): TransactionTooLargeError {
  const { name, max, actual } = limit;
  const unit = name.includes("Bytes") ? " bytes" : "";
  const reached = `${actual}${unit}, above the limit ${name} of ${max}${unit}`;
  const message = `the transaction reaches ${reached}; ${remedy}`;
  return new TransactionTooLargeError(message, limit);
}

/** The transaction's body has returned, or its deadline has passed. */
export class TransactionClosedError extends FinalError {
  override readonly name = "TransactionClosedError";
  readonly code = "transaction-closed";
}

/** Input that can never work. `field` names it; the message says the limit and the remedy. */
export class InvalidRequestError extends FinalError {
  override readonly name = "InvalidRequestError";
  readonly code = "invalid-request";
  readonly field: string;
  constructor(field: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.field = field;
  }
}

/**
 * An earlier transaction under the same idempotency key answered another request. Nothing was run;
 * what the earlier one did stands.
 */
export class IdempotencyKeyReusedError extends FinalError {
  override readonly name = "IdempotencyKeyReusedError";
  readonly code = "idempotency-key-reused";
}

/**
 * What a call was at when its deadline passed. `connecting`: finding the deployment and its tables;
 * `body`: in the body and its reads; `retrying`: in the pause before the next attempt;
 * `committing`: from the body's end on; `settling`: on the way to an outcome that was asked for.
 */
export type CallPhase = "connecting" | "body" | "retrying" | "committing" | "settling";

export type PassedDeadline = {
  readonly deadlineMs: number;
  readonly phase: CallPhase;
  /** Attempts begun until then. */
  readonly attempts: number;
};

/**
 * The store, the stream or the oracle did not answer in time; nothing was committed. With
 * `deadline`: the call's time is up, and `cause` is what its last attempt failed with, most often a
 * conflict.
 */
export class UnavailableError extends TransactionError {
  override readonly name = "UnavailableError";
  readonly code = "unavailable";
  readonly retryable = true;
  readonly outcome = "aborted";
  readonly deadline: PassedDeadline | undefined;
  constructor(
    message: string,
    { deadline, ...options }: ErrorOptions & { readonly deadline?: PassedDeadline } = {},
  ) {
    super(message, options);
    this.deadline = deadline;
  }
}

/** An item of a table with a reserved attribute that nothing of Tidemark has written. */
export type DamagedItem = { readonly table: string; readonly key: Item };

/** Stored data breaks the protocol: a frame that does not decode, a version from the future. */
export class CorruptDataError extends FinalError {
  override readonly name = "CorruptDataError";
  readonly code = "corrupt-data";
  /** The item that cannot be read; undefined where it is none of a table, or not known. */
  readonly item: DamagedItem | undefined;
  constructor(
    message: string,
    { item, ...options }: ErrorOptions & { readonly item?: DamagedItem } = {},
  ) {
    super(message, options);
    this.item = item;
  }
}

/** Changes were asked for from a position on that log or stream have let go of. */
export class ChangesExpiredError extends FinalError {
  override readonly name = "ChangesExpiredError";
  readonly code = "changes-expired";
  /** The oldest moment from which on all is still there, as the option `from` takes it. */
  readonly oldest: Timestamp;
  /** @param behind all that counts above it is there. */
  constructor(behind: Timestamp, options?: ErrorOptions) {
    const oldest = (behind + 1) as Timestamp;
    super(
      "the log no longer reaches back to the position from which changes were asked for; " +
        `the oldest position is "${behind}": begin there (\`from: "oldest"\`; of a consumer with ` +
        "a name, `tidemark feeds reset <name> --to beginning`) once you have read anew what you " +
        "derive from the tables, and keep the log and the stream for longer",
      options,
    );
    this.oldest = oldest;
  }
}

/** An open BASE transaction that holds what others ask for. */
export type OpenBase = {
  /** Its handler's name and its id: `name/id`. */
  readonly base: string;
  /** Wall-clock milliseconds of its first step; undefined: not known. */
  readonly sinceMs: number | undefined;
  /** Steps committed so far; undefined: not known. */
  readonly steps: number | undefined;
  /** Its step that is under way in this process: what waits within that waits for itself. */
  readonly stepHere?: string | undefined;
};

/**
 * What the transaction reads or writes an open BASE transaction holds, and has held until the
 * call's deadline; an interactive transaction of REST does not wait. Nothing was committed.
 */
export class BaseOpenError extends TransactionError {
  override readonly name = "BaseOpenError";
  readonly code = "base-open";
  /** False for a read of the past, at which it stays open. */
  readonly retryable: boolean;
  readonly outcome = "aborted";
  readonly open: OpenBase;
  constructor(
    message: string,
    open: OpenBase,
    options?: ErrorOptions & { readonly retryable?: boolean },
  ) {
    super(message, options);
    this.open = open;
    this.retryable = options?.retryable ?? true;
  }
}

/** Why the first step of a BASE transaction, or what checks its input, would not have it. */
export type BaseRefusal = {
  /** The step's name; undefined: no step had begun. */
  readonly step: string | undefined;
  /** What the error was called, and its message; its own kind is not kept. */
  readonly name: string;
  readonly message: string;
};

/**
 * A BASE transaction that was asked for and never began: nothing of it has happened, and nothing
 * will.
 */
export class BaseRefusedError extends FinalError {
  override readonly name = "BaseRefusedError";
  readonly code = "base-refused";
  /** Undefined: it was cancelled. */
  readonly refusal: BaseRefusal | undefined;
  constructor(message: string, refusal: BaseRefusal | undefined) {
    super(message);
    this.refusal = refusal;
  }
}

/** Code of a `StoreError`: an embedded stack's disk is full, and nothing of the write is stored. */
export const diskFullCode = "DataFolderNotWritable";

/** What an adapter throws when its own bounded retries are used up. Not part of the public API. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** See core/ports.ts. */
  readonly fault: "unavailable" | "throttled" | "rejected";
  /** The service's own name of the error, where it gave one. */
  readonly code: string | undefined;
  constructor(
    fault: "unavailable" | "throttled" | "rejected",
    message: string,
    options?: ErrorOptions & { readonly code?: string | undefined },
  ) {
    super(message, options);
    this.fault = fault;
    this.code = options?.code;
  }
}

/**
 * A put whose time to be signed has passed, so it was not sent (its fault is "throttled": nothing
 * happened). An install itself is fine, and whoever learns anew that it is missing may install it:
 * no reason for a dead letter, nor an error of whoever wanted to read the item.
 */
export class LateSignatureError extends StoreError {
  constructor() {
    // mutant: late-installs-are-rejected
    super("throttled", "the time to sign this put has passed");
  }
}

/**
 * Bytes from the wire that are not a frame of ours. `reason` is stable and is counted by metrics.
 */
export type FrameFault =
  | "not-a-frame"
  | "future-version"
  | "other-hash-secret"
  | "truncated"
  | "trailing-bytes"
  | "oversized"
  | "malformed";

export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly fault: FrameFault;
  constructor(fault: FrameFault, message: string) {
    super(message);
    this.fault = fault;
  }
}
