/**
 * What a transaction has read, as data that its caller carries from call to call (detached.ts). Of
 * mixed tables no timestamp says when it was true, so that it is read again and compared.
 */
import type { SortKeyCondition } from "../../core/ports.ts";
import type {
  AttributeValue,
  Item,
  LogPosition,
  ShardNumber,
  TableDescription,
  Timestamp,
} from "../../core/types.ts";

/** What was read in one shard, of tables that only transactions write. */
export type RememberedPart = {
  readonly shard: ShardNumber;
  /** The newest fork, end or takeover in its log by which it was read there; 0: none. */
  readonly changedAt: LogPosition;
  readonly readTimestamp: Timestamp;
  /** Hashes of keys read, as read set. */
  readonly keys: readonly bigint[];
  /** Hashes of partitions queried and tables scanned. */
  readonly predicates: readonly bigint[];
};

type PageFrom<Table> = {
  readonly table: Table;
  readonly limit?: number | undefined;
  readonly startKey?: Item | undefined;
};

/** What was asked for by a page; by the table's name, where it is remembered. */
export type MixedPageRequest<Table = TableDescription> = PageFrom<Table> &
  (
    | {
        readonly kind: "query";
        readonly partitionKey: AttributeValue;
        readonly sortKey?: SortKeyCondition | undefined;
        readonly descending: boolean;
      }
    | {
        readonly kind: "scan";
        /** Never of what is remembered: REST scans whole tables. */
        readonly segment?: { readonly index: number; readonly total: number };
      }
  );

/** `bytes`: of what was read; `digest`: of its content (schemas/content-digest.ts). */
type RememberedContent = { readonly bytes: number; readonly digest: Uint8Array };

export type RememberedKey = RememberedContent & { readonly table: string; readonly key: Item };

export type RememberedPage = RememberedContent & {
  readonly request: MixedPageRequest<string>;
  readonly rows: number;
  /** Whether there was nothing behind it. */
  readonly isLast: boolean;
};

export type MixedState = {
  readonly keys: readonly RememberedKey[];
  readonly pages: readonly RememberedPage[];
};
