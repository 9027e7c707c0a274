/**
 * The engine's contract with its two users, the SDK and the REST service: options, receipts,
 * events, and the transaction as both see it, in DynamoDB-typed items. What is typed, marshalled
 * or sugared lies above; what is pure lies in core/.
 */
import type { Consumption, SortKeyCondition } from "../core/ports.ts";
import type { ConflictDetail } from "../core/errors.ts";
import type { NativeSupport } from "../core/native-support.ts";
import type {
  AttributeValue,
  Isolation,
  Item,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../core/types.ts";
import type { BaseEngine, LooksAtBases } from "./base/types.ts";
import type {
  Changes,
  ChangesOptions,
  CommittedChanges,
  ConsumeOptions,
  FeedRound,
} from "./changes/types.ts";
import type { MixedState, RememberedPart } from "./attempts/remembered-state.ts";

/** When `transact` resolves: after every write reached its table, or as soon as the log has it. */
export type Acknowledgement = "installed" | "certified";

/** How long a call may go on. */
export type CallBounds = {
  /** Runs of the body, the first included; conflicts are retried up to here. Default 10. */
  readonly attemptsMax?: number;
  /** From the call to its end, all attempts together. Default 30,000. */
  readonly deadlineMs?: number;
  /** Ends the call when it is aborted. */
  readonly signal?: AbortSignal;
};

export type TransactOptions = CallBounds & {
  /**
   * With `"snapshot"` write skew is possible, and reads never conflict. Default `"serializable"`.
   */
  readonly isolation?: Isolation;
  /** A repeat within 24 h returns the first result instead of running the body. */
  readonly idempotencyKey?: string;
  /** With `"certified"` it returns once the commit is certain. Default `"installed"`. */
  readonly ack?: Acknowledgement;
};

export type SnapshotOptions = CallBounds & {
  /**
   * By how much it may be behind what was acknowledged before the call. Above 0 a read may skip the
   * refresh of the tail. Default 0.
   */
  readonly maxStalenessMs?: number;
  /** Read the state at exactly this timestamp, from history. Excludes `maxStalenessMs`. */
  readonly asOf?: Timestamp;
};

/** Milliseconds spent per phase; of the last attempt, `retryMs` of all before it. */
export type Phases = {
  readonly retryMs: number;
  /** Reads and the caller's own code. */
  readonly bodyMs: number;
  /** From sending to the verdict; 0 for a read-only transaction. */
  readonly certifyMs: number;
  readonly installMs: number;
};

export type Receipt = {
  /** Undefined when nothing had to be committed (read-only). Of a `local` one no log tells. */
  readonly transactionId: TransactionId | undefined;
  /**
   * Undefined when nothing had to be committed: then `readTimestamp` is the place in the serial
   * order. Undefined, too, of a `local` one, whose place is that of its write at its item.
   */
  readonly commitTimestamp: Timestamp | undefined;
  /**
   * Among the transactions that share id and commit timestamp, from 0 on: concurrent transactions
   * of one process that read what the ones before them wrote are certified as one, and stand in the
   * serial order one directly after another.
   */
  readonly place: number;
  readonly readTimestamp: Timestamp;
  readonly attempts: number;
  readonly consumed: Consumption;
  readonly phases: Phases;
  /**
   * False when installs are still under way or were left to replay, and in a replayed receipt,
   * where nobody looks; the commit stands either way.
   */
  readonly installed: boolean;
  /**
   * Present when one conditional write of the one item of a mixed table that it has touched was the
   * whole commit (docs/adr/0014-native-operations.md, Local commit).
   */
  readonly local?: true;
  /** True when an earlier call with the same idempotency key did the work. */
  readonly replayed: boolean;
  /** For a replayed `DetachedTransaction.commit`: the `recordedResult` that the first call gave. */
  readonly recordedResult?: AttributeValue;
};

/** By a block of the process's own, or by the stream and its oracle (docs/adr/0013). */
export type CommitWay = "express" | "stream";
export type CommitPreference = CommitWay | "auto";

/** A step of a BASE transaction. */
export type BaseStepName = { readonly base: string; readonly name: string };

/** What happens in a call of `transact` or `snapshot`, and for BASE transactions. */
export type CallEvent =
  /** Before anything else. `committed` or `call-failed` ends it. */
  | {
      readonly kind: "call-started";
      /** `"base"`: a step of a BASE transaction, or without `step` the upkeep of its records. */
      readonly operation: "transact" | "snapshot" | "base";
      readonly isolation: Isolation;
      readonly step: BaseStepName | undefined;
    }
  | { readonly kind: "attempt-started"; readonly attempt: number; readonly isolation: Isolation }
  /**
   * The body has returned: what it has written is certified next, or that it has not is known.
   * `reads` counts the keys and ranges that it has read.
   */
  | {
      readonly kind: "body-ended";
      readonly attempt: number;
      readonly reads: number;
      readonly writes: number;
    }
  | {
      readonly kind: "attempt-aborted";
      readonly attempt: number;
      readonly transactionId: TransactionId | undefined;
      readonly reason: "conflict" | "snapshot-too-old" | "unavailable" | "body-threw" | "deadline";
      readonly detail: ConflictDetail | undefined;
      /** Found on the tail, before anything was sent. */
      readonly early: boolean;
    }
  | {
      readonly kind: "sent";
      readonly transactionId: TransactionId;
      readonly resend: boolean;
      readonly via: CommitWay;
    }
  /**
   * It will be certified together with another one of this process, under that one's id; instead of
   * `sent`.
   */
  | { readonly kind: "joined"; readonly transactionId: TransactionId; readonly place: number }
  /**
   * The log has it; none of its writes has been sent to its table yet. Once for all that are
   * certified as one.
   */
  | {
      readonly kind: "certified";
      readonly transactionId: TransactionId;
      readonly commitTimestamp: Timestamp;
      readonly via: CommitWay;
    }
  | { readonly kind: "committed"; readonly receipt: Receipt }
  | { readonly kind: "unknown"; readonly transactionId: TransactionId }
  /** It ends without a commit that it knows of, by this error. */
  | { readonly kind: "call-failed"; readonly error: unknown }
  /**
   * Its writes are in their tables; not `whole`: some were left to replay. With `ack: "certified"`
   * after `committed`.
   */
  | {
      readonly kind: "installed";
      readonly transactionId: TransactionId;
      readonly whole: boolean;
    }
  | {
      readonly kind: "install-left";
      readonly transactionId: TransactionId;
      readonly cause: unknown;
    };

/** What happened, for hooks, logs and metrics. Nothing is built without a listener. */
export type EngineEvent =
  /** `call` tells a process's calls apart; of those certified as one it is that of the first. */
  | (CallEvent & { readonly call: number })
  /** The process may not put blocks: for some minutes, its commits go by the stream. */
  | { readonly kind: "express-denied"; readonly cause: unknown }
  /** A turn of this client's at keeping house has ended (`housekeeping` of `createClient`). */
  | { readonly kind: "house-kept" }
  /** It did not end well: another client's, or the next one, goes on. */
  | { readonly kind: "housekeeping-failed"; readonly cause: unknown }
  | { readonly kind: "helped"; readonly transactionId: TransactionId; readonly writes: number };

export type QuerySpec = {
  /**
   * Undefined: the table itself. The caller names the key attributes, since the registry knows
   * tables only; `sortKey` is needed with a sort-key condition.
   */
  readonly index?:
    | {
        readonly name: string;
        readonly partitionKey: string;
        readonly sortKey?: string | undefined;
      }
    | undefined;
  readonly partitionKey: AttributeValue;
  readonly sortKey?: SortKeyCondition | undefined;
  readonly descending?: boolean;
};

/**
 * A segment is one of `total` parts that together are the table, as DynamoDB divides it. Rows that
 * the transaction itself has added are shown by the first one.
 */
export type ScanSpec = {
  readonly segment?: { readonly index: number; readonly total: number } | undefined;
};

/** `limit` bounds the rows examined; `cursor` is where the page before ended. */
export type PageRequest = {
  readonly limit?: number | undefined;
  readonly cursor?: Item | undefined;
};

/** A page of visible rows. `cursor` goes back in to get the next one; undefined at the end. */
export type RowPage = { readonly rows: readonly Item[]; readonly cursor: Item | undefined };

/** Reads, as both a transaction and a read-only snapshot offer them. */
export type Reader = {
  readonly readTimestamp: Timestamp;
  /**
   * What the registry says of a table, from memory: it was read before the body ran.
   * @throws InvalidRequestError for an unknown table.
   */
  describe(table: string): TableDescription;
  /**
   * @throws ConflictError when no timestamp exists at which this read and the earlier ones agree.
   * @throws InvalidRequestError for an unknown table or a key that does not fit its schema.
   */
  get(table: string, key: Item): Promise<Item | undefined>;
  batchGet(
    keys: readonly { readonly table: string; readonly key: Item }[],
  ): Promise<readonly (Item | undefined)[]>;
  /** `limit` bounds the rows examined by one page, as DynamoDB does. */
  queryPage(table: string, query: QuerySpec, page: PageRequest): Promise<RowPage>;
  scanPage(table: string, scan: ScanSpec, page: PageRequest): Promise<RowPage>;
};

export type Writer = {
  /**
   * Buffers the whole item (key attributes included, reserved attributes refused); validated at
   * once.
   * @throws InvalidRequestError, TransactionTooLargeError, TransactionClosedError, synchronously.
   */
  put(table: string, item: Item): void;
  delete(table: string, key: Item): void;
};

export type EngineTransaction = Reader & Writer;

/** What a body has that runs until it commits. */
export type BodyTransaction = EngineTransaction & {
  /**
   * Discards the writes, for good: the body may read on, and the call returns its result as that of
   * a transaction which only read. Nothing is recorded under an idempotency key.
   * @throws TransactionClosedError once the body has returned; and from then on `put` and `delete`.
   */
  rollback(): void;
  /**
   * Ends the attempt with this error, whatever the body makes of it: it cannot commit, and runs
   * again if the error is worth that. Without effect once the body has returned.
   */
  doom(error: unknown): void;
};

/**
 * What an interactive REST transaction carries between calls, as plain data: where it stands and
 * what it has read. The service signs and encodes it; writes come with the commit.
 */
export type TransactionState = {
  /** 32 hexadecimal digits, made with it: a state and its successors commit at most once. */
  readonly name: string;
  readonly isolation: Isolation;
  /** Wall-clock, for the age limit. */
  readonly startedMs: number;
  /**
   * By rising shard: that of a deployment with one; of several, those in which it has read. Each
   * has a read timestamp of its own.
   */
  readonly parts: readonly RememberedPart[];
  /** What was read of mixed tables; undefined: nothing. */
  readonly mixed: MixedState | undefined;
};

export type Outcome =
  | { readonly kind: "committed"; readonly commitTimestamp: Timestamp }
  | { readonly kind: "aborted" };

/** Transactions in closures, which everybody has who runs any. */
export type TransactionEngine = {
  /**
   * Runs the body until it commits. The body may run several times. The codec is
   * used only with an idempotency key, to keep the first result.
   */
  transact<Result>(
    options: TransactOptions,
    body: (transaction: BodyTransaction) => Promise<Result>,
    codec?: ResultCodec<Result>,
  ): Promise<{ readonly result: Result; readonly receipt: Receipt }>;
  snapshot<Result>(
    options: SnapshotOptions,
    body: (snapshot: Reader) => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly receipt: Receipt }>;

  /**
   * Settles an id for good: an undecided one is aborted. `SnapshotTooOldError` beyond the log's
   * retention.
   */
  outcome(
    id: TransactionId,
    options?: { readonly deadlineMs?: number; readonly signal?: AbortSignal },
  ): Promise<Outcome>;
  /** Waits for installs under way, stops polling. Later calls throw `TransactionClosedError`. */
  close(): Promise<void>;
};

/** As the SDK has it. */
export type ClientEngine = TransactionEngine & {
  /** What is committed, from a position on. */
  changes(options: ChangesOptions): Promise<Changes>;
  /** The same for a consumer whose position the deployment keeps. */
  consume(
    options: ConsumeOptions,
    handle: (changes: CommittedChanges, at: FeedRound) => Promise<void>,
  ): Promise<void>;
  /** BASE transactions. */
  base(): Promise<BaseEngine<BodyTransaction>>;
  /** For native operations beside transactions. */
  readonly native: NativeSupport;
};

/** As the REST service has it. */
export type Engine = TransactionEngine & {
  /** BASE transactions, whose handlers are elsewhere. */
  bases(): Promise<LooksAtBases>;
  /** Interactive use without a closure: one attempt, no retries (the REST service). */
  begin(options: {
    readonly isolation: Isolation;
    readonly signal?: AbortSignal;
  }): Promise<DetachedTransaction>;
  resume(
    state: TransactionState,
    options: { readonly signal?: AbortSignal },
  ): Promise<DetachedTransaction>;
  /** The commit that the state, or one before or after it, has led to, if there is one. */
  committedAs(
    state: TransactionState,
    options: { readonly signal?: AbortSignal },
  ): Promise<TransactionId | undefined>;
};

export type DetachedTransaction = EngineTransaction & {
  /**
   * Makes sure that all that was read so far was true at one moment, where that is not known: of
   * several shards. Due before any of it is let out, and before an error that rests on it.
   * @throws ConflictError, and the attempt is over.
   */
  endReads(): Promise<void>;
  state(): TransactionState;
  /**
   * `recordedResult` is kept under the idempotency key; a repeat finds it in its receipt.
   * @throws AlreadyCommittedError when the state has been committed before; ConflictError when that
   * happens at the same time. One that writes nothing may be committed again and again.
   */
  commit(
    options: Pick<TransactOptions, "ack" | "deadlineMs" | "idempotencyKey" | "signal"> & {
      readonly recordedResult?: AttributeValue;
    },
  ): Promise<Receipt>;
  /**
   * Lets go of what the process keeps for it. Harmless after `commit`; due when the caller goes on
   * elsewhere.
   */
  close(): void;
};

export type ResultCodec<Result> = {
  encode(result: Result): AttributeValue;
  decode(value: AttributeValue): Result;
};
