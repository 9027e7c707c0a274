/**
 * Queries of an index (docs/protocol.md §5). An index is eventually consistent and shows no state
 * of its own: it names candidates, and the table says what is true of them at the read timestamp.
 * So a row may be found where it does not lie: its entry has moved since, or has not moved yet. It
 * is shown once, on the page in whose range it lies at the read timestamp:
 *
 *   read timestamp   a at 1     b at 2     c at 3
 *   page 1           a at 1                            shows a
 *                    ── a moves to 9 ──
 *   page 2                      b at 2     c at 3      shows b, c
 *   page 3                                      a at 9 lies behind, and was shown
 */
import { attribute, keyOf } from "../core/attributes.ts";
import { compareKeyValues, isComparable, sameKeyValue } from "../core/key-order.ts";
import type { Page, QueryRequest } from "../core/ports.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { encodeItem } from "../schemas/attribute-value.ts";
import { IndexPass, type IndexRow } from "./index-pass.ts";
import {
  hasKeyValue,
  inQuery,
  overlay,
  overlayUnordered,
  storedAmong,
  type PageReader,
} from "./page-overlay.ts";
import type { QuerySpec, RowPage } from "./types.ts";
import { itemIdentity } from "./write-buffer.ts";

/** A page of a query of an index. */
export async function queryIndex(
  reader: PageReader,
  request: QueryRequest,
  index: NonNullable<QuerySpec["index"]>,
): Promise<RowPage> {
  const { table, startKey } = request;
  const pass =
    startKey === undefined
      ? IndexPass.begun({ isWhole: true })
      : (reader.passes.get(passIdentity(request, startKey)) ?? IndexPass.begun({ isWhole: false }));
  await reader.view.ready();
  const page = await reader.view.ports.items.query(request, reader.view.call);
  const matches = (item: Item): boolean =>
    hasKeyValue(item, index.partitionKey, request.partitionKey) &&
    inQuery(item, request, index.sortKey);
  const found = await candidates(reader, request, { page, matches });
  const { rows, ahead } = placed([...due(request, page, pass), ...found], pass, request);
  const shown = await overlaid(reader, request, { page, rows, pass, matches });
  if (page.lastKey !== undefined) {
    const identities = shown.rows.map((item) => itemIdentity(table, keyOf(table, item)));
    const next = pass.after({ shown: identities, ahead });
    reader.passes.set(passIdentity(request, page.lastKey), next);
  }
  return shown;
}

/** Where a row lies at the read timestamp, as seen from the page. */
type Candidate = IndexRow & { readonly lies: "behind" | "here" | "ahead" };

/** The rows that the page's entries name, those that match at the read timestamp. */
async function candidates(
  reader: PageReader,
  request: QueryRequest,
  { page, matches }: { readonly page: Page; readonly matches: (item: Item) => boolean },
): Promise<readonly Candidate[]> {
  const { table } = request;
  const entries = page.rows.map((row) => ({ key: keyOf(table, row.key), entry: row.item }));
  const items = await reader.batchGet(entries.map(({ key }) => ({ table: table.name, key })));
  const sortName = sortNameOf(request, page);
  return entries.flatMap(({ key, entry }, i): readonly Candidate[] => {
    const item = items[i];
    if (item === undefined || !matches(item)) return [];
    const row = { key, item, identity: itemIdentity(table, key) };
    if (sortName === undefined) return [{ ...row, place: undefined, lies: "here" }];
    const found = entry === undefined ? undefined : attribute(entry, sortName);
    // An own write stands in the place of what it replaces.
    const isOwn = reader.writes.find(table, key) !== undefined;
    const place = isOwn ? found : attribute(item, sortName);
    // Without a sort value it is no row of the index.
    if (place === undefined) return isOwn ? [{ ...row, place, lies: "here" }] : [];
    // There, among equal values too: an entry's place follows from its keys.
    const isThere = found !== undefined && sameKeyValue(place, found);
    const lies = isThere ? "here" : sideOf(place, { request, page, sortName });
    return [{ ...row, place, lies }];
  });
}

/**
 * On which side of a page `(startKey, lastKey]` a sort value lies. Of rows with the value of an end
 * the order is the store's secret: they count as outside, and as late rather than early.
 */
function sideOf(
  place: AttributeValue,
  { request, page, sortName }: { request: QueryRequest; page: Page; sortName: string },
): Candidate["lies"] {
  const sign = request.descending ? -1 : 1;
  const against = (end: Item | undefined): number | undefined => {
    const value = end === undefined ? undefined : attribute(end, sortName);
    if (value === undefined || !isComparable(place, value)) return undefined;
    return sign * compareKeyValues(place, value);
  };
  if ((against(request.startKey) ?? 1) <= 0) return "behind";
  return (against(page.lastKey) ?? -1) >= 0 ? "ahead" : "here";
}

/** What pages before have found, as seen from this one. */
function due(request: QueryRequest, page: Page, pass: IndexPass): readonly Candidate[] {
  const sortName = sortNameOf(request, page);
  return pass.ahead.map((row) => {
    if (sortName === undefined || row.place === undefined) return { ...row, lies: "here" };
    const side = sideOf(row.place, { request, page, sortName });
    return { ...row, lies: side === "ahead" ? "ahead" : "here" };
  });
}

/**
 * The page's rows, each once, and those that a later page shows. A row that lies behind was found
 * too late; where it was not shown, it comes now. Where the pages before were another transaction's
 * nobody knows, and it does not come.
 */
function placed(
  found: readonly Candidate[],
  pass: IndexPass,
  { descending }: QueryRequest,
): { readonly rows: readonly IndexRow[]; readonly ahead: readonly IndexRow[] } {
  const rows = new Map<string, IndexRow>();
  const ahead = new Map<string, IndexRow>();
  for (const row of found) {
    if (pass.hasShown(row.identity)) continue;
    if (row.lies === "ahead") ahead.set(row.identity, row);
    else if (row.lies === "here" || pass.isWhole) rows.set(row.identity, row);
  }
  for (const identity of rows.keys()) ahead.delete(identity);
  return { rows: inOrder([...rows.values()], descending), ahead: [...ahead.values()] };
}

/** By their places at the read timestamp; equal ones, and where no place is known, as they came. */
function inOrder(rows: readonly IndexRow[], descending: boolean): readonly IndexRow[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted(({ place: a }, { place: b }) =>
    a === undefined || b === undefined || !isComparable(a, b) ? 0 : sign * compareKeyValues(a, b),
  );
}

function overlaid(
  reader: PageReader,
  request: QueryRequest,
  {
    page,
    rows,
    pass,
    matches,
  }: {
    readonly page: Page;
    readonly rows: readonly IndexRow[];
    readonly pass: IndexPass;
    readonly matches: (item: Item) => boolean;
  },
): RowPage | Promise<RowPage> {
  const { table, index } = request;
  const { lastKey } = page;
  if (index?.sortKey !== undefined) {
    return overlay(reader, { rows, lastKey }, Array.from(reader.writes.ofTable(table)), {
      request,
      sortKey: index.sortKey,
      matches: ({ item }) => item !== undefined && matches(item),
    });
  }
  return overlayUnordered(reader, page, {
    table,
    rows,
    matches,
    shownBefore: (keys) =>
      pass.isWhole
        ? Promise.resolve(keys.map((key) => pass.hasShown(itemIdentity(table, key))))
        : storedAmong(reader, table, keys, { joins: true, matches }),
  });
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

/** Equal for equal queries that go on at the same place, and only for them. */
function passIdentity(request: QueryRequest, cursor: Item): string {
  const { table, index, partitionKey, sortKey, descending } = request;
  const bytes = encodeItem({ partitionKey: { M: { value: partitionKey } }, cursor: { M: cursor } });
  const condition =
    sortKey === undefined
      ? []
      : [sortKey.operator, ...("value" in sortKey ? [sortKey.value] : [sortKey.low, sortKey.high])];
  return JSON.stringify([table.name, index?.name, descending, [...bytes], condition]);
}
