/**
 * Everything the protocol needs from outside, as interfaces. Adapters live in aws/ (DynamoDB,
 * Kinesis), and run in the simulator too, on models of both; engine/ and functions/ receive them.
 * Each method says what it does when the outcome of a call is unknown, because that is where
 * databases lose money.
 *
 * Errors: adapters retry throttling and connection faults a bounded number of times, then throw
 * `StoreError` (core/errors.ts), whose `fault` is `"unavailable"` (nothing known to have happened
 * or not: ambiguous), `"throttled"` (did not happen) or `"rejected"` (the store refuses this very
 * call for good: validation, missing table, access denied).
 */
import type { AbortedFencesQueue } from "./aborted-fences-port.ts";
import type { KeyHasher } from "./key-hash.ts";
import type { FeedStore } from "./feed-port.ts";
import type { MixedItemStore } from "./mixed-items-port.ts";
import type { ForkPoint, ShardMap } from "./shard-map.ts";
import type { CallOptions, QueryRequest, QueueOptions, ScanRequest } from "./store-calls.ts";
import type {
  Fork,
  Item,
  LogPosition,
  Registry,
  SequenceNumber,
  ShardId,
  ShardNumber,
  TableDescription,
  Takeover,
  Timestamp,
  TransactionId,
  Version,
  WantedTable,
  Watermark,
} from "./types.ts";

export type {
  CallOptions,
  Consumption,
  QueryRequest,
  QueueOptions,
  ScanRequest,
  SortKeyCondition,
} from "./store-calls.ts";

export type Clock = {
  /** Wall-clock milliseconds since the epoch. Differs between machines; never orders commits. */
  nowMs(): number;
  /** Monotonic milliseconds; for durations. */
  monotonicMs(): number;
  /** Resolves after `durationMs`; rejects with the signal's reason when it is aborted. */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>;
};

export type Random = {
  /** Uniform in [0, 1). */
  next(): number;
  /** Cryptographically strong where it matters (transaction ids). */
  bytes(length: number): Uint8Array;
};

/** SHA-256: 32 bytes. */
export type Digest = (bytes: Uint8Array) => Uint8Array;

// --- Commit stream -----------------------------------------------------------------------------

export type StreamRecord = {
  readonly sequenceNumber: SequenceNumber;
  /** Approximate arrival, milliseconds since the epoch (Kinesis has no finer). */
  readonly arrivalMs: number;
  readonly data: Uint8Array;
};

export type PutRecordResult =
  | { readonly kind: "stored"; readonly sequenceNumber: SequenceNumber }
  /** Not stored, certainly. */
  | { readonly kind: "throttled"; readonly cause?: unknown }
  /** Possibly stored. */
  | { readonly kind: "unknown"; readonly cause: unknown };

/** What a read of the stream came to. That nothing was shown is no proof that nothing is there. */
export type StreamRead =
  /** The record that was asked for, and what follows it, in order. */
  | { readonly kind: "found"; readonly records: readonly StreamRecord[] }
  /** The stream has let go of it: what carried it begins with a later record. */
  | { readonly kind: "trimmed" }
  /**
   * It was not shown. `complete`: everything that the stream would show was looked at, up to its
   * end; so a record older than any retention is gone, and of a younger one this says nothing.
   */
  | { readonly kind: "unseen"; readonly complete: boolean };

export type CommitStream = {
  /**
   * Puts records onto one shard; at most 500 and 5 MB, each record ≤ 1 MiB. One result per record,
   * in order of the input; the stream itself keeps no order among them. Never throws for a partial
   * failure.
   */
  put(
    shard: ShardId,
    records: readonly Uint8Array[],
    options?: CallOptions,
  ): Promise<readonly PutRecordResult[]>;
  /**
   * Records from `from` on (inclusive), in order: at most `recordsMax`. A bounded number of calls:
   * what they did not show may be there.
   */
  read(
    shard: ShardId,
    from: SequenceNumber,
    options: CallOptions & { readonly recordsMax: number },
  ): Promise<StreamRead>;
};

// --- Commit log --------------------------------------------------------------------------------

export type StoredBlock = { readonly position: LogPosition; readonly bytes: Uint8Array };

/**
 * Taken: some block stands at the position, this very one included (an earlier try whose answer was
 * lost). Undefined where the store does not say which: then the log has to be read.
 */
export type Appended = "appended" | { readonly taken: StoredBlock | undefined };

export type AppendOptions = CallOptions & {
  /**
   * Wall clock, by which the put must be signed; later it is refused by `LateSignatureError`. The
   * log lets go of its oldest blocks, and a put that came long after would find such a position
   * free.
   */
  readonly signBeforeMs?: number;
  /** Whether a failure is told at once, and not tried again first. */
  readonly once?: boolean;
  /** Milliseconds since the epoch, from which the block's expiry counts; missing: the clock's. */
  readonly dateMs?: number;
};

/** Where the blocks of a log stand that lie at or below its fork. */
export type LogPast = { readonly shard: ShardId; readonly through: LogPosition };

export type CommitLog = {
  /** Puts a block under `attribute_not_exists`. */
  append(shard: ShardId, block: StoredBlock, options?: AppendOptions): Promise<Appended>;
  /**
   * Blocks at positions above `after`, ascending, consistent; one page (at most 1 MB). `complete`
   * is false when the page was cut and more may follow.
   */
  readAfter(
    shard: ShardId,
    after: LogPosition,
    options?: CallOptions,
  ): Promise<{ readonly blocks: readonly StoredBlock[]; readonly complete: boolean }>;
  /**
   * Blocks at positions at or below `from` (or the newest, when undefined), descending; one page.
   */
  readBackward(
    shard: ShardId,
    options: CallOptions & { readonly from?: LogPosition; readonly blocksMax: number },
  ): Promise<readonly StoredBlock[]>;
  /** The block at exactly this position, consistent. */
  readAt(
    shard: ShardId,
    position: LogPosition,
    options?: CallOptions,
  ): Promise<StoredBlock | undefined>;
  /**
   * From now on the log is read with a past: blocks that stand in another one. Said of each shard
   * that was split off, before its log is read (aws/forked-logs.ts).
   */
  continues(shard: ShardId, past: LogPast): void;
  /**
   * Stores a payload's chunks before its request is sent, under a name of its own
   * (core/spill-name.ts). Overwrites: same name, same bytes.
   */
  spill(name: string, chunks: readonly Uint8Array[], options?: CallOptions): Promise<void>;
  /** The chunks in order, or undefined when one is missing. */
  readSpilled(
    name: string,
    chunks: number,
    options?: CallOptions,
  ): Promise<readonly Uint8Array[] | undefined>;
};

// --- User tables -------------------------------------------------------------------------------

/**
 * An item as stored. `item` has the reserved attributes stripped; it is undefined for a tombstone
 * and for an absent item (then `version` is 0 and `tombstone` false).
 */
export type StoredItem = {
  readonly item: Item | undefined;
  readonly version: Version;
  readonly tombstone: boolean;
};

/** Tombstones are part of a page (visibility decides), in key order with the items. */
export type Page = {
  readonly rows: readonly (StoredItem & { readonly key: Item })[];
  readonly lastKey: Item | undefined;
};

export type InstallRequest = {
  readonly table: string;
  readonly key: Item;
  /** Undefined installs a tombstone (key, `_v`, `_x`). */
  readonly item: Item | undefined;
  readonly version: Version;
  /**
   * `"below"`: store if the stored version is lower or absent. A version: store only if exactly
   * that version is stored (0: no `_v` present): tables with history, where the superseded version
   * was saved first. `"below-or-gone"`: store if the stored version is lower, or no item is stored:
   * an item without `_v` stays.
   */
  readonly expects: "below" | "below-or-gone" | Version;
  /**
   * Wall-clock milliseconds after which the call must not be signed any more (docs/protocol.md §7,
   * Deletes): a frozen process that wakes up must not resurrect what the reaper removed. Past it:
   * `LateSignatureError`.
   */
  readonly signBeforeMs: number;
};

export type ItemStore = {
  /** Strongly consistent. */
  get(table: TableDescription, key: Item, options?: CallOptions): Promise<StoredItem>;
  /**
   * Strongly consistent; any number of keys (the adapter cuts into calls of 100); results in input
   * order.
   */
  batchGet(
    keys: readonly { readonly table: TableDescription; readonly key: Item }[],
    options?: CallOptions,
  ): Promise<readonly StoredItem[]>;
  /**
   * Versions only, by projection; input order. An eventually consistent answer costs half, and is a
   * version that the item had at some time: at least that one was installed, since versions never
   * fall (I6).
   */
  versions(
    keys: readonly { readonly table: string; readonly key: Item }[],
    options: CallOptions & { readonly consistency: "strong" | "eventual" },
  ): Promise<readonly Version[]>;
  /** Strongly consistent on the table; eventual on an index. */
  query(request: QueryRequest, options?: CallOptions): Promise<Page>;
  scan(request: ScanRequest, options?: CallOptions): Promise<Page>;
  /** `"superseded"`: the condition failed. Safe to repeat: an install is idempotent. */
  install(request: InstallRequest, options?: CallOptions): Promise<"installed" | "superseded">;
  /** Removes a tombstone if it still is one at exactly this version. */
  removeTombstone(
    request: { readonly table: string; readonly key: Item; readonly version: Version },
    options?: CallOptions,
  ): Promise<"removed" | "kept">;
};

// --- Version store -----------------------------------------------------------------------------

/**
 * A superseded version: what stood at timestamps in `[version, next)`. `item` undefined: nothing
 * did.
 */
export type VersionEntry = {
  readonly table: string;
  readonly key: Item;
  readonly version: Version;
  readonly next: Version;
  readonly item: Item | undefined;
};

export type VersionStore = {
  /**
   * Idempotent: an entry's content is a function of (table, key, version).
   * @param entry `keptMs`: for how long from now it must stay; it may stay longer.
   */
  save(entry: VersionEntry & { readonly keptMs: number }, options?: CallOptions): Promise<void>;
  /** The entry with `version ≤ at < next`, if it is there. */
  find(
    table: string,
    key: Item,
    at: Timestamp,
    options?: CallOptions,
  ): Promise<VersionEntry | undefined>;
};

// --- Control table -----------------------------------------------------------------------------

/** A committed delete whose tombstone the reaper will remove. */
export type Tombstone = { readonly table: string; readonly key: Item; readonly version: Version };

/** What decides how long a tombstone stands: the grace of installs, or that and history. */
export type TombstoneLife = "grace" | "history";

/** Tombstones of one stretch of the log that may go at the same time. */
export type TombstoneBatch = {
  readonly shard: ShardId;
  /** Log position of the newest block that the batch covers; orders the queue. */
  readonly position: LogPosition;
  /** The life of all its tombstones, so that short-lived ones do not wait for long-lived ones. */
  readonly life: TombstoneLife;
  /** Newest version in the batch. */
  readonly through: Timestamp;
  readonly tombstones: readonly Tombstone[];
};

/** A shard's batches in their order: by position, and of one position by life. */
export type TombstoneBatchKey = Pick<TombstoneBatch, "position" | "life">;

/** What of a committed transaction can never be installed, and why; for operators. */
export type DeadLetter = {
  readonly shard: ShardId;
  readonly timestamp: Timestamp;
  readonly id: TransactionId;
  /** Empty, and so is the key, where it was the payload that got lost: then for all its writes. */
  readonly table: string;
  readonly key: Item;
  readonly item: Item | undefined;
  readonly reason: string;
};

export type WatermarkSample = { readonly observedMs: number; readonly timestamp: Timestamp };

/** Turns are numbered from 1 on. They bound how often work is done; no decision relies on them. */
export type HouseTurn = { readonly turn: number; readonly isOver: boolean };

export type ControlStore = AbortedFencesQueue & {
  /**
   * The table that holds idempotency entries (the control table itself), as transactions read and
   * write it: key attributes `pk` and `sk`, both S, no history. Known without a call.
   */
  readonly idempotencyTable: TableDescription;
  readWatermark(shard: ShardId, options?: CallOptions): Promise<Watermark | undefined>;
  /**
   * Only ever forward: keeps the stored one when its position is at or above. Returns whether it
   * moved.
   */
  advanceWatermark(shard: ShardId, watermark: Watermark, options?: CallOptions): Promise<boolean>;
  /** All logs, those of shards that have ended included. */
  shards(options?: CallOptions): Promise<readonly ShardId[]>;
  /**
   * Which shard has which keys; undefined: there is none yet.
   * @throws CorruptDataError for entries that do not fit together.
   */
  shardMap(options?: CallOptions): Promise<ShardMap | undefined>;
  /** Of all that are in the map, have ended, or are about to be split off. */
  shardNumbers(options?: CallOptions): Promise<readonly ShardNumber[]>;
  /**
   * Enters in the map what a fork in a log says. The same again changes nothing.
   * @throws CorruptDataError for a fork that nobody has prepared.
   */
  enterFork(fork: Fork, at: ForkPoint, options?: CallOptions): Promise<void>;
  /**
   * Enters in the map that a log has taken a shard's range. The same again changes nothing.
   * @throws CorruptDataError for one that nobody has prepared.
   */
  enterJoin(
    taken: Takeover,
    by: { readonly heir: ShardNumber; readonly at: LogPosition },
    options?: CallOptions,
  ): Promise<void>;
  /**
   * A new hasher of the shard under the secret of all shards, which never changes, with the shard's
   * past. Known without a call once `shards` has named it.
   * @throws StoreError for a shard that is not there, or not in the map yet.
   */
  keyHasher(shard: ShardId, options?: CallOptions): Promise<KeyHasher>;
  /** The tables and what is kept of their past, in one call. */
  registry(options?: CallOptions): Promise<Registry>;
  tables(options?: CallOptions): Promise<readonly TableDescription[]>;
  /**
   * Enters the table, or changes what may change, and returns what is registered then. From when on
   * it has a history follows from what stood there, and from when that is changed.
   */
  registerTable(table: WantedTable, options?: CallOptions): Promise<TableDescription>;
  /** Changes how long history is kept, on all tables that have one. */
  retainHistory(retentionMs: number, options?: CallOptions): Promise<void>;
  /** Bytes that every instance of a deployment shares (REST token signing); made on first call. */
  secret(name: string, make: () => Uint8Array, options?: CallOptions): Promise<Uint8Array>;

  /** The newest turn at keeping house, of clients where no function does; undefined: none yet. */
  houseTurn(options?: CallOptions): Promise<HouseTurn | undefined>;
  /**
   * Puts a turn where the one numbered `after`, or none, still stands. Returns whether it did;
   * `false` also after a lost answer of its own success.
   */
  putHouseTurn(turn: HouseTurn, after: number | undefined, options?: CallOptions): Promise<boolean>;

  /**
   * `from`: where the stretch of the log begins. The same again overwrites itself; of one that ends
   * there and begins elsewhere the tombstones are added.
   */
  queueTombstones(
    batch: TombstoneBatch & { readonly from: LogPosition },
    options?: CallOptions,
  ): Promise<void>;
  /** Oldest first, those behind the batch `after`; at most one page, and none at the end. */
  queuedTombstones(
    shard: ShardId,
    options?: QueueOptions & { readonly after?: TombstoneBatchKey | undefined },
  ): Promise<readonly TombstoneBatch[]>;
  dropTombstones(
    batch: TombstoneBatchKey & Pick<TombstoneBatch, "shard">,
    options?: CallOptions,
  ): Promise<void>;
  watermarkSamples(shard: ShardId, options?: CallOptions): Promise<readonly WatermarkSample[]>;
  saveWatermarkSamples(
    shard: ShardId,
    samples: readonly WatermarkSample[],
    options?: CallOptions,
  ): Promise<void>;

  saveDeadLetter(letter: DeadLetter, options?: CallOptions): Promise<void>;
};

/**
 * The `Date` of one of the store's answers: milliseconds since the epoch, whole seconds; and this
 * process's monotonic milliseconds when it was asked for, and there.
 */
export type DatedAnswer = {
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly dateMs: number;
};

/** Everything together, as the functions take it. */
export type Ports = {
  readonly clock: Clock;
  readonly random: Random;
  readonly digest: Digest;
  readonly stream: CommitStream;
  readonly log: CommitLog;
  readonly items: ItemStore;
  readonly mixed: MixedItemStore;
  readonly versions: VersionStore;
  readonly control: ControlStore;
};

/**
 * What of it a client needs. Functions alone look at bare versions, and keep the books of replay
 * and of the reaper; an SDK need not carry that. A client appends blocks where it commits express.
 */
export type ClientPorts = Omit<Ports, "log" | "items" | "control"> & {
  readonly log: Pick<CommitLog, "readAfter" | "readAt" | "continues" | "spill" | "readSpilled"> &
    Partial<Pick<CommitLog, "append">>;
  /** Of consumers of changes; loaded with the first of them. */
  readonly feeds?: FeedStore;
  /** Tells of each dated answer from when it resolves on; the last one to ask is told. */
  readonly watchDates?: (tell: (answer: DatedAnswer) => void) => Promise<void>;
  readonly items: Pick<ItemStore, "get" | "batchGet" | "query" | "scan" | "install">;
  readonly control: Pick<
    ControlStore,
    "idempotencyTable" | "readWatermark" | "shards" | "shardMap" | "keyHasher" | "registry"
  >;
};
