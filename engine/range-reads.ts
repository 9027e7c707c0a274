/**
 * Queries and scans at the read timestamp (docs/protocol.md §5, Queries and scans).
 *
 * A page of the store is a mixture: rows newer than the read timestamp, tombstones, and gaps where
 * a committed insert is not installed yet. The page is read again until it holds every commit at or
 * below the read timestamp that falls in its range; then newer rows are replaced from history, or
 * the read timestamp moves. The partition or table joins the read set as a predicate, against
 * phantoms. Paper: pH1 §4.3 (scan).
 */
import { attribute } from "../core/attributes.ts";
import { SnapshotTooOldError, UnavailableError } from "../core/errors.ts";
import { compareKeyValues, matchesSortKey } from "../core/key-order.ts";
import type { Page, QueryRequest, ScanRequest } from "../core/ports.ts";
import type { TailCommit } from "../core/tail.ts";
import type { PredicateRead } from "../core/transaction-reads.ts";
import type {
  AttributeValue,
  Item,
  KeyHash,
  TableDescription,
  Timestamp,
  WriteHashes,
} from "../core/types.ts";
import { decodeValue, encodeValue } from "../schemas/attribute-value.ts";
import { conflictError } from "./conflict-error.ts";
import { type ReadKey, type ReadView, type SeenVersions } from "./read-view.ts";
import { itemIdentity } from "./write-buffer.ts";

type Row = Page["rows"][number] & { readonly hashes: WriteHashes };

/** A page as the transaction may see it, before its own writes are laid over. */
export type VisiblePage = {
  readonly rows: readonly { readonly key: Item; readonly item: Item }[];
  readonly lastKey: Item | undefined;
};

const pageTriesMax = 40;
/** Replay is a second behind when all is well. */
const watermarkPatienceMs = 2_500;

export async function queryPage(view: ReadView, request: QueryRequest): Promise<VisiblePage> {
  const { table } = request;
  const partition = view.hashes.partition(table.name, request.partitionKey);
  const key = { [table.partitionKey.name]: request.partitionKey };
  return readPage(view, {
    table,
    hash: partition,
    predicate: { table: table.name, on: "partition", key },
    read: () => view.ports.items.query(request, view.call),
    pass: `query ${request.descending ? "down" : "up"} ${conditionIdentity(request.sortKey)}`,
    startKey: request.startKey,
    mayContain: (hashes, page) => sortKeyMayLieIn(hashes.sortKey, page, request),
  });
}

export async function scanPage(view: ReadView, request: ScanRequest): Promise<VisiblePage> {
  const { table } = request;
  return readPage(view, {
    table,
    hash: view.hashes.table(table.name),
    predicate: { table: table.name, on: "table", key: undefined },
    read: () => view.ports.items.scan(request, view.call),
    pass: "scan",
    startKey: request.startKey,
    // A scan's order is the store's own secret: any row may belong to any page, unless there is but
    // one.
    mayContain: (_, page) =>
      request.startKey === undefined && page.lastKey === undefined ? "yes" : "unknown",
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
  /** Whether a row that the page lacks would have to be in it. */
  readonly mayContain: (hashes: WriteHashes, page: Page) => "yes" | "no" | "unknown";
};

async function readPage(view: ReadView, source: PageSource): Promise<VisiblePage> {
  await view.ready();
  // A page comes from the tables, so nothing that is not there yet may have been read beside it.
  await view.settleChained();
  view.assertReachesBack(source.table);
  for (let attempt = 0; attempt < pageTriesMax; attempt += 1) {
    view.assertOpen();
    const captured = view.tail.installedThrough;
    const helped = new Set(view.helped);
    const page = await source.read();
    const rows = page.rows.map((row) => ({
      ...row,
      hashes: view.readKey(source.table, row.key).hashes,
    }));
    await foldUpTo(view, rows, source.table);
    view.assertOpen();
    if (captured < view.tail.floor) continue;
    moveReadTimestamp(view, source, rows);
    const missing = missingFrom(view, { source, page, rows, captured, helped });
    if (missing !== undefined) {
      await awaitMissing(view, missing, attempt);
      continue;
    }
    if (view.mode !== "fixed") {
      const next = page.lastKey === undefined ? undefined : pageIdentity(source, page.lastKey);
      const step = { page: pageIdentity(source, source.startKey), next };
      // mutant: first-page-only
      view.reads.addPredicate(source.hash, source.predicate, step);
    }
    // From here on the predicate guards the page: the read timestamp moves only if nothing in it
    // changed.
    const visible = await Promise.all(rows.map((row) => visibleRow(view, source.table, row)));
    return { rows: visible.filter((row) => row !== undefined), lastKey: page.lastKey };
  }
  throw view.doom(
    new UnavailableError(
      `a page of table "${source.table.name}" did not come to rest in ${pageTriesMax} reads; is ` +
        "it under very frequent writes?",
    ),
  );
}

async function foldUpTo(
  view: ReadView,
  rows: readonly Row[],
  table: TableDescription,
): Promise<void> {
  if (view.mode === "fixed") return;
  const newest = rows.reduce<Timestamp>(
    (max, row) => (row.version > max ? row.version : max),
    0 as Timestamp,
  );
  if (newest > view.tail.newest) await view.catchUp(newest, table.name);
}

/**
 * Moves the read timestamp forward when the page shows something newer. Where that fails, the page
 * must be had at the old one, from history.
 */
function moveReadTimestamp(view: ReadView, source: PageSource, rows: readonly Row[]): void {
  if (view.mode === "fixed") return;
  view.assertWithinTail();
  const newer = rows.some((row) => row.version > view.readTimestamp);
  const overtaken = (view.tail.lastCommit(source.hash) ?? 0) > view.readTimestamp;
  if (!newer && !(overtaken && view.mode === "read-write")) return;
  const versions: SeenVersions = new Map(rows.map((row) => [row.hashes.key, row.version]));
  const page = pageIdentity(source, source.startKey);
  const conflict = view.reads.extend(view.tail, { hash: source.hash, page, versions });
  if (conflict !== undefined && view.isolation === "serializable" && view.mode === "read-write") {
    throw view.doom(conflictError(conflict, conflict));
  }
  if (conflict !== undefined && newer && !source.table.history) {
    throw view.doom(
      new SnapshotTooOldError(
        `rows of table "${source.table.name}" were overwritten after ${view.readTimestamp}, and ` +
          "the table keeps no history",
      ),
    );
  }
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

type Missing =
  /** The page should show it and does not. */
  | { readonly where: "here"; readonly commit: TailCommit }
  /** They may belong to this page or to another one. */
  | { readonly where: "unknown"; readonly commits: readonly TailCommit[] };

/**
 * Commits at or below the read timestamp that the page should show, or might have to, and does not.
 */
function missingFrom(
  view: ReadView,
  look: {
    readonly source: PageSource;
    readonly page: Page;
    readonly rows: readonly Row[];
    readonly captured: Timestamp;
    /** Known to be installed before the page was read. */
    readonly helped: ReadonlySet<string>;
  },
): Missing | undefined {
  const { source, page, rows, captured, helped } = look;
  if ((view.tail.lastCommit(source.hash) ?? 0) <= captured) return undefined;
  const versions: SeenVersions = new Map(rows.map((row) => [row.hashes.key, row.version]));
  const range = { above: captured, upTo: view.readTimestamp };
  const commits: TailCommit[] = [];
  for (const { commit, hashes } of view.tail.commitsUnder(source.hash, range)) {
    const stored = versions.get(hashes.key);
    if (stored !== undefined && stored >= commit.timestamp) continue;
    const where = stored === undefined ? source.mayContain(hashes, page) : "yes";
    if (where === "yes") return { where: "here", commit };
    if (where === "unknown" && !helped.has(nameOf(commit))) commits.push(commit);
  }
  return commits.length === 0 ? undefined : { where: "unknown", commits };
}

/**
 * A write whose place is unknown is waited for by the watermark, which vouches for all at once. If
 * that stands still, replay is behind or down: then the reader installs them, and what it has
 * installed the next page shows or cannot hold.
 */
async function awaitMissing(view: ReadView, missing: Missing, attempt: number): Promise<void> {
  if (missing.where === "here") {
    await view.awaitInstall(missing.commit, attempt);
    return;
  }
  const newest = missing.commits.at(-1)?.timestamp;
  if (newest === undefined || (await view.waitInstalled(newest, watermarkPatienceMs))) return;
  for (const commit of missing.commits) {
    view.assertOpen();
    await view.finish(commit);
    view.helped.add(nameOf(commit));
  }
}

function nameOf({ timestamp, write }: TailCommit): string {
  return `${timestamp}/${write}`;
}

async function visibleRow(
  view: ReadView,
  table: TableDescription,
  row: Row,
): Promise<{ key: Item; item: Item } | undefined> {
  const key: Pick<ReadKey, "table" | "key"> = { table, key: row.key };
  const item = row.version > view.readTimestamp ? await view.historyOf(key) : row.item;
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
