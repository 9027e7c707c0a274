/**
 * What a transaction's body works with: typed rows over the engine's items. Everything that makes a
 * transaction one (own writes, read set, conflicts, closing) is the engine's; here values are
 * converted, and what a body leaves unfinished is found (updates: row-updates.ts).
 */
import { commandSupport } from "../aws/command-support.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { Timestamp } from "../core/types.ts";
import type { PageRequest, RowPage, Receipt } from "../engine/types.ts";
import { checkOptions } from "./check-options.ts";
import {
  type QueryOptions,
  querySpec,
  type Rows,
  RowStream,
  scanChecks,
  type ScanOptions,
} from "./query.ts";
import { asObject } from "./row-codec.ts";
import { assertTable, type RowReader } from "./row-reader.ts";
import type { Change, RowUpdates } from "./row-updates.ts";
import type { AnyTable, InputOf, KeyInput, KeyOf, KeyValue, RowOf, Table } from "./table.ts";

/** Typed tables and keys to one typed row each. */
export type BatchRows<Tables extends readonly AnyTable[]> = {
  -readonly [Index in keyof Tables]: RowOf<Tables[Index]> | undefined;
};

/** Consistent reads at one timestamp: what a snapshot offers, and a transaction as well. */
export type Snapshot = {
  /**
   * Microseconds. Everything read is as of here; it may rise as long as nothing read has changed.
   */
  readonly readTimestamp: Timestamp;
  /** Which run of the body this is, from 1. */
  readonly attempt: number;
  /**
   * One row, or undefined.
   * @throws ConflictError when another transaction has overwritten something read before: let it
   * pass, the
   *   body runs again.
   * @throws InvalidRequestError for an unknown table or a key that does not fit.
   * @example
   * const row = await tx.get(accounts, "ann");
   * const order = await tx.get(orders, { customer: "ann", order: "7" });
   */
  get<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): Promise<RowOf<T> | undefined>;
  /**
   * Many rows in few calls, in the order asked for; undefined where there is none. Either keys of
   * one table, or pairs of table and key, typed one by one.
   * @example
   * const [ann, bob] = await tx.batchGet(accounts, ["ann", "bob"]);
   * const [from, order] = await tx.batchGet([
   *   [accounts, "ann"],
   *   [orders, { customer: "ann", order: "7" }],
   * ]);
   */
  batchGet<T extends AnyTable>(
    table: T,
    keys: readonly KeyInput<KeyOf<T>>[],
  ): Promise<(RowOf<T> | undefined)[]>;
  batchGet<Tables extends readonly AnyTable[] | readonly [AnyTable]>(requests: {
    readonly [Index in keyof Tables]: readonly [
      table: Tables[Index],
      key: KeyInput<KeyOf<Tables[Index]>>,
    ];
  }): Promise<BatchRows<Tables>>;
  /**
   * Rows of one partition in sort-key order; protected against phantoms.
   * @example const ofAnn = await tx.query(orders, { where: { customer: "ann" } }).all();
   */
  query<T extends AnyTable>(table: T, options: QueryOptions<T>): Rows<RowOf<T>>;
  /**
   * Rows of the whole table, in no particular order; protected against phantoms.
   * @example
   * for await (const { id, balanceCents } of tx.scan(accounts)) console.log(id, balanceCents);
   */
  scan<T extends AnyTable>(table: T, options?: ScanOptions<T>): Rows<RowOf<T>>;
};

/**
 * A read-write transaction. Writes are buffered, seen by its own later reads, and reach the tables
 * only if the whole transaction commits. **A body that returns commits what it has put**, whatever
 * it returns. Two ways out write nothing: `return tx.rollback(result)` gives the caller a result,
 * and a thrown error reaches the caller as it is.
 */
export type Transaction = Snapshot & {
  /**
   * Stores a whole row, replacing any that stands there.
   * @throws InvalidRequestError, TransactionTooLargeError, TransactionClosedError, at once.
   * @example
   * tx.put(accounts, { id: "ann", balanceCents: 100 });
   * tx.put(accounts, "bob", { balanceCents: 100 });
   */
  put<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>, item: InputOf<T>): void;
  put<Item extends object, Key extends object, Input extends object>(
    table: Table<Item, Key, Input, string>,
    row: Key extends KeyValue ? never : Input & Key,
  ): void;
  /**
   * Reads a row and stores what a function makes of it. The function gets undefined if there is no
   * row (and may create one), and leaves everything as it is by returning undefined. It must not be
   * asynchronous. Or merges a patch into the row; without a row a patch does nothing. Where the row
   * cannot be read the transaction fails, even if the body catches the error or does not wait for
   * it.
   * @returns the row as it stands afterwards; undefined if there is none.
   * @example
   * await tx.update(accounts, "ann", (row) => row && { balanceCents: row.balanceCents + 1 });
   * await tx.update(accounts, "bob", { balanceCents: 0 });
   */
  update<T extends AnyTable>(
    table: T,
    key: KeyInput<KeyOf<T>>,
    change: Change<T>,
  ): Promise<RowOf<T> | undefined>;
  /**
   * Deletes a row, whether or not it is there.
   * @example tx.delete(orders, { customer: "ann", order: "7" });
   */
  delete<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): void;
  /**
   * Discards all writes of the transaction, and passes its argument through, to be returned:
   * `return tx.rollback("sold out")`. The call returns it, and nothing is written nor kept under an
   * idempotency key. The body may still read; a later write throws `TransactionClosedError`, and
   * returning anything else is an `InvalidRequestError`.
   * @example
   * const { result } = await db.transact(async (tx) => {
   *   const row = await tx.get(accounts, "ann");
   *   const balanceCents = (row?.balanceCents ?? 0) - 500;
   *   tx.put(accounts, "ann", { balanceCents });
   *   return balanceCents < 0 ? tx.rollback("too little") : "paid";
   * });
   */
  rollback(): undefined;
  rollback<const Result>(result: Result): Result;
  /**
   * Answers a command of the AWS SDK (`@aws-sdk/client-dynamodb` or `@aws-sdk/lib-dynamodb`) that
   * reads or writes items, as the plugin of `tidemark/client` does, which has to be imported.
   * @throws the AWS SDK's own errors, such as ConditionalCheckFailedException.
   * @throws ConflictError and others as `get` and `put` do. InvalidRequestError for a command that
   * a transaction cannot answer.
   * @example
   * const key = { id: { S: "ann" } };
   * const { Item } = await tx.send(new GetItemCommand({ TableName: "accounts", Key: key }));
   */
  send<Command extends SdkCommand>(command: Command): Promise<SdkOutput<Command>>;
  /** A client for code that is given one: its `send` is the transaction's. */
  readonly client: SdkClient;
};

/** What the AWS SDK's commands have in common. */
export type SdkCommand = {
  readonly input: object;
  resolveMiddleware(...given: never): (...args: never) => Promise<object>;
};

/** What a command is answered with. */
export type SdkOutput<Command extends SdkCommand> =
  Awaited<ReturnType<ReturnType<Command["resolveMiddleware"]>>> extends {
    readonly output: infer Output;
  }
    ? Output
    : never;

export type SdkClient = {
  send<Command extends SdkCommand>(command: Command): Promise<SdkOutput<Command>>;
};

export class ReadHandle<Reading extends RowReader = RowReader> implements Snapshot {
  readonly attempt: number;
  protected readonly rows: Reading;
  /** Reads by key that the body has begun and that have not come back. */
  protected readsUnderWay = 0;

  constructor(rows: Reading, attempt: number) {
    this.rows = rows;
    this.attempt = attempt;
  }

  get readTimestamp(): Timestamp {
    return this.rows.items.readTimestamp;
  }

  get<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): Promise<RowOf<T> | undefined> {
    return this.#underWay(this.#get(table, key));
  }

  async #get<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): Promise<RowOf<T> | undefined> {
    const rows = this.rows;
    return rows.row(table, await rows.read(table, rows.keyItem(table, key)));
  }

  batchGet<T extends AnyTable>(
    table: T,
    keys: readonly KeyInput<KeyOf<T>>[],
  ): Promise<(RowOf<T> | undefined)[]>;
  batchGet<Tables extends readonly AnyTable[] | readonly [AnyTable]>(requests: {
    readonly [Index in keyof Tables]: readonly [
      table: Tables[Index],
      key: KeyInput<KeyOf<Tables[Index]>>,
    ];
  }): Promise<BatchRows<Tables>>;
  batchGet(
    first: AnyTable | readonly (readonly [AnyTable, unknown])[],
    keys?: readonly unknown[],
  ): Promise<unknown[]> {
    return this.#underWay(this.#batchGet(first, keys));
  }

  async #batchGet(
    first: AnyTable | readonly (readonly [AnyTable, unknown])[],
    keys: readonly unknown[] | undefined,
  ): Promise<unknown[]> {
    const rows = this.rows;
    const requests = isPairs(first)
      ? first
      : checkedKeys(keys).map((key): readonly [AnyTable, unknown] => [first, key]);
    const items = await rows.readAll(
      requests.map(([table, key]) => ({ table, key: rows.keyItem(table, key) })),
    );
    return requests.map(([table], index) => rows.row(table, items[index]));
  }

  query<T extends AnyTable>(table: T, options: QueryOptions<T>): Rows<RowOf<T>> {
    assertTable(table);
    const { items } = this.rows;
    const spec = querySpec(this.rows, table, options);
    return this.#stream(table, options, (page) => items.queryPage(table.name, spec, page));
  }

  scan<T extends AnyTable>(table: T, options: ScanOptions<T> = {}): Rows<RowOf<T>> {
    assertTable(table);
    checkOptions("", options, scanChecks);
    const { items } = this.rows;
    return this.#stream(table, options, (page) => items.scanPage(table.name, {}, page));
  }

  #stream<T extends AnyTable>(
    table: T,
    { index, filter }: ScanOptions<T> & { readonly index?: string },
    fetch: (page: PageRequest) => Promise<RowPage>,
  ): Rows<RowOf<T>> {
    const { rows } = this;
    return new RowStream<RowOf<T>>({
      table,
      index,
      filter,
      fetch: (page) => rows.page(table, () => fetch(page)),
      decode: (item) => rows.codec.decode(table, item),
    });
  }

  /**
   * A body may begin two reads and wait for one after the other. If a conflict ends both, the
   * second one's rejection has no handler of the body's yet, and Node would end the process,
   * although the transaction is about to be retried; so it has one here.
   */
  #underWay<T>(read: Promise<T>): Promise<T> {
    this.readsUnderWay += 1;
    const back = (): void => {
      this.readsUnderWay -= 1;
    };
    read.then(back, back);
    return read;
  }
}

export class TransactionHandle extends ReadHandle<RowUpdates> implements Transaction {
  /** What the body rolled back with, and so must return. */
  #rolledBack: { readonly result: unknown } | undefined;

  put<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>, item: InputOf<T>): void;
  put<Item extends object, Key extends object, Input extends object>(
    table: Table<Item, Key, Input, string>,
    row: Key extends KeyValue ? never : Input & Key,
  ): void;
  put(table: AnyTable, ...given: readonly unknown[]): void {
    // A row is its own key; encodeAt refuses a validator that changes it.
    const [key, item] = given.length < 2 ? [asObject(given[0], "item"), given[0]] : given;
    const { rows } = this;
    const keyItem = rows.keyItem(table, key);
    rows.items.put(table.name, rows.codec.encodeAt(table, keyItem, asObject(item, "item")));
    rows.supersede(table, keyItem);
  }

  delete<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): void {
    const { rows } = this;
    const keyItem = rows.keyItem(table, key);
    rows.items.delete(table.name, keyItem);
    rows.supersede(table, keyItem);
  }

  update<T extends AnyTable>(
    table: T,
    key: KeyInput<KeyOf<T>>,
    change: Change<T>,
  ): Promise<RowOf<T> | undefined> {
    return this.rows.update(table, key, change);
  }

  rollback(): undefined;
  rollback<const Result>(result: Result): Result;
  rollback(result?: unknown): unknown {
    this.rows.items.rollback();
    this.#rolledBack = { result };
    this.rows.abandon();
    return result;
  }

  send<Command extends SdkCommand>(command: Command): Promise<SdkOutput<Command>> {
    const answer = this.#send(command);
    // As of reads: a conflict may reject it before the body waits for it.
    answer.catch(() => undefined);
    return answer;
  }

  async #send<Command extends SdkCommand>(command: Command): Promise<SdkOutput<Command>> {
    const support = commandSupport();
    if (support === undefined) {
      throw new InvalidRequestError("send", "call `tidemarkPlugin()` of tidemark/client first");
    }
    return support.send(this.rows.items, command) as Promise<SdkOutput<Command>>;
  }

  get client(): SdkClient {
    return { send: (command) => this.send(command) };
  }

  /**
   * Waits for updates that the body began and did not wait for.
   * @param result what the body has returned.
   * @throws what fails the transaction (RowUpdates.settled); InvalidRequestError where the body
   * rolled back and returns something else, or did not wait for a read: what it has made of the row
   * is made of a promise.
   */
  async settled(result: unknown): Promise<void> {
    const rolledBack = this.#rolledBack;
    if (this.readsUnderWay > 0 && rolledBack === undefined) {
      throw new InvalidRequestError(
        "body",
        "the body returned while a read was under way; is an `await` missing?",
      );
    }
    await this.rows.settled();
    // A caller would take the other result for one of a commit.
    if (rolledBack !== undefined && !Object.is(await rolledBack.result, result)) {
      throw new InvalidRequestError("result", "rolled back; the body must `return tx.rollback(…)`");
    }
  }
}

function isPairs(
  value: AnyTable | readonly unknown[],
): value is readonly (readonly [AnyTable, unknown])[] {
  return Array.isArray(value);
}

function checkedKeys(keys: readonly unknown[] | undefined): readonly unknown[] {
  if (Array.isArray(keys)) return keys;
  throw new InvalidRequestError("keys", "`batchGet` takes a table and an array of keys, or pairs");
}

/** May run several times: it touches the outside world only through the transaction. */
export type TransactionBody<Result> = (transaction: Transaction) => Promise<Result>;
export type SnapshotBody<Result> = (snapshot: Snapshot) => Promise<Result>;

export type Transacted<Result> = { readonly result: Result; readonly receipt: Receipt };
