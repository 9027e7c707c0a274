/**
 * Queries of an index (docs/protocol.md §5). An index is eventually consistent and shows no state
 * of its own: it names candidates, and the table says what is true of them at the read timestamp.
 * So a row may be found where it does not lie: its entry has moved since, or has not moved yet. It
 * is shown by the page in whose range it lies at the read timestamp, and by no other:
 *
 *   read timestamp   a at 1     b at 2     c at 3
 *   page 1           a at 1                            shows a
 *                    ── a moves to 9 ──
 *   page 2                      b at 2     c at 3      shows b, c
 *   page 3                                      a at 9 lies behind: left out
 *
 * So no page need know of those before, which may be another request's, or another pass's.
 */
import { attribute, keyOf } from "../../core/attributes.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import { compareKeyValues, isComparable } from "../../core/key-order.ts";
import type { Page, QueryRequest } from "../../core/ports.ts";
import type { Item } from "../../core/types.ts";
import { hasKeyValue, inQuery, overlayUnordered, type PageReader } from "./page-overlay.ts";
import { indexRefusal } from "./query-refusals.ts";
import type { QuerySpec, RowPage } from "../types.ts";
import { itemIdentity } from "../attempts/write-buffer.ts";

/** A page of a query of an index. */
export async function queryIndex(
  reader: PageReader,
  request: QueryRequest,
  index: NonNullable<QuerySpec["index"]>,
): Promise<RowPage> {
  const { table, startKey } = request;
  const { views } = reader;
  if (views.mode === "fixed") {
    throw new InvalidRequestError(
      "index",
      `an index shows only the present: what has left "${index.name}" since \`asOf\` would be ` +
        "missing. Query or scan the table, or leave `asOf` out",
    );
  }
  await views.ready();
  const page = await views.ports.items.query(request, views.call).catch((error: unknown) => {
    throw indexRefusal(error, table, index);
  });
  const sortName = sortNameOf(request, page);
  const matches = (item: Item): boolean =>
    hasKeyValue(item, index.partitionKey, request.partitionKey) &&
    inQuery(item, request, index.sortKey) &&
    // Without a sort value it is no row of the index.
    (sortName === undefined || attribute(item, sortName) !== undefined);
  const keys = page.rows.map(({ key }) => keyOf(table, key));
  // Own writes aside: they stand in the places of what they replace.
  const items = await reader.stored(table, keys);
  const rows = new Map<string, { readonly key: Item; readonly item: Item }>();
  keys.forEach((key, i) => {
    const item = items[i];
    const entry = page.rows[i]?.item;
    if (item === undefined || !matches(item)) return;
    if (sortName !== undefined && !liesHere(item, entry, { request, page, sortName })) return;
    rows.set(itemIdentity(table, key), { key, item });
  });
  for (const [identity, { key, item }] of rows) {
    const own = reader.writes.find(table, key);
    const now = own === undefined ? item : own.item;
    if (now !== undefined && matches(now)) reader.shown.set(identity, item);
  }
  const { rows: shown, cursor } = await overlayUnordered(reader, page, {
    table,
    isOnly: startKey === undefined,
    addsRows: true,
    rows: [...rows.values()],
    matches,
    shownBefore: (own) =>
      own.map((key) => {
        const item = reader.shown.get(itemIdentity(table, key));
        return item !== undefined && matches(item);
      }),
  });
  return { rows: inOrder(shown, sortName, request.descending), cursor };
}

/**
 * Whether a row lies within the page, `(startKey, lastKey]`, at the read timestamp. Of rows with
 * the sort value of an end the order is the store's secret: they lie where their entries stand.
 */
function liesHere(
  item: Item,
  entry: Item | undefined,
  { request, page, sortName }: { request: QueryRequest; page: Page; sortName: string },
): boolean {
  const sign = request.descending ? -1 : 1;
  const against = (end: Item | undefined): number | undefined => {
    const order = end === undefined ? undefined : compareAt(sortName, item, end);
    return order === undefined ? undefined : sign * order;
  };
  if (against(entry) === 0) return true;
  return (against(request.startKey) ?? 1) > 0 && (against(page.lastKey) ?? -1) < 0;
}

/** By what they are now; equal ones, and where no order is known, as they came. */
function inOrder(
  rows: readonly Item[],
  sortName: string | undefined,
  descending: boolean,
): readonly Item[] {
  if (sortName === undefined) return rows;
  const sign = descending ? -1 : 1;
  return rows.toSorted((a, b) => sign * (compareAt(sortName, a, b) ?? 0));
}

/** As `compareKeyValues`; undefined where one lacks the attribute, or has it of another type. */
function compareAt(name: string, a: Item, b: Item): number | undefined {
  const [left, right] = [attribute(a, name), attribute(b, name)];
  if (left === undefined || right === undefined || !isComparable(left, right)) return undefined;
  return compareKeyValues(left, right);
}

/**
 * The attribute that the index sorts by. A query without a condition on it does not name it, but
 * every cursor has it. Undefined: there is none, or it is a key attribute of the table, which no
 * row ever changes; or the whole index is one page.
 */
function sortNameOf({ table, index, startKey }: QueryRequest, page: Page): string | undefined {
  if (index?.sortKey !== undefined) return index.sortKey;
  const others = [index?.partitionKey, table.partitionKey.name, table.sortKey?.name];
  return Object.keys(startKey ?? page.lastKey ?? {}).find((name) => !others.includes(name));
}
