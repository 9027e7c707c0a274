/**
 * Pages as a transaction sees them: the rows at its read timestamp (range-reads.ts), its own
 * buffered writes laid over them. Loaded with the first of them.
 */
import { InvalidRequestError } from "../../core/errors.ts";
import { validateKey } from "../../core/item-validation.ts";
import type { QueryRequest } from "../../core/ports.ts";
import type { TableDescription } from "../../core/types.ts";
import { queryIndex } from "./index-pages.ts";
import {
  hasKeyValue,
  inQuery,
  overlay,
  overlayUnordered,
  type PageReader,
} from "./page-overlay.ts";
import { batchGetInShards } from "./point-reads.ts";
import { validateQuery } from "./query-refusals.ts";
import { queryPage, scanPage } from "./range-reads.ts";
import { readKeyOf } from "./read-key.ts";
import type { PageRequest, QuerySpec, RowPage, ScanSpec } from "../types.ts";
import { assertKeyCount } from "../attempts/write-buffer.ts";

/**
 * A page of a query.
 * @param beside begun with the read of the store, and over before own writes are laid over what
 *   that found: it may add some. Not of an index.
 */
export async function queryRows(
  reader: PageReader,
  table: TableDescription,
  query: QuerySpec,
  page: PageRequest & { readonly beside?: Beside | undefined },
): Promise<RowPage> {
  validateLimit(page);
  const request = queryRequest(table, query, page);
  validateQuery(request);
  return query.index === undefined
    ? queryTable(reader, request, page.beside)
    : queryIndex(reader, request, query.index);
}

export type Beside = () => Promise<void>;

async function queryTable(
  reader: PageReader,
  request: QueryRequest,
  beside: Beside = () => Promise.resolve(),
): Promise<RowPage> {
  if (request.startKey !== undefined) validateKey(request.table, request.startKey);
  if (request.table.sortKey === undefined && request.sortKey === undefined) {
    return queryRow(reader, request, beside);
  }
  assertKeyCount(reader.views.readCount + 1, reader.writes.size);
  const [page] = await Promise.all([queryPage(reader.views, request), beside()]);
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
  beside: Beside,
): Promise<RowPage> {
  if (startKey !== undefined) return { rows: [], cursor: undefined };
  const key = { [table.partitionKey.name]: partitionKey };
  await Promise.all([reader.get(table.name, key), beside()]);
  // It is read; what was written beside it counts.
  const item = await reader.get(table.name, key);
  return { rows: item === undefined ? [] : [item], cursor: undefined };
}

/** A page of a scan. */
export async function scanRows(
  reader: PageReader,
  description: TableDescription,
  page: PageRequest & ScanSpec,
): Promise<RowPage> {
  validateLimit(page);
  const { segment } = page;
  if (page.cursor !== undefined) validateKey(description, page.cursor);
  assertKeyCount(reader.views.readCount + 1, reader.writes.size);
  const found = await scanPage(reader.views, {
    table: description,
    limit: page.limit,
    startKey: page.cursor,
    ...(segment === undefined ? {} : { segment }),
  });
  return overlayUnordered(reader, found, {
    table: description,
    isOnly: page.cursor === undefined && segment === undefined,
    addsRows: segment === undefined || segment.index === 0,
    rows: found.rows,
    matches: () => true,
    shownBefore: async (keys) => {
      const { hashes } = reader.views;
      const asked = keys.map((key) => readKeyOf(hashes, { table: description, key }));
      // The scan's predicate covers them.
      const items = await batchGetInShards(reader.views, asked, { joins: false });
      return items.map((item) => item !== undefined);
    },
  });
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

function validateLimit({ limit }: PageRequest): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) return;
  throw new InvalidRequestError(
    "limit",
    `a page's limit is a whole number of rows from 1 on; got ${limit}`,
  );
}
