/**
 * One attempt of a transaction: reads at its read timestamp, its own buffered writes laid over
 * them. Implements the engine's `BodyTransaction` (engine/types.ts); committing is commit.ts.
 */
import { attribute, keyOf } from "../core/attributes.ts";
import { InvalidRequestError, TransactionClosedError } from "../core/errors.ts";
import { validateItem, validateKey } from "../core/item-validation.ts";
import { compareKeyValues, matchesSortKey, sameKeyValue } from "../core/key-order.ts";
import type { QueryRequest } from "../core/ports.ts";
import type { AttributeValue, Item, TableDescription, Timestamp } from "../core/types.ts";
import { liesBetween, queryPage, scanPage, type VisiblePage } from "./range-reads.ts";
import { batchGetItems, getItem } from "./point-reads.ts";
import type { ReadView } from "./read-view.ts";
import type { TableRegistry } from "./table-registry.ts";
import type { BodyTransaction, PageRequest, QuerySpec, RowPage, ScanSpec } from "./types.ts";
import { assertKeyCount, itemIdentity, WriteBuffer, type BufferedWrite } from "./write-buffer.ts";

export class TransactionContext implements BodyTransaction {
  readonly view: ReadView;
  readonly writes: WriteBuffer;
  readonly #registry: TableRegistry;
  /**
   * Items read so far: they cannot have changed at the read timestamp, so a second read costs
   * nothing.
   */
  readonly #read = new Map<string, Item | undefined>();
  #isRolledBack = false;

  constructor(view: ReadView, registry: TableRegistry) {
    this.view = view;
    this.writes = new WriteBuffer(view.hashes);
    this.#registry = registry;
  }

  get readTimestamp(): Timestamp {
    return this.view.readTimestamp;
  }

  describe(table: string): TableDescription {
    return this.#registry.describe(table);
  }

  async get(table: string, key: Item): Promise<Item | undefined> {
    this.view.assertOpen();
    const description = this.describe(table);
    validateKey(description, key);
    const own = this.writes.find(description, key);
    if (own !== undefined) return own.item;
    const identity = itemIdentity(description, key);
    if (this.#read.has(identity)) return this.#read.get(identity);
    assertKeyCount(this.view.reads.size + 1, this.writes.size);
    const item = await getItem(this.view, this.view.readKey(description, key, identity));
    this.#read.set(identity, item);
    return item;
  }

  /**
   * As `get`, also from a table that is Tidemark's own and that no caller can name; and never what
   * is only about to be committed: waits for the verdicts of this process's own writers first.
   */
  async getCommitted(description: TableDescription, key: Item): Promise<Item | undefined> {
    validateKey(description, key);
    const identity = itemIdentity(description, key);
    const asked = this.view.readKey(description, key);
    await this.view.local?.localDecided({ ...asked, identity });
    const item = await getItem(this.view, asked);
    this.#read.set(identity, item);
    return item;
  }

  async batchGet(
    keys: readonly { readonly table: string; readonly key: Item }[],
  ): Promise<readonly (Item | undefined)[]> {
    this.view.assertOpen();
    const wanted = keys.map(({ table, key }) => {
      const description = this.describe(table);
      validateKey(description, key);
      // Own writes as of the call, as `get` has them.
      const own = this.writes.find(description, key);
      return { description, key, identity: itemIdentity(description, key), own };
    });
    const unread = new Map(
      wanted
        .filter(({ identity, own }) => own === undefined && !this.#read.has(identity))
        .map((want) => [want.identity, want]),
    );
    assertKeyCount(this.view.reads.size + unread.size, this.writes.size);
    if (unread.size > 0) {
      const asked = [...unread.values()];
      const items = await batchGetItems(
        this.view,
        asked.map(({ description, key, identity }) =>
          this.view.readKey(description, key, identity),
        ),
      );
      asked.forEach(({ identity }, i) => this.#read.set(identity, items[i]));
    }
    return wanted.map(({ identity, own }) =>
      own === undefined ? this.#read.get(identity) : own.item,
    );
  }

  get isRolledBack(): boolean {
    return this.#isRolledBack;
  }

  rollback(): void {
    this.view.assertOpen();
    this.#isRolledBack = true;
    // mutant: rollback-keeps-writes
    this.writes.clear();
  }

  put(table: string, item: Item): void {
    this.#assertWritable();
    this.putInto(this.describe(table), item);
  }

  /** As `put`, also into a table that is Tidemark's own. */
  putInto(description: TableDescription, item: Item): void {
    this.view.assertOpen();
    validateItem(description, item);
    this.#buffer(description, keyOf(description, item), item);
  }

  delete(table: string, key: Item): void {
    this.#assertWritable();
    const description = this.describe(table);
    validateKey(description, key);
    this.#buffer(description, key, undefined);
  }

  #assertWritable(): void {
    this.view.assertOpen();
    if (!this.#isRolledBack) return;
    throw new TransactionClosedError("the transaction was rolled back; return from its body");
  }

  #buffer(table: TableDescription, key: Item, item: Item | undefined): void {
    assertKeyCount(this.view.reads.size, this.writes.size + 1);
    this.writes.set(table, key, item);
  }

  async queryPage(table: string, query: QuerySpec, page: PageRequest): Promise<RowPage> {
    this.view.assertOpen();
    const description = this.describe(table);
    validateLimit(page);
    const request = queryRequest(description, query, page);
    return query.index === undefined
      ? this.#queryTable(request)
      : this.#queryIndex(request, query.index);
  }

  async #queryTable(request: QueryRequest): Promise<RowPage> {
    validateKeyValue(request.table, request.table.partitionKey.name, request.partitionKey);
    if (request.startKey !== undefined) validateKey(request.table, request.startKey);
    if (request.table.sortKey === undefined && request.sortKey === undefined) {
      return this.#queryRow(request);
    }
    assertKeyCount(this.view.reads.size + 1, this.writes.size);
    const page = await queryPage(this.view, request);
    const sortKey = request.table.sortKey?.name;
    const own = Array.from(this.writes.ofTable(request.table)).filter(({ key }) =>
      hasKeyValue(key, request.table.partitionKey.name, request.partitionKey),
    );
    return this.#overlay(page, own, {
      request,
      sortKey,
      matches: (write) => inQuery(write.key, request, sortKey),
    });
  }

  /**
   * Without a sort key a partition is one row. Read by its key, its own version says which of the
   * commits under the hash it lacks; of a page that cannot be said (core/visibility.ts).
   */
  async #queryRow({ table, partitionKey, startKey }: QueryRequest): Promise<RowPage> {
    if (startKey !== undefined) return { rows: [], cursor: undefined };
    const item = await this.get(table.name, { [table.partitionKey.name]: partitionKey });
    return { rows: item === undefined ? [] : [item], cursor: undefined };
  }

  /**
   * An index is eventually consistent: it names candidates, and the table says what is true of
   * them.
   */
  async #queryIndex(
    request: QueryRequest,
    index: NonNullable<QuerySpec["index"]>,
  ): Promise<RowPage> {
    const { table } = request;
    await this.view.ready();
    const page = await this.view.ports.items.query(request, this.view.call);
    const keys = page.rows.map((row) => keyOf(table, row.key));
    const items = await this.batchGet(keys.map((key) => ({ table: table.name, key })));
    const matches = (item: Item): boolean =>
      hasKeyValue(item, index.partitionKey, request.partitionKey) &&
      inQuery(item, request, index.sortKey);
    const rows = keys.flatMap((key, i) => {
      const item = items[i];
      return item !== undefined && matches(item) ? [{ key, item }] : [];
    });
    if (index.sortKey === undefined) {
      const stood = (keys: readonly Item[]): Promise<readonly boolean[]> =>
        this.#stood(table, keys, { joins: true, matches });
      return this.#overlayUnordered(page, {
        table,
        rows,
        isFirst: request.startKey === undefined,
        matches,
        stood,
      });
    }
    return this.#overlay({ rows, lastKey: page.lastKey }, Array.from(this.writes.ofTable(table)), {
      request,
      sortKey: index.sortKey,
      matches: (write) => write.item !== undefined && matches(write.item),
    });
  }

  async scanPage(table: string, _scan: ScanSpec, page: PageRequest): Promise<RowPage> {
    this.view.assertOpen();
    const description = this.describe(table);
    validateLimit(page);
    if (page.cursor !== undefined) validateKey(description, page.cursor);
    assertKeyCount(this.view.reads.size + 1, this.writes.size);
    const found = await scanPage(this.view, {
      table: description,
      limit: page.limit,
      startKey: page.cursor,
    });
    return this.#overlayUnordered(found, {
      table: description,
      rows: found.rows,
      isFirst: page.cursor === undefined,
      matches: () => true,
      // The scan's predicate covers them.
      stood: (keys) => this.#stood(description, keys, { joins: false, matches: () => true }),
    });
  }

  /** Which of the keys the pages of this pass hold as they are stored, own writes left aside. */
  async #stood(
    table: TableDescription,
    keys: readonly Item[],
    { joins, matches }: { readonly joins: boolean; readonly matches: (item: Item) => boolean },
  ): Promise<readonly boolean[]> {
    if (keys.length === 0) return [];
    const asked = keys.map((key) => this.view.readKey(table, key));
    const items = await batchGetItems(this.view, asked, { joins });
    return items.map((item) => item !== undefined && matches(item));
  }

  /**
   * Where there is no order to merge into, an own write of a stored row takes that row's place, and
   * others come at the end of the last page. A body that writes the rows as they come must not meet
   * its own writes again there: of what is not on the last page itself, only rows that were not
   * stored before come at its end.
   */
  async #overlayUnordered(
    page: Pick<VisiblePage, "lastKey">,
    merge: {
      readonly table: TableDescription;
      readonly rows: VisiblePage["rows"];
      readonly isFirst: boolean;
      readonly matches: (item: Item) => boolean;
      readonly stood: (keys: readonly Item[]) => Promise<readonly boolean[]>;
    },
  ): Promise<RowPage> {
    const { table, matches } = merge;
    const rows = merge.rows.flatMap(({ key, item }) => {
      const own = this.writes.find(table, key);
      const shown = own === undefined ? item : own.item;
      return shown !== undefined && matches(shown) ? [shown] : [];
    });
    if (page.lastKey !== undefined) return { rows, cursor: page.lastKey };
    const here = new Set(merge.rows.map(({ key }) => itemIdentity(table, key)));
    const others = Array.from(this.writes.ofTable(table)).filter(
      ({ key, item }) => item !== undefined && matches(item) && !here.has(itemIdentity(table, key)),
    );
    const stood = merge.isFirst ? [] : await merge.stood(others.map(({ key }) => key));
    const added = others.flatMap(({ item }, i) =>
      item === undefined || stood[i] === true ? [] : [item],
    );
    return { rows: [...rows, ...added], cursor: undefined };
  }

  /**
   * Replaces, removes and inserts rows as the buffered writes say, in the order of the sort key.
   */
  #overlay(
    page: VisiblePage,
    own: readonly BufferedWrite[],
    merge: {
      readonly request: QueryRequest;
      readonly sortKey: string | undefined;
      readonly matches: (write: BufferedWrite) => boolean;
    },
  ): RowPage {
    const { request, sortKey, matches } = merge;
    const sortValue = (item: Item): AttributeValue | undefined =>
      sortKey === undefined ? undefined : attribute(item, sortKey);
    const rows = page.rows
      .filter(({ key }) => this.writes.find(request.table, key) === undefined)
      .map(({ item }) => item);
    const added = own
      .filter((write) => write.item !== undefined && matches(write))
      .filter((write) =>
        belongsToPage(sortValue(write.item ?? write.key), page, { request, sortKey }),
      )
      .flatMap(({ item }) => (item === undefined ? [] : [item]));
    if (added.length === 0) return { rows, cursor: page.lastKey };
    const sign = request.descending ? -1 : 1;
    const merged = [...rows, ...added].sort((a, b) => {
      const left = sortValue(a);
      const right = sortValue(b);
      return left === undefined || right === undefined ? 0 : sign * compareKeyValues(left, right);
    });
    return { rows: merged, cursor: page.lastKey };
  }
}

function hasKeyValue(item: Item, name: string, wanted: AttributeValue): boolean {
  const value = attribute(item, name);
  return value !== undefined && sameKeyValue(value, wanted);
}

function queryRequest(table: TableDescription, query: QuerySpec, page: PageRequest): QueryRequest {
  return {
    table,
    partitionKey: query.partitionKey,
    descending: query.descending ?? false,
    index: query.index,
    sortKey: query.sortKey,
    limit: page.limit,
    startKey: page.cursor,
  };
}

/** Whether the item's sort key meets the query's condition. */
function inQuery(item: Item, request: QueryRequest, sortKey: string | undefined): boolean {
  if (request.sortKey === undefined) return true;
  const value = sortKey === undefined ? undefined : attribute(item, sortKey);
  return value !== undefined && matchesSortKey(request.sortKey, value);
}

/**
 * Whether a row of this sort key comes on this page: pages divide the order into `(startKey,
 * lastKey]`.
 */
function belongsToPage(
  value: AttributeValue | undefined,
  page: VisiblePage,
  { request, sortKey }: { readonly request: QueryRequest; readonly sortKey: string | undefined },
): boolean {
  // Without a sort key a partition holds one row, which lies before any cursor.
  if (value === undefined || sortKey === undefined) return request.startKey === undefined;
  const at = (key: Item | undefined): AttributeValue | undefined =>
    key === undefined ? undefined : attribute(key, sortKey);
  return liesBetween(value, {
    after: at(request.startKey),
    upTo: at(page.lastKey),
    descending: request.descending,
  });
}

function validateLimit({ limit }: PageRequest): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) return;
  throw new InvalidRequestError(
    "limit",
    `a page's limit is a whole number of rows from 1 on; got ${limit}`,
  );
}

function validateKeyValue(table: TableDescription, name: string, value: AttributeValue): void {
  const type = table.partitionKey.type;
  if (type in value) return;
  throw new InvalidRequestError(
    name,
    `the partition key "${name}" of table "${table.name}" is of type ${type}; give a value of ` +
      "that type",
  );
}
