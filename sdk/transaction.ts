/**
 * What a transaction's body works with: typed rows over the engine's items. Everything that makes a
 * transaction one (own writes, read set, conflicts, closing) is the engine's; here values are
 * converted, and two ways to lose a write inside one body are closed:
 *
 * - operations on one row take effect in the order of their calls, even when the body starts them
 *   together: an update that is still reading stores nothing over a later put or delete;
 * - a body that ends before its updates did is not committed before they are through.
 */
import { InvalidRequestError, TransactionClosedError } from "../core/errors.ts";
import type { Item, Timestamp } from "../core/types.ts";
import { publicError } from "../engine/public-error.ts";
import type { BodyTransaction, Reader, RowPage } from "../engine/types.ts";
import { withCaller } from "./caller.ts";
import { checkOptions } from "./check-options.ts";
import { keyText } from "./cursor.ts";
import {
  type QueryOptions,
  querySpec,
  type Rows,
  RowStream,
  scanChecks,
  type ScanOptions,
} from "./query.ts";
import type { RowCodec } from "./row-codec.ts";
import type { AnyTable, InputOf, KeyInput, KeyOf, KeyValue, Patch, RowOf, Table } from "./table.ts";

/** Typed tables and keys to one typed row each. */
export type BatchRows<Tables extends readonly AnyTable[]> = {
  -readonly [Index in keyof Tables]: RowOf<Tables[Index]> | undefined;
};

/** What `tx.update` takes: a function of the current row, or attributes to merge into it. */
export type Change<T extends AnyTable> =
  ((current: RowOf<T> | undefined) => InputOf<T> | undefined) | Patch<InputOf<T>>;

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
   */
  get<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): Promise<RowOf<T> | undefined>;
  /**
   * Many rows in few calls, in the order asked for; undefined where there is none. Either keys of
   * one table, or pairs of table and key, typed one by one.
   * @example const [from, order] = await tx.batchGet([[accounts, "a"], [orders, { customer, order
   * }]]);
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
  /** Rows of one partition in sort-key order; protected against phantoms. */
  query<T extends AnyTable>(table: T, options: QueryOptions<T>): Rows<RowOf<T>>;
  /** Rows of the whole table, in no particular order; protected against phantoms. */
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
   */
  update<T extends AnyTable>(
    table: T,
    key: KeyInput<KeyOf<T>>,
    change: Change<T>,
  ): Promise<RowOf<T> | undefined>;
  /** Deletes a row, whether or not it is there. */
  delete<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): void;
  /**
   * Discards all writes of the transaction, and passes its argument through, to be returned:
   * `return tx.rollback("sold out")`. The call returns it, and nothing is written nor kept under an
   * idempotency key. The body may still read; a later write throws `TransactionClosedError`, and
   * returning anything else is an `InvalidRequestError`.
   */
  rollback(): undefined;
  rollback<const Result>(result: Result): Result;
};

type KeyRequest = { readonly table: AnyTable; readonly key: Item };

/** A row with updates under way. */
type UpdatedRow = {
  readonly table: string;
  /** As the last update called so far leaves it; rejects only where it cannot be read. */
  last: Promise<Item | undefined>;
  /** The body has written the row since: what the updates make of it is not stored. */
  isSuperseded: boolean;
};

export class ReadHandle implements Snapshot {
  readonly attempt: number;
  protected readonly codec: RowCodec;
  /** Reads by key that the body has begun and that have not come back. */
  protected readsUnderWay = 0;
  readonly #reader: Reader;

  constructor(reader: Reader, { attempt, codec }: { attempt: number; codec: RowCodec }) {
    this.#reader = reader;
    this.attempt = attempt;
    this.codec = codec;
  }

  get readTimestamp(): Timestamp {
    return this.#reader.readTimestamp;
  }

  get<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): Promise<RowOf<T> | undefined> {
    return this.#underWay(this.#get(table, key));
  }

  async #get<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): Promise<RowOf<T> | undefined> {
    return this.decoded(table, await this.readItem(table, this.keyItem(table, key)));
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
    const requests = isPairs(first)
      ? first
      : checkedKeys(keys).map((key): readonly [AnyTable, unknown] => [first, key]);
    const items = await this.readItems(
      requests.map(([table, key]) => ({ table, key: this.keyItem(table, key) })),
    );
    return requests.map(([table], index) => this.decoded(table, items[index]));
  }

  query<T extends AnyTable>(table: T, options: QueryOptions<T>): Rows<RowOf<T>> {
    assertTable(table);
    const spec = querySpec({ table, reader: this.#reader, codec: this.codec }, options);
    return new RowStream<RowOf<T>>({
      table,
      index: options.index,
      filter: options.filter,
      fetch: (page) => this.page(table, () => this.#reader.queryPage(table.name, spec, page)),
      decode: (item) => this.row(table, item),
    });
  }

  scan<T extends AnyTable>(table: T, options: ScanOptions<T> = {}): Rows<RowOf<T>> {
    assertTable(table);
    checkOptions("", options, scanChecks);
    return new RowStream<RowOf<T>>({
      table,
      index: undefined,
      filter: options.filter,
      fetch: (page) => this.page(table, () => this.#reader.scanPage(table.name, {}, page)),
      decode: (item) => this.row(table, item),
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

  protected keyItem(table: AnyTable, key: unknown): Item {
    assertTable(table);
    return this.codec.key(table, this.#reader.describe(table.name), key);
  }

  protected readItem(table: AnyTable, key: Item): Promise<Item | undefined> {
    return reported(this.#reader.get(table.name, key));
  }

  protected readItems(requests: readonly KeyRequest[]): Promise<readonly (Item | undefined)[]> {
    const keys = requests.map(({ table, key }) => ({ table: table.name, key }));
    return reported(this.#reader.batchGet(keys));
  }

  protected page(_table: AnyTable, fetch: () => Promise<RowPage>): Promise<RowPage> {
    return reported(fetch());
  }

  /** The row's type is the table definition's word, checked where the table validates reads. */
  protected row<T extends AnyTable>(table: T, item: Item): RowOf<T> {
    return this.codec.decode(table, item) as RowOf<T>;
  }

  protected decoded<T extends AnyTable>(table: T, item: Item | undefined): RowOf<T> | undefined {
    return item === undefined ? undefined : this.row(table, item);
  }
}

export class TransactionHandle extends ReadHandle implements Transaction {
  readonly #transaction: BodyTransaction;
  /** Rows with updates under way, by key. */
  readonly #rows = new Map<string, UpdatedRow>();
  /** Updates under way, as the body holds them. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** Why updates could not read their rows. With any of these the transaction cannot commit. */
  readonly #readFailures: Error[] = [];
  /** What the body rolled back with, and so must return. */
  #rolledBack: { readonly result: unknown } | undefined;

  constructor(
    transaction: BodyTransaction,
    options: { readonly attempt: number; readonly codec: RowCodec },
  ) {
    super(transaction, options);
    this.#transaction = transaction;
  }

  put<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>, item: InputOf<T>): void;
  put<Item extends object, Key extends object, Input extends object>(
    table: Table<Item, Key, Input, string>,
    row: Key extends KeyValue ? never : Input & Key,
  ): void;
  put(table: AnyTable, ...given: readonly unknown[]): void {
    const [keyOrRow, item] = given;
    if (given.length < 2) {
      // The row is its own key; encodeAt refuses a validator that changes it.
      const row = asObject(keyOrRow, "item");
      this.#put(table, this.keyItem(table, row), row);
      return;
    }
    this.#put(table, this.keyItem(table, keyOrRow), asObject(item, "item"));
  }

  #put(table: AnyTable, key: Item, item: object): void {
    this.#transaction.put(table.name, this.codec.encodeAt(table, key, item));
    this.#supersede(table, key);
  }

  delete<T extends AnyTable>(table: T, key: KeyInput<KeyOf<T>>): void {
    const keyItem = this.keyItem(table, key);
    this.#transaction.delete(table.name, keyItem);
    this.#supersede(table, keyItem);
  }

  /**
   * A write of the whole row comes after the updates of it that were called before: those still
   * give what they would have stored, and store nothing.
   */
  #supersede(table: AnyTable, key: Item): void {
    const row = this.#rowOf(table, key);
    if (row === undefined) return;
    row.isSuperseded = true;
    this.#rows.delete(keyText(table.name, key));
  }

  /** The row, if updates of it are under way. */
  #rowOf(table: AnyTable, key: Item): UpdatedRow | undefined {
    return this.#rows.size === 0 ? undefined : this.#rows.get(keyText(table.name, key));
  }

  /** As the updates leave it that were called before. */
  protected override readItem(table: AnyTable, key: Item): Promise<Item | undefined> {
    return this.#rowOf(table, key)?.last ?? super.readItem(table, key);
  }

  protected override async readItems(
    requests: readonly KeyRequest[],
  ): Promise<readonly (Item | undefined)[]> {
    const updated = requests.map(({ table, key }) => this.#rowOf(table, key)?.last);
    const read = super.readItems(requests.filter((_, at) => updated[at] === undefined));
    const items = await Promise.all([read, ...updated]);
    const rest = items[0][Symbol.iterator]();
    return updated.map((row, at) =>
      row === undefined ? rest.next().value : (items[at + 1] as Item | undefined),
    );
  }

  protected override async page(table: AnyTable, fetch: () => Promise<RowPage>): Promise<RowPage> {
    const rows = [...this.#rows.values()].filter((row) => row.table === table.name);
    if (rows.length > 0) await Promise.allSettled(rows.map(({ last }) => last));
    return super.page(table, fetch);
  }

  rollback(): undefined;
  rollback<const Result>(result: Result): Result;
  rollback(result?: unknown): unknown {
    this.#transaction.rollback();
    this.#rolledBack = { result };
    this.abandon();
    return result;
  }

  update<T extends AnyTable>(
    table: T,
    key: KeyInput<KeyOf<T>>,
    change: Change<T>,
  ): Promise<RowOf<T> | undefined> {
    const run = async (): Promise<RowOf<T> | undefined> => {
      try {
        return await this.#inTurn(table, key, change);
      } catch (error) {
        // What the body has not come to wait for must not end the process where the transaction
        // fails anyway. Other failures are the body's: one that it ignores must stay an unhandled
        // rejection, not vanish.
        if (!this.#isFatal(error)) throw withCaller(error);
        update.catch(() => undefined);
        throw error;
      } finally {
        this.#underWay.delete(update);
      }
    };
    const update = run();
    this.#underWay.add(update);
    return update;
  }

  #isFatal(error: unknown): boolean {
    return error instanceof TransactionClosedError || this.#readFailures.includes(error as Error);
  }

  /** Updates of one row run one after another; each has what the one before leaves. */
  async #inTurn<T extends AnyTable>(
    table: T,
    key: KeyInput<KeyOf<T>>,
    change: Change<T>,
  ): Promise<RowOf<T> | undefined> {
    const keyItem = this.keyItem(table, key);
    const text = keyText(table.name, keyItem);
    const current = this.#readForUpdate(table, keyItem);
    const row = this.#rows.get(text) ?? { table: table.name, last: current, isSuperseded: false };
    const changed = current.then((item) => this.#changed(table, { key: keyItem, item }, change));
    const stored = changed.then((item) => {
      if (item !== undefined && !row.isSuperseded) this.#transaction.put(table.name, item);
      return item;
    });
    // Where an update fails the row stays as it is; what could not be read nobody goes on with.
    const last = stored.then(
      async (item) => item ?? current,
      () => current,
    );
    last.catch(() => undefined);
    row.last = last;
    this.#rows.set(text, row);
    try {
      const item = await stored;
      return this.decoded(table, item ?? (await current));
    } finally {
      if (row.last === last && !row.isSuperseded) this.#rows.delete(text);
    }
  }

  /** What the change makes of the row; undefined leaves it as it is. */
  #changed(
    table: AnyTable,
    { key, item }: { readonly key: Item; readonly item: Item | undefined },
    change: Change<AnyTable>,
  ): Item | undefined {
    if (typeof change !== "function") {
      const patch = asObject(change, "change");
      return item && this.codec.encodePatched(table, { key, item }, patch);
    }
    const next: unknown = change(this.decoded(table, item));
    if (next === undefined) return undefined;
    if (next instanceof Promise) {
      next.catch(() => undefined); // Refused below; how it ends does not matter.
      throw new InvalidRequestError("change", "the function of an update must not be asynchronous");
    }
    return this.codec.encodeAt(table, key, asObject(next, "item"));
  }

  async #readForUpdate(table: AnyTable, key: Item): Promise<Item | undefined> {
    try {
      return await this.readItem(table, key);
    } catch (error) {
      this.#readFailures.push(error as Error);
      throw error;
    }
  }

  /**
   * The body has failed or rolled back, and the transaction with it: updates under way end with it.
   * That is no failure of their own, and nobody is left to hear of it; Node would end the process
   * over an unhandled rejection.
   */
  abandon(): void {
    for (const update of this.#underWay) update.catch(() => undefined);
  }

  /**
   * Waits for updates that the body began and did not wait for: they belong to the transaction.
   * @param result what the body has returned.
   * @throws the first failure among them, or why an earlier update could not read its row;
   * InvalidRequestError where the body rolled back and returns something else, or did not wait for
   * a read: what it has made of the row is made of a promise.
   */
  async settled(result: unknown): Promise<void> {
    const rolledBack = this.#rolledBack;
    if (this.readsUnderWay > 0 && rolledBack === undefined) {
      throw new InvalidRequestError(
        "body",
        "the body returned while a read was under way; is an `await` missing?",
      );
    }
    if (rolledBack !== undefined) await Promise.allSettled(this.#underWay);
    else await Promise.all(this.#underWay);
    const [failure] = this.#readFailures;
    if (failure !== undefined) throw failure;
    // A caller would take the other result for one of a commit.
    if (rolledBack !== undefined && !Object.is(await rolledBack.result, result)) {
      throw new InvalidRequestError("result", "rolled back; the body must `return tx.rollback(…)`");
    }
  }
}

/** @throws what the engine throws, as the public API names it. */
async function reported<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw publicError(error);
  }
}

function isPairs(
  value: AnyTable | readonly unknown[],
): value is readonly (readonly [AnyTable, unknown])[] {
  return Array.isArray(value);
}

/** For callers without types: a table's name is no table. */
function assertTable(table: unknown): void {
  if (typeof table === "object" && table !== null) return;
  const given = typeof table === "string" ? `"${table}"` : typeof table;
  throw new InvalidRequestError("table", `a table is what defineTable(name) returns; got ${given}`);
}

function checkedKeys(keys: readonly unknown[] | undefined): readonly unknown[] {
  if (Array.isArray(keys)) return keys;
  throw new InvalidRequestError("keys", "`batchGet` takes a table and an array of keys, or pairs");
}

function asObject(value: unknown, field: string): object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new InvalidRequestError(field, `\`${field}\` must be an object`);
}
