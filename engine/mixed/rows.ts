/** Rows of a mixed table: what stands there once no commit is on its way to any of them. */
import { keyNamesOf, keyOf } from "../../core/attributes.ts";
import { UnavailableError } from "../../core/errors.ts";
import { contentOf } from "../../core/item-content.ts";
import { identityOf } from "../../core/item-identity.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions } from "../../core/ports.ts";
import type { Item, TransactionId } from "../../core/types.ts";
import type { MixedItems } from "./mixed-items.ts";
import type { PageSource, SeenPage } from "./mixed-read-set.ts";

export type VisibleRows = {
  readonly rows: SeenPage["rows"];
  readonly lastKey: Item | undefined;
};

/**
 * One page of the store, without placeholders.
 * @param options.own the caller's own transaction, where it has fenced rows.
 * @throws UnavailableError, StoreError, CorruptDataError.
 */
export async function readRows(
  { items }: { readonly items: MixedItems },
  source: Pick<PageSource, "request" | "read">,
  from: { readonly startKey: Item | undefined; readonly limit: number | undefined },
  { own, ...options }: CallOptions & { readonly own?: TransactionId | undefined },
): Promise<VisibleRows> {
  const { request, read } = source;
  const { table } = request;
  const names = keyNamesOf(table);
  for (let times = 1; times <= limits.pageTriesMax; times += 1) {
    const { rows, lastKey } = await read(from, options);
    const cleared = await Promise.all(
      rows.map((row) =>
        items.clears({ table: names, key: keyOf(table, row) }, row, { ...options, own, times }),
      ),
    );
    if (!cleared.includes(true)) {
      const visible = rows.flatMap((row) => {
        const content = contentOf(row, names);
        return content === undefined
          ? []
          : [{ key: keyOf(table, row), content, identity: identityOf(row) }];
      });
      return { rows: visible, lastKey };
    }
  }
  throw new UnavailableError(
    `a page of table "${table.name}" did not come to rest in ${limits.pageTriesMax} reads; is it ` +
      "under very frequent writes?",
  );
}
