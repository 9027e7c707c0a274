/**
 * Items of mixed tables on which a transaction that was aborted may yet leave a fence: a part of
 * core/ports.ts. Replay takes the fences away that it finds, and queues their items for the reaper,
 * which looks once more when no call of that transaction can come any more
 * (docs/adr/0014-native-operations.md, Replay).
 */
import type { CallOptions, QueueOptions } from "./store-calls.ts";
import type { Item, ShardId, Timestamp, TransactionId } from "./types.ts";

/** A transaction that writes to several tables, or many items, has several of these. */
export type AbortedFences = {
  readonly shard: ShardId;
  /** Of the abort. */
  readonly through: Timestamp;
  readonly id: TransactionId;
  readonly part: number;
  readonly table: string;
  readonly keys: readonly Item[];
};

/** Items of one table, by their keys. */
export type FencedItems = Pick<AbortedFences, "id" | "table" | "keys">;

/** In their order: by `through`, then id and part. */
export type AbortedFencesKey = Pick<AbortedFences, "shard" | "through" | "id" | "part">;

export type AbortedFencesQueue = {
  /** The same again overwrites itself. */
  queueFences(fences: AbortedFences, options?: CallOptions): Promise<void>;
  /** Oldest first, those behind `after`; at most one page, and none at the end. */
  queuedFences(
    shard: ShardId,
    options?: QueueOptions & { readonly after?: AbortedFencesKey | undefined },
  ): Promise<readonly AbortedFences[]>;
  dropFences(fences: AbortedFencesKey, options?: CallOptions): Promise<void>;
};
