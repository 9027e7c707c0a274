/**
 * The vocabulary of the protocol: identifiers, timestamps, values and the shapes that cross layers.
 * No behaviour beyond trivial constructors. The terms are those of docs/glossary.md.
 */
import type { PlainAbort } from "./verdict-kinds.ts";

declare const brand: unique symbol;
type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };

/**
 * Microseconds since the epoch, a safe integer. Derived by the oracle from the stream's arrival
 * times only (never from a local clock). 0 is "before everything": the version of an item that
 * Tidemark never wrote.
 */
export type Timestamp = Brand<number, "Timestamp">;

/** A version is the commit timestamp of the transaction that wrote it; 0 for a foreign item. */
export type Version = Timestamp;

/** Index of a block in its shard's log. Dense; the first block of a log has position 1. */
export type LogPosition = Brand<number, "LogPosition">;

/**
 * Of a shard, from 0 on and below `limits.shardNumbersMax`: how requests and blocks name each
 * other's logs (docs/adr/0015-many-shards.md).
 */
export type ShardNumber = Brand<number, "ShardNumber">;

/**
 * Name of a shard, and partition key of its log: of the first one as Kinesis spells it
 * (`shardId-000000000000`), of the others `shard-001` and so on.
 */
export type ShardId = Brand<string, "ShardId">;

/**
 * 16 bytes as 32 lower-case hexadecimal digits. The first 7 bytes are the newest timestamp of the
 * log that its maker had seen (so every decision on this id lies above it, which bounds the
 * search for its outcome without trusting a clock); the other 9 commit to a secret of its maker
 * (docs/protocol.md §2, Ids).
 */
export type TransactionId = Brand<string, "TransactionId">;

/** A Kinesis sequence number: a decimal integer without sign; its digits: core/limits.ts. */
export type SequenceNumber = Brand<string, "SequenceNumber">;

/**
 * 64-bit hash of a key, a partition or a table (core/key-hash.ts). The three kinds live in one
 * space, each made under a secret key of its own, so one index serves keys and predicates alike.
 */
export type KeyHash = Brand<bigint, "KeyHash">;

export const timestampZero = 0 as Timestamp;

export type Isolation = "serializable" | "snapshot";

// --- Values ------------------------------------------------------------------------------------

/**
 * A DynamoDB value as the wire protocol and AWS SDK v3 spell it; exactly one member is present.
 * Declared here so that core and schemas need no AWS package; structurally assignable both ways.
 */
export type AttributeValue =
  | { readonly S: string }
  | { readonly N: string }
  | { readonly B: Uint8Array }
  | { readonly BOOL: boolean }
  | { readonly NULL: true }
  | { readonly L: readonly AttributeValue[] }
  | { readonly M: { readonly [name: string]: AttributeValue } }
  | { readonly SS: readonly string[] }
  | { readonly NS: readonly string[] }
  | { readonly BS: readonly Uint8Array[] };

/** An item, or the key part of one. */
export type Item = { readonly [attribute: string]: AttributeValue };

export type KeyType = "S" | "N" | "B";

export type KeyAttribute = { readonly name: string; readonly type: KeyType };

/** The role decides how long a value may be. */
export type IndexKeyAttribute = KeyAttribute & { readonly role: "partition" | "sort" };

/** What installers and readers must know of a user table; kept in the control table's registry. */
export type TableDescription = {
  readonly name: string;
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
  /**
   * Key attributes of the table's secondary indexes. DynamoDB refuses an item in which one has
   * another type or is empty, so such an item could be committed and never installed.
   */
  readonly indexKeys?: readonly IndexKeyAttribute[];
  /** As of the registration: the table may have got others since. For what errors say only. */
  readonly indexNames?: readonly string[];
  /**
   * As of the registration, too, and as it is stored (schemas/described-indexes.ts): only commands
   * inside of transactions ask what an index holds.
   */
  readonly indexDescriptions?: AttributeValue;
  /** Keep superseded versions, so that reads at an older timestamp find them. */
  readonly history: boolean;
  /** From when on there is one; undefined: as far back as it is kept. */
  readonly historySince?: Timestamp;
  /** Wall clock. Where history was switched off, tombstones stay as with one until then. */
  readonly historyKeptUntilMs?: number;
  readonly access: TableAccess;
  /** Undefined: it stays as it is. */
  readonly move?: TableMove;
  /** From when on BASE transactions may use it; undefined: never (core/base-tables.ts). */
  readonly baseSince?: Timestamp;
};

/**
 * Who may write a table's items: transactions alone, or native operations beside them
 * (docs/adr/0014-native-operations.md).
 */
export type TableAccess = "transactional" | "mixed";

/** A table on its way from the one access to the other, or back (core/table-access.ts). */
export type TableMove = { readonly to: TableAccess; readonly stage: MoveStage };

export type MoveStage = "closed" | "guarded" | "sweeping" | "tidying";

/**
 * A table as somebody wants it registered. Undefined is as it stands; of a new table no history,
 * and transactions alone.
 */
export type WantedTable = Omit<
  TableDescription,
  "history" | "historySince" | "historyKeptUntilMs" | "access" | "move" | "baseSince"
> & {
  readonly history: boolean | undefined;
  readonly access: TableAccess | undefined;
  /** For BASE transactions. */
  readonly base?: boolean | undefined;
};

/** How long superseded versions and tombstones are kept on tables with history. */
export type HistoryRetention = {
  readonly retentionMs: number;
  /** Nothing before it is complete: what was kept for a shorter time is gone. 0: all is. */
  readonly since: Timestamp;
  /** What held before the last change, at wall-clock time `changedMs`. */
  readonly previousMs: number;
  readonly changedMs: number;
};

/** What the control table says of the deployment's tables. */
export type Registry = {
  readonly tables: readonly TableDescription[];
  readonly retention: HistoryRetention;
  /** Tables alone: nobody certifies, so clients append to the log themselves (docs/adr/0013). */
  readonly streamless?: boolean;
};

// --- Commit requests ---------------------------------------------------------------------------

/** One buffered write, complete: what an installer needs and nothing else. */
export type Write = {
  /** Index into the payload's tables. */
  readonly table: number;
  /** The key attributes only: one, or two on a table with a sort key. */
  readonly key: Item;
  /** The whole new item without reserved attributes, key attributes included; undefined deletes. */
  readonly item: Item | undefined;
  /**
   * Its transaction has read the item in its table, where a commit had put it (docs/protocol.md §7,
   * Plain writes). Missing: it has not, or nothing is known.
   */
  readonly sawVersion?: true;
};

/** The write payload of a transaction: self-contained, so that replay needs no registry. */
export type Payload = {
  readonly tables: readonly PayloadTable[];
  readonly writes: readonly Write[];
  /**
   * How often its transactions were run in vain before, all together. Missing: never. For whoever
   * looks for what is fought over: nothing is decided by it.
   */
  readonly earlierAttempts?: number;
};

/** A table as the payload names it. Attribute order of a key: partition key, then sort key. */
export type PayloadTable = {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey?: string;
  readonly history: boolean;
  /** Missing: transactions alone write it. */
  readonly isMixed?: true;
  /** Mixed, and a delete leaves a tombstone all the same: the table is on its way. */
  readonly isGuarded?: true;
};

/**
 * A commit request as a client sends it. `commit` asks for certification, `prepare` for a place in
 * the log that is kept until the transaction is decided. `vote` commits what is prepared; `abort`
 * (the probe of `outcome(id)`, and a vote against) asks to abort the id if it is still undecided.
 * What is prepared as a part is closed by its client's `vote`, which says what became of the whole,
 * or by anybody's `settle`: the oracle looks at the other logs. These have neither checks nor
 * payload.
 */
export type CommitRequest = {
  readonly kind: RequestKind;
  readonly id: TransactionId;
  readonly isolation: Isolation;
  /** The client has checked every key in `checks` up to here, this timestamp included. */
  readonly checkedTo: Timestamp;
  /** Hashes that must have no committed write in `(checkedTo, ts)`. */
  readonly checks: readonly KeyHash[];
  readonly payload: PayloadSource;
  /** Of a `vote` alone. */
  readonly vote?: Vote;
  /** Of a `settle` by a block: what all logs say. A stream carries no such word (`Vote`). */
  readonly whole?: WholeOutcome;
  /** Of a `prepare` alone: the transaction's parts, by rising number, that of this log too. */
  readonly parts?: readonly Part[];
};

export type RequestKind = "commit" | "abort" | "prepare" | "vote" | "settle";

/** One shard of a transaction that touches several. */
export type Part = {
  readonly shard: ShardNumber;
  /** The shard's log has decided nothing of the id at or below. */
  readonly from: Timestamp;
  /**
   * Of a transaction that touches mixed tables: the log of its first part decides it, by its vote,
   * and so many of the vote's stamps are for this part. All of its parts have it, or none.
   */
  readonly stamps?: number;
};

/**
 * What became of a transaction with parts: a function of its logs (core/whole-outcome.ts).
 * `timestamp` is the one at which it counts in each of them; `stamps` are those of its vote, if it
 * has one: of all parts, in their order.
 */
export type WholeOutcome =
  | {
      readonly kind: "committed";
      readonly timestamp: Timestamp;
      readonly stamps?: readonly Stamp[];
    }
  | { readonly kind: "aborted" };

/** For the commit of a prepared transaction, by its own client. */
export type Vote = {
  /** Nine bytes that the id commits to (schemas/transaction-id.ts). */
  readonly proof: Uint8Array;
  readonly stamps: readonly Stamp[];
  /** On a part: what became of the whole. */
  readonly whole?: WholeOutcome;
};

/**
 * What an install replaces: the identity of an item of a mixed table as its fence has found or made
 * it (docs/adr/0014-native-operations.md).
 */
export type Stamp =
  | { readonly kind: "nonce"; readonly nonce: Uint8Array }
  | { readonly kind: "version"; readonly version: Version };

/** That a commit is installed, by one who has its id's proof. */
export type InstalledReport = { readonly timestamp: Timestamp; readonly proof: Uint8Array };

/**
 * The payload as a request carries it: encoded bytes, or a reference to chunks of the log table.
 */
export type PayloadSource =
  | { readonly kind: "none" }
  | { readonly kind: "inline"; readonly bytes: Uint8Array }
  | {
      readonly kind: "spilled";
      readonly chunks: number;
      readonly byteLength: number;
      /** SHA-256 of the encoded payload: the chunks lie where other clients can write. */
      readonly digest: Uint8Array;
    };

// --- Log blocks --------------------------------------------------------------------------------

/**
 * How far into the stream a log reaches: every request of the records before `sequenceNumber`, and
 * of that record the first `requestsDone` (`"all"` once it is finished). A record with many
 * requests may be cut over several blocks.
 */
export type StreamCursor = {
  readonly sequenceNumber: SequenceNumber;
  readonly requestsDone: number | "all";
};

/** Where the payload of a committed transaction lies. */
export type PayloadLocation =
  | {
      readonly kind: "stream";
      readonly sequenceNumber: SequenceNumber;
      readonly requestIndex: number;
    }
  | {
      readonly kind: "spilled";
      readonly chunks: number;
      readonly byteLength: number;
      /** SHA-256 of the encoded payload: the chunks lie where other clients can write. */
      readonly digest: Uint8Array;
    }
  | { readonly kind: "inline"; readonly bytes: Uint8Array }
  /** Where that of the prepared verdict on the same id lies, which the block there holds. */
  | { readonly kind: "prepared"; readonly position: LogPosition }
  /** Of a part that writes nothing. */
  | { readonly kind: "none" };

/**
 * The hashes of one committed write. `partition` equals `key` on a table without a sort key.
 * `sortKey` is the encoded sort-key value (schemas/attribute-value), carried by the block so that a
 * query knows, from its tail alone, whether a write that is not installed yet lies in its range.
 * Undefined on a table without a sort key, and where it is longer than
 * `limits.blockSortKeyBytesMax` (readers then wait for the watermark). A block stores it instead of
 * the key hash, which follows from partition and sort key.
 */
export type WriteHashes = {
  readonly table: KeyHash;
  readonly partition: KeyHash;
  readonly key: KeyHash;
  readonly sortKey: Uint8Array | undefined;
};

export type AbortReason =
  | { readonly kind: "conflict"; readonly check: number; readonly conflictTimestamp: Timestamp }
  | { readonly kind: PlainAbort };

export type CommittedVerdict = {
  readonly kind: "committed";
  readonly id: TransactionId;
  /** At which it counts: the version of what it writes. */
  readonly timestamp: Timestamp;
  /**
   * Of a part: where it stands in this log, at or above `timestamp`; of all others they are the
   * same. Whoever has seen the log up to here has seen the commit (core/decision.ts, placeOf).
   */
  readonly placed?: Timestamp;
  readonly writes: readonly WriteHashes[];
  readonly payload: PayloadLocation;
  /**
   * Of one by vote: for each write of a mixed table, in the payload's order; where the log decides
   * for several parts, those of the others follow.
   */
  readonly stamps?: readonly Stamp[];
};

export type AbortedVerdict = {
  readonly kind: "aborted";
  readonly id: TransactionId;
  readonly timestamp: Timestamp;
  readonly reason: AbortReason;
};

/** I3: at most one per id. */
export type Decision = CommittedVerdict | AbortedVerdict;

/**
 * A place in the log, certified as a commit is, and not decided: the id's next verdict decides it.
 * Until then its checks bar writers, and its writes bar readers and writers
 * (core/open-transactions.ts). Its timestamp is not that of the commit.
 */
export type PreparedVerdict = {
  readonly kind: "prepared";
  readonly id: TransactionId;
  readonly timestamp: Timestamp;
  readonly checks: readonly KeyHash[];
  readonly writes: readonly WriteHashes[];
  readonly payload: Exclude<PayloadLocation, { kind: "prepared" }>;
  /**
   * It is a part of a transaction in so many logs, and committed if each of them holds its part
   * prepared, or by the vote in the log of the first: its next verdict in another log only enters
   * what became of it.
   */
  readonly parts?: readonly Part[];
  /** Of one that a vote decides: whose log has prepared it, before this one was split off that. */
  readonly of?: ShardNumber;
};

/** What the sender of a request waits for: of one to prepare, that it is prepared. */
export type Answer = Decision | PreparedVerdict;

/**
 * The oracle's answer to one request. `stale` and `busy` decide nothing: the sender of a stale one
 * extends its check and sends again; that of a busy one brings about what becomes of `inTheWay`,
 * and sends again.
 */
export type Verdict =
  | Decision
  | PreparedVerdict
  | { readonly kind: "stale"; readonly id: TransactionId }
  | { readonly kind: "busy"; readonly id: TransactionId; readonly inTheWay: TransactionId };

/** An unsigned 32-bit integer that a process draws at random. It proves nothing. */
export type MakerNumber = Brand<number, "MakerNumber">;

/** The client that made a block, and what it says it has installed, by rising timestamp. */
export type BlockMaker = {
  readonly number: MakerNumber;
  readonly installed: readonly InstalledReport[];
};

/**
 * One item of the log: the verdicts of one oracle batch, in stream order; or what a client has
 * certified of its own (docs/adr/0013-express-commit.md).
 */
export type LogBlock = {
  readonly position: LogPosition;
  /** `throughTimestamp` of the block before. */
  readonly previousTimestamp: Timestamp;
  /**
   * Newest timestamp handed out when the block was made; equals `previousTimestamp` if it decided
   * nothing. Every verdict's timestamp lies in `(previousTimestamp, throughTimestamp]`.
   */
  readonly throughTimestamp: Timestamp;
  /**
   * How far into the stream the log reaches with this block; unchanged by one not from the stream.
   */
  readonly cursor: StreamCursor | undefined;
  /** Arrival of the last record covered, milliseconds since the epoch. */
  readonly arrivalMs: number;
  /** Records that could not be decoded and were skipped in this block. */
  readonly rejectedRecords: number;
  /**
   * Missing in an oracle's block. A client's decides nothing of the stream: its cursor is that of
   * the block before, and no payload of its commits lies there; an oracle's has none inline.
   */
  readonly maker?: BlockMaker;
  /** The oldest block with a verdict that is prepared and open where this block begins. */
  readonly oldestOpen?: LogPosition;
  /** From here on the log's range is smaller (docs/protocol.md §10, Splitting a shard). */
  readonly fork?: Fork;
  /** A step by which the shard is joined to a neighbour (docs/protocol.md §10, Joining shards). */
  readonly handover?: Handover;
  readonly verdicts: readonly Verdict[];
};

/**
 * The upper part of a shard's range goes on in another log: hashes of partitions from `from` on, up
 * to where the range ended.
 */
export type Fork = { readonly shard: ShardNumber; readonly from: number };

/**
 * How a shard's range passes to its neighbour below. Its log is `closing`, and takes nothing new
 * but outcomes; has `ended`, and has no range; and the neighbour's `takes` it.
 */
export type Handover =
  | { readonly kind: "closing" }
  | { readonly kind: "ended" }
  | ({ readonly kind: "takes" } & Takeover);

export type Takeover = {
  readonly shard: ShardNumber;
  /** The block by which its log has ended, and how far that reaches. */
  readonly endedAt: LogPosition;
  readonly endedThrough: Timestamp;
  /** Its range; it ends where that of the log ends that has it now: up to 2 ** 32. */
  readonly from: number;
  readonly to: number;
};

/** A log's past in others: up to and including `through` its blocks stand in that shard's log. */
export type Lineage = readonly { readonly shard: ShardNumber; readonly through: LogPosition }[];

// --- Watermark ---------------------------------------------------------------------------------

/**
 * A shard's entry in the control table. I7: every committed write with ts ≤ `timestamp` is
 * installed.
 */
export type Watermark = {
  readonly position: LogPosition;
  readonly timestamp: Timestamp;
  /**
   * The log's cursor at `position`, so that a log whose blocks have all expired can still go on.
   */
  readonly cursor: StreamCursor | undefined;
  /** The newest fork, end or takeover at or below `position`: a map without it is old. */
  readonly forkedAt?: LogPosition;
};
