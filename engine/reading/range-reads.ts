/**
 * Queries and scans at the read timestamp (docs/protocol.md §5, Queries and scans).
 *
 * A page of the store is a mixture: rows newer than the read timestamp, tombstones, and gaps where
 * a committed insert is not installed yet. The page is read again until it holds every commit at or
 * below the read timestamp that falls in its range; then newer rows are replaced from history, or
 * the read timestamp moves. The partition or table joins the read set as a predicate, against
 * phantoms. Paper: pH1 §4.3 (scan).
 */
import { attribute } from "../../core/attributes.ts";
import { assert } from "../../core/assert.ts";
import { expiresAtMs } from "../../core/base-tables.ts";
import { SnapshotTooOldError, UnavailableError } from "../../core/errors.ts";
import { compareKeyValues } from "../../core/key-order.ts";
import { itemSizeBytes } from "../../core/item-size.ts";
import * as limits from "../../core/limits.ts";
import { pageAnswer } from "../../core/page-visibility.ts";
import type { Page, QueryRequest, ScanRequest } from "../../core/ports.ts";
import { matchesSortKey } from "../../core/sort-key-condition.ts";
import type { PredicateRead, ReadConflict } from "../../core/transaction-reads.ts";
import {
  timestampZero,
  type AttributeValue,
  type Item,
  type KeyHash,
  type TableDescription,
  type WriteHashes,
} from "../../core/types.ts";
import type { Answer, Judgement, Known, Lacking } from "../../core/visibility.ts";
import { encodeValue } from "../../schemas/attribute-value.ts";
import { decodeValue } from "../../schemas/attribute-value-reading.ts";
import type { AttemptViews } from "../attempts/attempt-views.ts";
import { conflictError } from "../conflict-error.ts";
import type { ReadView } from "./read-view.ts";
import { itemIdentity } from "../attempts/write-buffer.ts";

type Row = Page["rows"][number] & { readonly hashes: WriteHashes };

/** A page as the transaction may see it, before its own writes are laid over. */
export type VisiblePage = {
  readonly rows: readonly { readonly key: Item; readonly item: Item }[];
  readonly lastKey: Item | undefined;
};

export async function queryPage(views: AttemptViews, request: QueryRequest): Promise<VisiblePage> {
  const { table } = request;
  const partition = views.hashes.partition(table.name, request.partitionKey);
  const view = await views.at(partition);
  if (table.access === "mixed") return (await view.mixedReads(table)).queryPage(request);
  const key = { [table.partitionKey.name]: request.partitionKey };
  return readPage([view], {
    table,
    hash: partition,
    predicate: { table: table.name, on: "partition", key },
    read: () => views.ports.items.query(request, views.call),
    pass: `query ${request.descending ? "down" : "up"} ${conditionIdentity(request.sortKey)}`,
    startKey: request.startKey,
    question: questionOf(view, request),
    mayContain: (hashes, page) => sortKeyMayLieIn(hashes.sortKey, page, request),
    viewOf: () => view,
  });
}

/** Its rows lie in all shards: each is judged by its own log, the page is true in all of them. */
export async function scanPage(views: AttemptViews, request: ScanRequest): Promise<VisiblePage> {
  const { table, segment } = request;
  const all = await views.everywhere();
  if (table.access === "mixed") {
    const [first, ...others] = await Promise.all(all.map((view) => view.mixedReads(table)));
    assert(first !== undefined, "scan: there is a shard");
    // mutant: scans-bar-in-one-shard
    for (const other of others) other.noteScanned(table);
    return first.scanPage(request);
  }
  return readPage(all, {
    table,
    hash: views.hashes.table(table.name),
    predicate: { table: table.name, on: "table", key: undefined },
    read: () => views.ports.items.scan(request, views.call),
    pass: segment === undefined ? "scan" : `scan ${segment.index}/${segment.total}`,
    startKey: request.startKey,
    // A scan's order is the store's own secret: any row may belong to any page, unless there is but
    // one.
    mayContain: (_, page) =>
      segment === undefined && request.startKey === undefined && page.lastKey === undefined
        ? "yes"
        : "unknown",
    viewOf: ({ hashes }) => views.openAt(hashes),
  });
}

type PageSource = {
  readonly table: TableDescription;
  readonly hash: KeyHash;
  readonly predicate: PredicateRead;
  readonly read: () => Promise<Page>;
  /** Equal for all pages of one pass over the rows, and only for them. */
  readonly pass: string;
  readonly startKey: Item | undefined;
  /** By which its answer is remembered (remembered-answers.ts). */
  readonly question?: string | undefined;
  /** Whether a row that the page lacks would have to be in it. */
  readonly mayContain: (hashes: WriteHashes, page: Page) => "yes" | "no" | "unknown";
  /** By whose log a row is judged. */
  readonly viewOf: (row: Pick<Row, "hashes">) => ReadView;
};

/** @param views of all shards in which rows of it may lie. */
async function readPage(views: readonly ReadView[], source: PageSource): Promise<VisiblePage> {
  await Promise.all(views.map((view) => view.ready()));
  for (const view of views) view.assertReachesBack(source.table);
  let asked = rememberedPage(views, source);
  for (let attempt = 0; attempt < limits.pageTriesMax; attempt += 1) {
    asked = await besideNothingChained(views, source, asked);
    const met = firstUnsettled(views, source, asked);
    if (met === undefined) {
      rememberPage(views, source, asked);
      return visiblePage(views, source, asked);
    }
    const { view, judgement } = met;
    switch (judgement.kind) {
      case "overtaken":
        throw view.doom(overtakenError(view, source, judgement.conflict));
      case "lacking":
        await awaitLacking(view, judgement.lacking, attempt);
        break;
      case "ahead-of-tail":
        await view.catchUp(judgement.version, source.table.name);
        continue;
      case "unsettled":
        await view.settle(judgement.ids);
        continue;
      case "stale-answer":
        break;
    }
    asked = undefined;
  }
  const [view] = views;
  const error = new UnavailableError(
    `a page of table "${source.table.name}" did not come to rest in ${limits.pageTriesMax} ` +
      "reads; is it under very frequent writes?",
  );
  throw view?.doom(error) ?? error;
}

/** Of all of a partition, where what the store says of it is remembered. */
function questionOf({ session }: ReadView, request: QueryRequest): string | undefined {
  const { table, partitionKey, sortKey, limit, startKey, descending } = request;
  if (session.remembered?.pagesOf(table.name) === undefined || descending) return undefined;
  const isWhole = sortKey === undefined && limit === undefined && startKey === undefined;
  return isWhole ? encodeValue(partitionKey).join(",") : undefined;
}

function rememberedPage([view]: readonly ReadView[], source: PageSource): AskedPage | undefined {
  const { question, table } = source;
  if (view === undefined || question === undefined) return undefined;
  const page = view.session.remembered?.pagesOf(table.name)?.find(question, view.tail);
  if (page === undefined) return undefined;
  return { page, rows: hashedRows([view], source, page), known: new Map([[view, view.known()]]) };
}

/** In the turn in which it was judged. */
function rememberPage([view]: readonly ReadView[], source: PageSource, asked: AskedPage): void {
  const { question, table } = source;
  const { page } = asked;
  if (view === undefined || question === undefined || page.lastKey !== undefined) return;
  const bytes = page.rows.reduce((sum, { item }) => sum + (item ? itemSizeBytes(item) : 0), 0);
  const judged = answerOf(view, source, asked);
  const remembered = view.session.remembered?.pagesOf(table.name);
  const expiresMs = Math.min(...page.rows.map(({ item }) => expiresAtMs(item)));
  remembered?.note(question, page, { judged, tail: view.tail, bytes, expiresMs });
}

/** The first of them whose log does not say that the page is true; in one turn for all. */
function firstUnsettled(
  views: readonly ReadView[],
  source: PageSource,
  asked: AskedPage,
):
  | { readonly view: ReadView; readonly judgement: Exclude<Judgement, { kind: "consistent" }> }
  | undefined {
  for (const view of views) {
    view.assertOpen();
    const judgement = view.judge(answerOf(view, source, asked), source.table.history);
    if (judgement.kind !== "consistent") return { view, judgement };
  }
  return undefined;
}

type AskedPage = {
  readonly page: Page;
  readonly rows: readonly Row[];
  /** What was known of each log when the store was asked. */
  readonly known: ReadonlyMap<ReadView, Known>;
};

/**
 * A page comes from the tables, so nothing that is not there yet may have been read beside it; also
 * not by a read of the same body that was chained while the page was under way:
 *
 *   A       put(x) put(p1)  sealed ─────────────── committed
 *   R       query(p) ──── page without A's p1 ─┤
 *           get(x) = A's value, chained         └ not together with this page: again
 *
 * Ends: each time around one more item has been read.
 * @param asked a page that is there already.
 */
async function besideNothingChained(
  views: readonly ReadView[],
  source: PageSource,
  asked: AskedPage | undefined,
): Promise<AskedPage> {
  let answer = asked;
  const [first] = views;
  for (let reads = 0; reads <= limits.transactionKeysMax; reads += 1) {
    first?.assertOpen();
    // mutant: pages-beside-chained-reads
    if (answer !== undefined && !views.some(isChained)) return answer;
    for (const view of views) await view.settleChained();
    first?.assertOpen();
    const known = new Map(views.map((view) => [view, view.known()]));
    const page = await source.read();
    answer = { page, rows: hashedRows(views, source, page), known };
  }
  const error = new UnavailableError("more items were read beside one page than may be read");
  throw first?.doom(error) ?? error;
}

function isChained({ local }: ReadView): boolean {
  return local?.isChained === true;
}

function hashedRows(
  [view]: readonly ReadView[],
  { table }: PageSource,
  page: Page,
): readonly Row[] {
  if (view === undefined) return [];
  return page.rows.map((row) => ({ ...row, hashes: view.readKey(table, row.key).hashes }));
}

const nothingKnown: Known = { installedThrough: timestampZero, installed: new Set() };

function answerOf(view: ReadView, source: PageSource, { page, rows, known }: AskedPage): Answer {
  return pageAnswer(
    {
      predicate: source.hash,
      on: source.predicate.on,
      rows: rows.filter((row) => source.viewOf(row) === view),
      page: pageIdentity(source, source.startKey),
      // Of what was committed before a shard was split, both logs tell; one of them speaks for it.
      mayContain: (hashes) =>
        source.viewOf({ hashes }) === view ? source.mayContain(hashes, page) : "no",
    },
    known.get(view) ?? nothingKnown,
  );
}

/** The rows at the read timestamp; the predicate joins the read set in this turn. */
async function visiblePage(
  views: readonly ReadView[],
  source: PageSource,
  { page, rows }: Omit<AskedPage, "known">,
): Promise<VisiblePage> {
  for (const view of views) {
    if (view.mode === "fixed") continue;
    const next = page.lastKey === undefined ? undefined : pageIdentity(source, page.lastKey);
    const step = { page: pageIdentity(source, source.startKey), next };
    // mutant: first-page-only
    view.reads.addPredicate(source.hash, source.predicate, step);
  }
  // From here on the predicate guards the page: the read timestamp moves only if nothing in it
  // changed.
  const visible = await Promise.all(
    rows.map((row) => visibleRow(source.viewOf(row), source.table, row)),
  );
  return { rows: visible.filter((row) => row !== undefined), lastKey: page.lastKey };
}

function overtakenError(view: ReadView, { table }: PageSource, conflict: ReadConflict): Error {
  if (view.isolation === "serializable" && view.mode === "read-write") {
    return conflictError(conflict, conflict);
  }
  return new SnapshotTooOldError(
    `rows of table "${table.name}" were overwritten after ${view.readTimestamp}, and the table ` +
      "keeps no history",
    { retryable: view.mode !== "fixed" },
  );
}

/** Equal for equal pages of equal passes: where a page begins says which one it is. */
function pageIdentity({ pass, table }: PageSource, startKey: Item | undefined): string {
  return startKey === undefined ? pass : `${pass} after ${itemIdentity(table, startKey)}`;
}

function conditionIdentity(condition: QueryRequest["sortKey"]): string {
  if (condition === undefined) return "all";
  const values =
    condition.operator === "between" ? [condition.low, condition.high] : [condition.value];
  return [condition.operator, ...values.map((value) => encodeValue(value).join(","))].join(" ");
}

/**
 * A write whose place is unknown is waited for by the watermark, which vouches for all at once. If
 * that stands still, replay is behind or down: then the reader sees to them itself, and what is
 * installed the next page shows or cannot hold.
 */
async function awaitLacking(view: ReadView, lacking: Lacking, attempt: number): Promise<void> {
  const { where, commits } = lacking;
  const [first] = commits;
  if (where === "here") {
    await view.awaitInstall(first, attempt);
    return;
  }
  const { timestamp } = commits.at(-1) ?? first;
  if (await view.waitInstalled(timestamp, limits.watermarkWaitMsMax)) return;
  view.assertOpen();
  await view.finish(commits);
}

async function visibleRow(
  view: ReadView,
  table: TableDescription,
  row: Row,
): Promise<{ key: Item; item: Item } | undefined> {
  const { key: hash } = row.hashes;
  const isNewer = view.isNewer(hash, row.version);
  const item = isNewer ? await view.historyOf({ table, key: row.key }, hash) : row.item;
  return item === undefined ? undefined : { key: row.key, item };
}

/**
 * Whether a sort key lies in what the page covers: its condition, and `(startKey, lastKey]` in its
 * direction.
 */
function sortKeyMayLieIn(
  encoded: Uint8Array | undefined,
  page: Page,
  request: QueryRequest,
): "yes" | "no" | "unknown" {
  const name = request.table.sortKey?.name;
  if (name === undefined) return "yes";
  if (encoded === undefined) return "unknown";
  const value = decodeValue(encoded);
  if (request.sortKey !== undefined && !matchesSortKey(request.sortKey, value)) return "no";
  return liesBetween(value, {
    after: request.startKey === undefined ? undefined : attribute(request.startKey, name),
    upTo: page.lastKey === undefined ? undefined : attribute(page.lastKey, name),
    descending: request.descending,
  })
    ? "yes"
    : "no";
}

/** Whether a sort-key value lies in `(after, upTo]`, read in the query's direction. */
export function liesBetween(
  value: AttributeValue,
  range: {
    readonly after: AttributeValue | undefined;
    readonly upTo: AttributeValue | undefined;
    readonly descending: boolean;
  },
): boolean {
  const sign = range.descending ? -1 : 1;
  if (range.after !== undefined && sign * compareKeyValues(value, range.after) <= 0) return false;
  return range.upTo === undefined || sign * compareKeyValues(value, range.upTo) <= 0;
}
