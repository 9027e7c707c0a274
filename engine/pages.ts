/**
 * Pages as a transaction sees them: the rows at its read timestamp (range-reads.ts), its own
 * buffered writes laid over them. Loaded with the first of them.
 */
import { attribute, keyOf } from "../core/attributes.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { validateKey } from "../core/item-validation.ts";
import { compareKeyValues, sameKeyValue } from "../core/key-order.ts";
import type { QueryRequest } from "../core/ports.ts";
import { matchesSortKey } from "../core/sort-key-condition.ts";
import type { AttributeValue, Item, TableDescription } from "../core/types.ts";
import { batchGetItems } from "./point-reads.ts";
import { liesBetween, queryPage, scanPage, type VisiblePage } from "./range-reads.ts";
import type { ReadView } from "./read-view.ts";
import type { BodyTransaction, PageRequest, QuerySpec, RowPage } from "./types.ts";
import {
  assertKeyCount,
  itemIdentity,
  type BufferedWrite,
  type WriteBuffer,
} from "./write-buffer.ts";

/** The transaction whose pages they are. */
export type PageReader = Pick<BodyTransaction, "get" | "batchGet"> & {
  readonly view: ReadView;
  readonly writes: WriteBuffer;
};

/** A page of a query. */
export async function queryRows(
  reader: PageReader,
  table: TableDescription,
  query: QuerySpec,
  page: PageRequest,
): Promise<RowPage> {
  validateLimit(page);
  const request = queryRequest(table, query, page);
  return query.index === undefined
    ? queryTable(reader, request)
    : queryIndex(reader, request, query.index);
}

async function queryTable(reader: PageReader, request: QueryRequest): Promise<RowPage> {
  validateKeyValue(request.table, request.table.partitionKey.name, request.partitionKey);
  if (request.startKey !== undefined) validateKey(request.table, request.startKey);
  if (request.table.sortKey === undefined && request.sortKey === undefined) {
    return queryRow(reader, request);
  }
  assertKeyCount(reader.view.reads.size + 1, reader.writes.size);
  const page = await queryPage(reader.view, request);
  const sortKey = request.table.sortKey?.name;
  const own = Array.from(reader.writes.ofTable(request.table)).filter(({ key }) =>
    hasKeyValue(key, request.table.partitionKey.name, request.partitionKey),
  );
  return overlay(reader, page, own, {
    request,
    sortKey,
    matches: (write) => inQuery(write.key, request, sortKey),
  });
}

/**
 * Without a sort key a partition is one row. Read by its key, its own version says which of the
 * commits under the hash it lacks; of a page that cannot be said (core/visibility.ts).
 */
async function queryRow(
  reader: PageReader,
  { table, partitionKey, startKey }: QueryRequest,
): Promise<RowPage> {
  if (startKey !== undefined) return { rows: [], cursor: undefined };
  const item = await reader.get(table.name, { [table.partitionKey.name]: partitionKey });
  return { rows: item === undefined ? [] : [item], cursor: undefined };
}

/**
 * An index is eventually consistent: it names candidates, and the table says what is true of
 * them.
 */
async function queryIndex(
  reader: PageReader,
  request: QueryRequest,
  index: NonNullable<QuerySpec["index"]>,
): Promise<RowPage> {
  const { table } = request;
  await reader.view.ready();
  const page = await reader.view.ports.items.query(request, reader.view.call);
  const keys = page.rows.map((row) => keyOf(table, row.key));
  const items = await reader.batchGet(keys.map((key) => ({ table: table.name, key })));
  const matches = (item: Item): boolean =>
    hasKeyValue(item, index.partitionKey, request.partitionKey) &&
    inQuery(item, request, index.sortKey);
  const rows = keys.flatMap((key, i) => {
    const item = items[i];
    return item !== undefined && matches(item) ? [{ key, item }] : [];
  });
  if (index.sortKey === undefined) {
    const stood = (keys: readonly Item[]): Promise<readonly boolean[]> =>
      storedAmong(reader, table, keys, { joins: true, matches });
    return overlayUnordered(reader, page, {
      table,
      rows,
      isFirst: request.startKey === undefined,
      matches,
      stood,
    });
  }
  return overlay(
    reader,
    { rows, lastKey: page.lastKey },
    Array.from(reader.writes.ofTable(table)),
    {
      request,
      sortKey: index.sortKey,
      matches: (write) => write.item !== undefined && matches(write.item),
    },
  );
}

/** A page of a scan. */
export async function scanRows(
  reader: PageReader,
  description: TableDescription,
  page: PageRequest,
): Promise<RowPage> {
  validateLimit(page);
  if (page.cursor !== undefined) validateKey(description, page.cursor);
  assertKeyCount(reader.view.reads.size + 1, reader.writes.size);
  const found = await scanPage(reader.view, {
    table: description,
    limit: page.limit,
    startKey: page.cursor,
  });
  return overlayUnordered(reader, found, {
    table: description,
    rows: found.rows,
    isFirst: page.cursor === undefined,
    matches: () => true,
    // The scan's predicate covers them.
    stood: (keys) => storedAmong(reader, description, keys, { joins: false, matches: () => true }),
  });
}

/** Which of the keys the pages of this pass hold as they are stored, own writes left aside. */
async function storedAmong(
  reader: PageReader,
  table: TableDescription,
  keys: readonly Item[],
  { joins, matches }: { readonly joins: boolean; readonly matches: (item: Item) => boolean },
): Promise<readonly boolean[]> {
  if (keys.length === 0) return [];
  const asked = keys.map((key) => reader.view.readKey(table, key));
  const items = await batchGetItems(reader.view, asked, { joins });
  return items.map((item) => item !== undefined && matches(item));
}

/**
 * Where there is no order to merge into, an own write of a stored row takes that row's place, and
 * others come at the end of the last page. A body that writes the rows as they come must not meet
 * its own writes again there: of what is not on the last page itself, only rows that were not
 * stored before come at its end.
 */
async function overlayUnordered(
  reader: PageReader,
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
    const own = reader.writes.find(table, key);
    const shown = own === undefined ? item : own.item;
    return shown !== undefined && matches(shown) ? [shown] : [];
  });
  if (page.lastKey !== undefined) return { rows, cursor: page.lastKey };
  const here = new Set(merge.rows.map(({ key }) => itemIdentity(table, key)));
  const others = Array.from(reader.writes.ofTable(table)).filter(
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
function overlay(
  reader: PageReader,
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
    .filter(({ key }) => reader.writes.find(request.table, key) === undefined)
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
