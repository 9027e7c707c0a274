/** What a transaction has read of mixed tables, as data that its caller takes along. */
import { tooLarge } from "../../core/errors.ts";
import { itemWeightBytes } from "../../core/item-size.ts";
import * as limits from "../../core/limits.ts";
import type { Digest } from "../../core/ports.ts";
import { contentDigest, rowsDigest } from "../../schemas/content-digest.ts";
import type {
  MixedPageRequest,
  MixedState,
  RememberedKey,
  RememberedPage,
} from "../attempts/remembered-state.ts";
import type { MixedReadSet, SeenKey, SeenPage } from "./mixed-read-set.ts";
import type { RememberedReads } from "./remembered-reads.ts";

/**
 * Of this call and of those before.
 * @throws TransactionTooLargeError when it is more than can be read again.
 */
export function mixedStateOf(
  {
    set,
    remembered,
  }: { readonly set: MixedReadSet; readonly remembered: RememberedReads | undefined },
  digest: Digest,
): MixedState | undefined {
  if (set.size === 0 && (remembered?.size ?? 0) === 0) return undefined;
  const before = remembered?.state ?? { keys: [], pages: [] };
  const keys = [...before.keys, ...Array.from(set.keys.values(), (key) => keyState(key, digest))];
  const pages = [...before.pages, ...set.pages.map((page) => pageState(page, digest))];
  requirePages(pages.length);
  let bytes = 0;
  for (const each of [...keys, ...pages]) bytes += each.bytes;
  requireBytes(bytes);
  return { keys, pages };
}

const remedy = "read less of mixed tables in one transaction";

function requirePages(actual: number): void {
  const max = limits.mixedPagesMax;
  if (actual > max) throw tooLarge({ name: "mixedPagesMax", max, actual }, remedy);
}

function requireBytes(actual: number): void {
  const max = limits.recalledBytesMax;
  if (actual > max) throw tooLarge({ name: "recalledBytesMax", max, actual }, remedy);
}

function keyState({ at, seen: { content } }: SeenKey, digest: Digest): RememberedKey {
  return {
    ...{ table: at.table.name, key: at.key },
    bytes: content === undefined ? 0 : itemWeightBytes(content),
    digest: contentDigest(content, digest),
  };
}

function pageState({ source, rows, isLast }: SeenPage, digest: Digest): RememberedPage {
  const contents = rows.map(({ content }) => content);
  return {
    ...{ request: named(source.request), rows: rows.length, isLast },
    bytes: contents.reduce((sum, content) => sum + itemWeightBytes(content), 0),
    digest: rowsDigest(contents, digest),
  };
}

function named(request: MixedPageRequest): MixedPageRequest<string> {
  const { table, limit, startKey } = request;
  const from = { table: table.name, limit, startKey };
  if (request.kind === "scan") return { kind: "scan", ...from };
  const { partitionKey, sortKey, descending } = request;
  return { kind: "query", ...from, partitionKey, sortKey, descending };
}
