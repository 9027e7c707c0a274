/**
 * What was read of mixed tables is read again, consistently: whoever has written it since is found
 * (docs/adr/0014-native-operations.md, Read again). Paper: Mediator §4.2.
 */
import * as limits from "../../core/limits.ts";
import type { CallOptions } from "../../core/ports.ts";
import type { KeyRead, PredicateRead } from "../../core/transaction-reads.ts";
import type { TransactionId } from "../../core/types.ts";
import { Semaphore } from "../concurrency.ts";
import { itemIdentity } from "../attempts/write-buffer.ts";
import type { MixedItems } from "./mixed-items.ts";
import type { MixedReadSet, PageSource, SeenPage } from "./mixed-read-set.ts";
import { readRows } from "./rows.ts";
import { isUntouched } from "./seen-item.ts";

/** Rows beyond those expected that one call reads: placeholders may stand among them. */
const spareRows = 8;

export type ReadAgain = CallOptions & {
  /** The caller's own transaction, where it has fenced what it will write. */
  readonly own?: TransactionId | undefined;
  /** Identities of items that its fences have compared. */
  readonly isFenced?: (identity: string) => boolean;
};

/** The first read that is not true any more; undefined: all are, each at some moment of this. */
export async function changedRead(
  items: MixedItems,
  set: MixedReadSet,
  { isFenced, own, ...options }: ReadAgain,
): Promise<KeyRead | PredicateRead | undefined> {
  const keys = Array.from(set.keys).flatMap(([identity, key]) =>
    isFenced?.(identity) === true ? [] : [key],
  );
  const atOnce = new Semaphore(limits.pagesAgainAtOnceMax);
  const [changed, ...pages] = await Promise.all([
    keys.length === 0 ? [] : items.readAgain(keys, options),
    ...set.pages.map((page) => atOnce.run(() => isPageAsRead(items, page, { ...options, own }))),
  ]);
  const key = changed[0] === undefined ? undefined : keys[changed[0]];
  if (key !== undefined) return { table: key.at.table.name, key: key.at.key };
  return set.pages.find((_, i) => pages[i] === false)?.source.predicate;
}

async function isPageAsRead(
  items: MixedItems,
  { source, rows: expected, isLast }: SeenPage,
  options: RowsAgainOptions,
): Promise<boolean> {
  const page = { source, count: expected.length, isLast };
  const rows = await rowsAgain(items, page, options);
  return (
    rows.length === expected.length &&
    rows.every((row, i) => {
      const same = expected[i];
      return same !== undefined && isSameRow(source.request.table, row, same);
    })
  );
}

type RowsAgainOptions = CallOptions & { readonly own?: TransactionId | undefined };

/**
 * As many rows as a page had, from where it begins; of the last page one more, if there is one by
 * now. Of a page that was not the last one nothing behind its last row has been read.
 */
export async function rowsAgain(
  items: MixedItems,
  page: { readonly source: PageSource; readonly count: number; readonly isLast: boolean },
  options: RowsAgainOptions,
): Promise<SeenPage["rows"]> {
  const { source, count, isLast } = page;
  let limit = isLast ? undefined : count + spareRows;
  const enough = isLast ? count + 1 : count;
  const found: SeenPage["rows"][number][] = [];
  let { startKey } = source.request;
  for (;;) {
    const { rows, lastKey } = await readRows({ items }, source, { startKey, limit }, options);
    found.push(...rows.slice(0, enough - found.length));
    if (found.length === enough || lastKey === undefined) return found;
    startKey = lastKey;
    // A crowd of placeholders costs few calls.
    if (rows.length === 0) limit &&= Math.min(2 * limit, limits.rowsBehindHiddenMax);
  }
}

type Row = SeenPage["rows"][number];

function isSameRow(table: Parameters<typeof itemIdentity>[0], now: Row, read: Row): boolean {
  return itemIdentity(table, now.key) === itemIdentity(table, read.key) && isUntouched(read, now);
}
