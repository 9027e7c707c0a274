/** What a change feed gives to an application. */
import type { Timestamp, TransactionId } from "../core/types.ts";
import type { AnyTable, Attributes, KeyOf, KeyValue, RowOf } from "./table.ts";
import type { Transacted, TransactionBody } from "./transaction.ts";

/** What became of one row. */
export type RowChange<Row = Attributes, Key = Attributes> = {
  /** The table's name. */
  readonly table: string;
  /** The key attributes. */
  readonly key: Key;
  /** Undefined: the row was deleted. */
  readonly after: Row | undefined;
  /** With the option `before`. Undefined, too, where nothing stood there. */
  readonly before: Row | undefined;
};

/**
 * All that one transaction has changed, as far as it was asked for. What a BASE transaction has
 * changed comes as one when it is released: before that, nobody else sees it.
 */
export type ChangedRows = {
  /** Behind this transaction: what the option `from` takes. */
  readonly position: string;
  readonly transactionId: TransactionId;
  /** Microseconds: the version of what it has written, and the order of the feed. */
  readonly commitTimestamp: Timestamp;
  /**
   * Of BASE transactions that are released by it, `name/id`: several, if they have seen each
   * other's steps. Then the rows are what these have changed, each once, as they have left it.
   * Empty: of any other transaction.
   */
  readonly bases: readonly string[];
  readonly rows: readonly RowChange[];
  /**
   * The rows of one table, with its types.
   * @example
   * for (const { key, after } of change.of(orders)) console.log(key.customer, after?.totalCents);
   */
  of<T extends AnyTable>(table: T): readonly RowChange<RowOf<T>, KeyAttributes<KeyOf<T>>>[];
};

/** A bare partition key's type does not tell the attribute's name. */
type KeyAttributes<Key> = Key extends KeyValue ? Attributes : Key;

/**
 * The transactions of a deployment in commit order. To be iterated once.
 * @throws ChangesExpiredError, while it is iterated, when log or stream have let go of what follows
 * the position: its `oldest` is one that can be had.
 * @throws UnavailableError: begin again from the last position.
 */
export type Changes = AsyncIterable<ChangedRows> & {
  /**
   * Up to here all was given, also what changes no table that was asked for: to be kept now and
   * then, since a position grows old. Undefined until the feed knows where it begins.
   */
  readonly position: string | undefined;
};

/** What a handler of changes is given beside the change. */
export type FeedContext = {
  /**
   * A transaction that is done once for this change, however often that comes: under an idempotency
   * key made of the consumer's name and the change's position, and so for 24 hours. One for each
   * change.
   * @example
   * await feed.once((tx) =>
   *   tx.update(accounts, "sum", (row) => ({ balanceCents: (row?.balanceCents ?? 0) + 1 })),
   * );
   * @throws InvalidRequestError for another one of the same change; what `transact` throws.
   */
  once<Result>(body: TransactionBody<Result>): Promise<Transacted<Result>>;
};

export type ChangeHandler = (change: ChangedRows, feed: FeedContext) => Promise<void>;
