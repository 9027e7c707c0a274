/**
 * The second way to a verdict: a block of the process's own. The seam between the engine and
 * engine/express, a part on demand that a process may do without (ADR 11, 13).
 */
import type { UnavailableError } from "../core/errors.ts";
import type { CallOptions, StoredItem } from "../core/ports.ts";
import type { TailCommit } from "../core/tail.ts";
import type { KeyRead } from "../core/transaction-reads.ts";
import type {
  Answer,
  CommitRequest,
  KeyHash,
  LogBlock,
  TableDescription,
  TransactionId,
  WriteHashes,
} from "../core/types.ts";
import type { Found } from "./log/log-searches.ts";
import type { ReadKey } from "./reading/read-key.ts";
import type { FoldedBlock } from "./log/tail-follower.ts";
import type { CommitWay } from "./types.ts";

/** A read of what another commit of the process is about to write. */
export type UndecidedRead = {
  readonly key: KeyHash;
  readonly from: TransactionId;
  readonly read: KeyRead;
};

/** Commits of the process that a request has read from (chaining/commit-group.ts). */
export type Predecessors = {
  /**
   * What it has read from those that are not decided. A block takes it behind them; no oracle does,
   * before they are.
   */
  undecidedReads(): readonly UndecidedRead[];
  /** Whether all that it has read from them is checked like what it has read from the tables. */
  readonly areSettled: boolean;
  predecessorsDecided(signal: AbortSignal): Promise<void>;
};

/** One request, as the settler has it. */
export type ExpressWish = {
  readonly request: CommitRequest;
  /** What the payload writes, in its order; missing: it aborts an id that somebody asks for. */
  readonly writes?: () => readonly WriteHashes[];
  readonly predecessors?: Pick<Predecessors, "undecidedReads"> | undefined;
  /** Whether a copy of it may have been sent before. */
  readonly resend: boolean;
  readonly onSent: OnSent;
  /** A block that commits it is on its way, or certainly none is any more. */
  readonly onWay: (mayCome: boolean) => void;
  /** A put of its block failed, or nobody knows: for whoever gives up to say why. */
  readonly onTrouble: (cause: unknown) => void;
  /** What the log says of its id, up to the tail's end. */
  readonly search: { look(): Found };
  /** Checks what it has read up to the tail's end; throws if that has been overtaken. */
  readonly recheck: () => void;
  /** Throws if its tables have changed since it wrote to them: no oracle asks that of a block. */
  readonly recheckTables?: () => void;
  readonly signal: AbortSignal;
  readonly call: CallOptions;
};

/**
 * Why no block takes a request now, where nothing else is there that could; it may be tried again.
 * @param last what the request has failed with so far.
 * @throws InvalidRequestError where no block of this process is ever taken.
 */
export type WithoutStream = (last: unknown) => UnavailableError;

type InlinePayload = Extract<CommitRequest["payload"], { readonly kind: "inline" }>;

export interface ExpressWay {
  /** Whether a request would be taken up now. */
  readonly isReady: boolean;
  /**
   * Whether the tail most likely ends where the log does, though nobody has looked of late: one may
   * begin and commit by it (express/lone-writer.ts).
   */
  readonly isAlone: boolean;
  /** What the store answered, if it has denied this process's newest block. */
  readonly denied: unknown;
  /**
   * Resolves when a wish would travel with the next block, with what to call once it is told, or
   * there is none; at once where no wish would be taken up.
   */
  board(signal: AbortSignal): Promise<() => void>;
  /**
   * Its decision; undefined: it goes by the stream, and `onWay` has said what may be on its way.
   * @throws what its `recheck` throws, when nothing of it is on its way; and the signal's reason.
   */
  settle(wish: ExpressWish): Promise<Answer | undefined>;
  /**
   * That the tables are as the registry has them now.
   * @throws TableRefusedError, and the body runs again.
   */
  refuseChanged(written: Iterable<TableDescription>): void;
  /** Whether a block has room for a payload that writes this. */
  takes(payload: InlinePayload, writes: readonly WriteHashes[]): boolean;
  /**
   * What a committed write has left of an item, where its block says so; undefined: it does not, or
   * the write is another item's.
   */
  written(commit: TailCommit, key: ReadKey): StoredItem | undefined;
  /** A try of a transaction has ended, by whichever way. */
  tried(end: TryEnd): void;
  /** A block of the log was folded. */
  saw(block: LogBlock, as: FoldedBlock): void;
}

/** By a commit, by another's, or by neither: what only reads says nothing of the ways to commit. */
export type TryEnd = "commit" | "conflict" | "neither";

export type OnSent = (id: TransactionId, how: SentHow) => void;
export type SentHow = { readonly resend: boolean; readonly via: CommitWay };
