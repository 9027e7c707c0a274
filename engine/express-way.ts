/**
 * The second way to a verdict: a block of the process's own. The seam between the engine and
 * engine/express, a part on demand that a process may do without (ADR 11, 13).
 */
import type { CallOptions } from "../core/ports.ts";
import type { KeyHash, LogBlock, TransactionId, WriteHashes } from "../core/types.ts";
import type { Decision, Found } from "./log-searches.ts";

/** A transaction to be committed. */
export type ExpressRequest = {
  readonly id: TransactionId;
  /** Keys, partitions and tables in which nothing may have been written since. */
  readonly checks: readonly KeyHash[];
  /** In the payload's order. */
  readonly writes: readonly WriteHashes[];
  /** Encoded (schemas/payload.ts); it lies in the block. */
  readonly payload: Uint8Array;
};

/** One that wants into the next block. */
export type ExpressBid = ExpressRequest & {
  /** What the log says of its id, up to the tail's end. */
  readonly look: () => Found;
  /** Checks what it has read up to the tail's end; throws if that has been overtaken. */
  readonly recheck: () => void;
  /** A block that commits it is on its way, or certainly none is any more. */
  readonly onWay: (isOpen: boolean) => void;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly call: CallOptions;
};

export type ExpressAnswer =
  | { readonly kind: "decided"; readonly decision: Decision }
  /** It goes by the stream. What may be on its way of it, `onWay` has said. */
  | { readonly kind: "by-stream" };

export interface ExpressWay {
  /** Whether a bid would be taken up now. */
  readonly isReady: boolean;
  /**
   * Resolves when the log is known to say what became of it, or it has to go by the stream.
   * @throws what its `recheck` throws, when nothing of it is on its way; and the signal's reason.
   */
  commit(bid: ExpressBid): Promise<ExpressAnswer>;
  /** A block of the log was folded. @param others its decisions that nobody here waits for. */
  saw(block: LogBlock, others: number): void;
}
