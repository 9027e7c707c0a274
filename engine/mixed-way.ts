/**
 * What transactions do with tables that others write, too (docs/adr/0014-native-operations.md): the
 * seam between the engine and engine/mixed, a part on demand that a process may do without.
 */
import type { ItemAddress } from "../core/mixed-items-port.ts";
import type { CallOptions, Consumption, Digest, QueryRequest, ScanRequest } from "../core/ports.ts";
import type { Tail } from "../core/tail.ts";
import type { ReadConflict, TransactionReads } from "../core/transaction-reads.ts";
import type {
  CommittedVerdict,
  Isolation,
  Item,
  KeyHash,
  Stamp,
  TableDescription,
  TransactionId,
} from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import type { ReadKey } from "./reading/read-key.ts";
import type { MixedState } from "./attempts/remembered-state.ts";
import type { CallEvent } from "./types.ts";
import type { WriteBuffer } from "./attempts/write-buffer.ts";

/** Rows in the store's order; `lastKey` is where the next page begins. */
export type MixedRows = {
  readonly rows: readonly { readonly key: Item; readonly item: Item }[];
  readonly lastKey: Item | undefined;
};

/** What one attempt reads of mixed tables: as it is now, and made sure of when the attempt ends. */
export interface MixedReads {
  /** Keys and predicates. */
  readonly size: number;
  /** Takes over what the transaction has read in calls before. */
  remember(state: MixedState, describe: (table: string) => TableDescription): void;
  /**
   * Reads again what was read in calls before, from which on it is as if read in this one.
   * @throws ConflictError, and the attempt is over.
   */
  recall(options: CallOptions): Promise<void>;
  /**
   * Of this call and of those before; undefined: nothing was read.
   * @throws TransactionTooLargeError when it is more than can be read again.
   */
  state(digest: Digest): MixedState | undefined;
  /** One item as it stands; joins the read set. */
  get(key: ReadKey): Promise<Item | undefined>;
  /** @param joins false: a page that was read covers them. */
  batchGet(
    keys: readonly ReadKey[],
    how: { readonly joins: boolean },
  ): Promise<readonly (Item | undefined)[]>;
  queryPage(request: Omit<QueryRequest, "index">): Promise<MixedRows>;
  scanPage(request: ScanRequest): Promise<MixedRows>;
  /**
   * Makes sure that all that the attempt has read, of other tables too, was true at one moment. Due
   * before anything may leave the attempt but through its commit.
   * @throws ConflictError, and the attempt is over.
   */
  end(): Promise<void>;
  /** The same of an attempt that has read in several shards. @param views all of its shards. */
  endInShards(views: readonly SharedView[]): Promise<void>;
  /** What it has read so far, as tails know it. */
  readonly hashes: readonly KeyHash[];
  /**
   * Reads all of it again.
   * @throws ConflictError where it is not as it was read, and the attempt is over; StoreError.
   */
  compare(): Promise<void>;
  /** Rows of a page that the attempt has read by another shard's view lie in this one, too. */
  noteScanned(table: TableDescription): void;
}

/** A view that an attempt has beside others. */
export type SharedView = AttemptView & {
  readonly mixed: MixedReads | undefined;
  extendToEnd(): Promise<void>;
  /** Brings about what becomes of open transactions. */
  settle(ids: readonly TransactionId[]): Promise<void>;
};

/**
 * What an attempt at its end asks the stores of mixed tables in one shard, once it has its place in
 * the log: fences first, and when those of all shards stand, what it has only read once more.
 */
export interface NativeChecks {
  /** What nobody may write once it is prepared, and what to call it. */
  readonly checks: readonly (readonly [KeyHash, ReadConflict["read"]])[];
  /** How many items it fences: those that it writes. */
  readonly fences: number;
  /** What it has read as a commit had left it, and another one has written since. */
  overtaken(tail: Tail): ReadConflict | undefined;
  /**
   * The stamps of the fences, in the payload's order.
   * @param how.sentMs wall clock, before it was first asked for its place.
   * @throws ConflictError, UnavailableError, StoreError.
   */
  fence(
    id: TransactionId,
    how: { readonly sentMs: number; readonly call: CallOptions },
  ): Promise<readonly Stamp[]>;
  /**
   * Reads again what is not fenced.
   * @throws ConflictError where it is not as it was read; StoreError.
   */
  compare(id: TransactionId, call: CallOptions): Promise<void>;
  /**
   * Once all shards have read again: whether fences stand on rows that pages cover and nobody read.
   * @throws ConflictError where one does not; StoreError.
   */
  compareRows(id: TransactionId, call: CallOptions): Promise<void>;
  /** Takes away what it has fenced, where it is aborted. Never rejects. */
  cleanUp(id: TransactionId): Promise<void>;
}

/** An attempt's view (read-view.ts), as far as mixed tables go. */
export interface AttemptView {
  readonly isolation: Isolation;
  /** What it has read of the other tables. */
  readonly reads: TransactionReads;
  readonly tail: Tail;
  readonly hashes: KeyHashes;
  readonly call: CallOptions;
  assertOpen(): void;
  refuseBelowTail(): void;
  doom(error: Error): Error;
  ready(): Promise<void>;
  settleChained(): Promise<void>;
  seal(): void;
  sealForCommit(): void;
}

/** An attempt at its end that writes something, and has touched a mixed table. */
export type MixedAttempt = {
  readonly view: AttemptView;
  readonly writes: WriteBuffer;
  readonly id: TransactionId;
  /** What the id commits to: its vote shows it. */
  readonly proof: Uint8Array;
  /** What the proof is the digest of: shown to replay once its writes are installed. */
  readonly secret: Uint8Array;
};

export type MixedServices = {
  readonly call: {
    readonly signal: AbortSignal;
    readonly options: CallOptions;
    readonly consumption: Consumption;
  };
  readonly freshMs: number;
  readonly emit: ((event: CallEvent) => void) | undefined;
  /** Work that outlives the call; `close` waits for it. */
  readonly background: Set<Promise<void>>;
};

/** How a transaction over mixed tables was committed. */
export type MixedCommit =
  | {
      readonly kind: "logged";
      readonly verdict: CommittedVerdict;
      /** Whether every write reached its table; never rejects. */
      readonly installed: Promise<boolean>;
    }
  /** By one write of its one item: the log knows nothing of it. */
  | { readonly kind: "local"; readonly transactionId: TransactionId };

/** A shard's session, as far as mixed tables go. */
export interface MixedWay {
  /**
   * What a native write needs that meets a fence: it is settled, or taken away.
   * @returns whether one stood there.
   * @throws StoreError, CorruptDataError.
   */
  clearFence(at: ItemAddress, options?: CallOptions): Promise<boolean>;
  reads(view: AttemptView): MixedReads;
  /** Of an attempt that touches other shards, too. @param writes those in this one. */
  checks(view: AttemptView, writes: WriteBuffer): NativeChecks;
  /** @throws what `CommitUnderWay.follow` throws. */
  commit(services: MixedServices, attempt: MixedAttempt): Promise<MixedCommit>;
}
