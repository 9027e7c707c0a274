/** What calls to a store are given: a part of core/ports.ts. */
import type { CorruptDataError } from "./errors.ts";
import type { Item, TableDescription } from "./types.ts";

/** Read and write capacity that calls consumed, as the store reported it. Adapters add to it. */
export type Consumption = { readUnits: number; writeUnits: number; calls: number };

export type CallOptions = {
  readonly signal?: AbortSignal;
  readonly consumption?: Consumption;
};

/** Of a read of a queue. */
export type QueueOptions = CallOptions & {
  /** Told of each entry that cannot be read, which is left out. Without it the call fails. */
  readonly onDamaged?: ((error: CorruptDataError) => void) | undefined;
};

export type SortKeyCondition =
  | { readonly operator: "=" | "<" | "<=" | ">" | ">="; readonly value: Item[string] }
  | { readonly operator: "between"; readonly low: Item[string]; readonly high: Item[string] }
  | { readonly operator: "begins_with"; readonly value: Item[string] };

export type QueryRequest = {
  readonly table: TableDescription;
  /** Undefined: the table itself. Index reads are eventually consistent. */
  readonly index?:
    | {
        readonly name: string;
        readonly partitionKey: string;
        readonly sortKey?: string | undefined;
      }
    | undefined;
  readonly partitionKey: Item[string];
  readonly sortKey?: SortKeyCondition | undefined;
  readonly descending: boolean;
  /** Items examined per page. */
  readonly limit?: number | undefined;
  readonly startKey?: Item | undefined;
};

export type ScanRequest = {
  readonly table: TableDescription;
  readonly limit?: number | undefined;
  readonly startKey?: Item | undefined;
  readonly segment?: { readonly index: number; readonly total: number };
};
