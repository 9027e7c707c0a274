/** How a transaction's own buffered writes are laid over the rows of a page. */
import { attribute } from "../../core/attributes.ts";
import { compareKeyValues, sameKeyValue } from "../../core/key-order.ts";
import type { QueryRequest } from "../../core/ports.ts";
import { matchesSortKey } from "../../core/sort-key-condition.ts";
import type { AttributeValue, Item, TableDescription } from "../../core/types.ts";
import type { AttemptViews } from "../attempts/attempt-views.ts";
import { liesBetween, type VisiblePage } from "./range-reads.ts";
import type { BodyTransaction, RowPage } from "../types.ts";
import { itemIdentity, type BufferedWrite, type WriteBuffer } from "../attempts/write-buffer.ts";

/** The transaction whose pages they are. */
export type PageReader = Pick<BodyTransaction, "get"> & {
  readonly views: AttemptViews;
  readonly writes: WriteBuffer;
  /** What pages of indexes have shown, by identity, own writes left aside. */
  readonly shown: Map<string, Item>;
  /** Items at the read timestamp, own writes left aside. */
  stored(table: TableDescription, keys: readonly Item[]): Promise<readonly (Item | undefined)[]>;
};

/**
 * Where there is no order to merge into, an own write of a stored row takes that row's place, and
 * others come at the end of the last page. A body that writes the rows as they come must not meet
 * its own writes again there: of what is not on the last page itself, only rows that no page before
 * has shown come at its end.
 */
export async function overlayUnordered(
  reader: PageReader,
  page: Pick<VisiblePage, "lastKey">,
  merge: {
    readonly table: TableDescription;
    /** Whether it is all there is, if it is the last one. */
    readonly isOnly: boolean;
    /** Whether own writes of what is not stored come at the end. */
    readonly addsRows: boolean;
    readonly rows: VisiblePage["rows"];
    readonly matches: (item: Item) => boolean;
    /** Which of these pages before have shown, as they were stored or as own writes. */
    readonly shownBefore: (
      keys: readonly Item[],
    ) => readonly boolean[] | Promise<readonly boolean[]>;
  },
): Promise<RowPage> {
  const { table, matches } = merge;
  const rows = merge.rows.flatMap(({ key, item }) => {
    const own = reader.writes.find(table, key);
    const shown = own === undefined ? item : own.item;
    return shown !== undefined && matches(shown) ? [shown] : [];
  });
  if (page.lastKey !== undefined || !merge.addsRows) return { rows, cursor: page.lastKey };
  const here = new Set(merge.rows.map(({ key }) => itemIdentity(table, key)));
  const others = Array.from(reader.writes.ofTable(table)).filter(
    ({ key, item }) => item !== undefined && matches(item) && !here.has(itemIdentity(table, key)),
  );
  const isAlone = merge.isOnly || others.length === 0;
  const shown = isAlone ? [] : await merge.shownBefore(others.map(({ key }) => key));
  const added = others.flatMap(({ item }, i) =>
    item === undefined || shown[i] === true ? [] : [item],
  );
  return { rows: [...rows, ...added], cursor: undefined };
}

/**
 * Replaces, removes and inserts rows as the buffered writes say, in the order of the sort key.
 */
export function overlay(
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

export function hasKeyValue(item: Item, name: string, wanted: AttributeValue): boolean {
  const value = attribute(item, name);
  return value !== undefined && sameKeyValue(value, wanted);
}

/** Whether the item's sort key meets the query's condition. */
export function inQuery(item: Item, request: QueryRequest, sortKey: string | undefined): boolean {
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
