/**
 * What a process knows of its own transactions while they are under way, and does with it: the seam
 * between the engine and its chains. The engine calls what is written here. engine/chaining
 * implements it on top of the engine: a part on demand that a process may do without (ADR 9, 11).
 */
import type { CallOptions, StoredItem } from "../../core/ports.ts";
import type { TransactionReads } from "../../core/transaction-reads.ts";
import type { Isolation, Item, KeyHash, Verdict } from "../../core/types.ts";
import type { CommitServices } from "./commit-services.ts";
import type { CommitId, CommitName, SentCommit } from "./commit-under-way.ts";
import type { ReadKey } from "../reading/read-key.ts";
import type { WriteBuffer } from "../attempts/write-buffer.ts";

/** A transaction at its end, by itself so far. */
export type Sealed = CommitId & {
  readonly isolation: Isolation;
  readonly reads: TransactionReads;
  readonly writes: WriteBuffer;
  /** Called if it joins others, right before they take its writes over. */
  readonly joins: (name: CommitName) => void;
};

export interface OwnCommits {
  /** How an attempt reads what the process is about to write. */
  reads(options: {
    readonly reads: TransactionReads;
    readonly call: CallOptions;
    /** Monotonic time at which the call began, all its attempts together. */
    readonly sinceMs: number;
    /** Told of an item by its identity: a commit had put it where it was read. */
    readonly noteVersioned: (identity: string) => void;
    /** Told of the conflict that ends the attempt; gives what to throw. */
    readonly doom: (error: Error) => Error;
  }): OwnReads;
  /** Sends on its way what has read from the tables alone, in the caller's turn. */
  commit(services: CommitServices, sealed: Sealed): SentCommit;
  /** What was committed there last, and may still be on its way into the table. */
  committed(key: ReadKey): StoredItem | undefined;
  /** Whoever comes to the item next takes turns. */
  noteConflict(key: KeyHash): void;
  /** Takes in the next verdict of the log. */
  fold(verdict: Verdict): void;
  /** Every call has ended, and what they left running. */
  close(): void;
}

/** One attempt's side of it. */
export interface OwnReads {
  /** Whether it has read what is not decided yet. */
  readonly isChained: boolean;
  /** Whether others of this process are about to write there, or have met conflicts there. */
  isContended(key: ReadKey): boolean;
  /** Waits for this process's turn among the processes, then for the turn within this one. */
  takeTurn(key: ReadKey): Promise<void>;
  /**
   * The item as an undecided commit is about to leave it; undefined: there is none to rely on.
   * @throws ConflictError
   */
  chain(key: ReadKey): { readonly item: Item | undefined } | undefined;
  /** Resolves once nobody of this process is about to write there, as far as is known now. */
  localDecided(key: ReadKey): Promise<void>;
  /** @throws ConflictError when what it has read from an undecided commit cannot be relied on. */
  assertChained(): void;
  /** Makes sure of all that it has read, in the caller's turn. @throws ConflictError */
  seal(): void;
  /** Waits until all that it has read is committed. @throws ConflictError */
  settle(): Promise<void>;
  /** Sends it on its way with those from which it has read, in the caller's turn, and ends. */
  commit(services: CommitServices, sealed: Sealed): SentCommit;
  /** Lets others have their turns. */
  close(): void;
}
