/**
 * Items by key at a view's read timestamp (docs/protocol.md §5). They come from the store; from
 * what this process is about to write there, or has just written (chaining/); or from the log's
 * blocks (express/block-values.ts).
 */
import { UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { itemSizeBytes } from "../../core/item-size.ts";
import { expiresAtMs } from "../../core/base-tables.ts";
import type { StoredItem } from "../../core/ports.ts";
import { commitName } from "../../core/tail.ts";
import type { Item, Timestamp } from "../../core/types.ts";
import { itemAnswer, upToOf, type Answer, type Known } from "../../core/visibility.ts";
import type { AttemptViews } from "../attempts/attempt-views.ts";
import { ignore } from "../concurrency.ts";
import { conflictError } from "../conflict-error.ts";
import type { ReadKey } from "./read-key.ts";
import type { ReadView } from "./read-view.ts";

/** For a value that is not from its table: it need not hold anything that is installed. */
const nothingKnown: Known = { installedThrough: 0 as Timestamp, installed: new Set() };

/** One item as it stands at the read timestamp; joins the read set. */
export async function getItem(view: ReadView, key: ReadKey): Promise<Item | undefined> {
  view.assertOpen();
  if (key.table.access === "mixed") return (await view.mixedReads(key.table)).get(key);
  view.assertReachesBack(key.table);
  const found = await getLocally(view, key);
  return found === undefined ? getFromLogOrTable(view, key, { joins: true }) : found.item;
}

/**
 * Each item as it stands at the read timestamp. They join the read set, unless a predicate there
 * covers them already.
 */
async function batchGetItems(
  view: ReadView,
  keys: readonly ReadKey[],
  { joins }: { readonly joins: boolean },
): Promise<readonly (Item | undefined)[]> {
  view.assertOpen();
  if (keys.some(({ table }) => table.access === "mixed"))
    return batchGetBoth(view, keys, { joins });
  for (const { table } of keys) view.assertReachesBack(table);
  const places = new Map<ReadKey, number>();
  for (const key of keys) if (!isAtHand(view, key)) places.set(key, places.size);
  const known = view.known();
  const asked =
    places.size === 0
      ? Promise.resolve([])
      : view.ports.items.batchGet([...places.keys()], view.call);
  asked.catch(ignore);
  await view.ready();
  const answers = await asked;
  return Promise.all(
    keys.map(async (key) => {
      const place = places.get(key);
      if (place === undefined) return getFromLogOrTable(view, key, { joins });
      const stored = answers[place];
      return stored === undefined
        ? undefined
        : resolve(view, key, { from: "table", stored, known, joins });
    }),
  );
}

/** As `batchGetItems`, each from the shard that it lies in. */
export async function batchGetInShards(
  views: AttemptViews,
  keys: readonly ReadKey[],
  how: { readonly joins: boolean } = { joins: true },
): Promise<readonly (Item | undefined)[]> {
  const byView = new Map<ReadView, ReadKey[]>();
  for (const key of keys) {
    const view = await views.at(key.hashes.partition);
    const those = byView.get(view);
    if (those === undefined) byView.set(view, [key]);
    else those.push(key);
  }
  const [only, ...others] = byView.keys();
  if (only === undefined) return [];
  if (others.length === 0) return batchGetItems(only, keys, how);
  const items = new Map<ReadKey, Item | undefined>();
  await Promise.all(
    Array.from(byView, async ([view, those]) => {
      const found = await batchGetItems(view, those, how);
      those.forEach((key, i) => items.set(key, found[i]));
    }),
  );
  return keys.map((key) => items.get(key));
}

/** As `batchGetItems`, of mixed tables and others. */
async function batchGetBoth(
  view: ReadView,
  keys: readonly ReadKey[],
  how: { readonly joins: boolean },
): Promise<readonly (Item | undefined)[]> {
  const mixed = keys.filter(({ table }) => table.access === "mixed");
  const others = keys.filter(({ table }) => table.access !== "mixed");
  const [first] = mixed;
  const [ofMixed, ofOthers] = await Promise.all([
    first === undefined ? [] : (await view.mixedReads(first.table)).batchGet(mixed, how),
    others.length === 0 ? [] : batchGetItems(view, others, how),
  ]);
  const items = new Map<ReadKey, Item | undefined>();
  mixed.forEach((key, i) => items.set(key, ofMixed[i]));
  others.forEach((key, i) => items.set(key, ofOthers[i]));
  return keys.map((key) => items.get(key));
}

/**
 * From the log's blocks where they say it: a transaction that was beaten there runs again on what
 * has beaten it, and asks nobody.
 */
async function getFromLogOrTable(
  view: ReadView,
  key: ReadKey,
  { joins }: { readonly joins: boolean },
): Promise<Item | undefined> {
  if (valueInLog(view, key) !== undefined) {
    await view.ready();
    // By now others may have written there.
    const stored = valueInLog(view, key);
    if (stored !== undefined) {
      return resolve(view, key, { from: "memory", stored, known: nothingKnown, joins });
    }
  }
  if (rememberedOf(view, key) !== undefined) {
    await view.ready();
    // By now others may have written there.
    const stored = rememberedOf(view, key);
    if (stored !== undefined) {
      return resolve(view, key, { from: "table", stored, known: view.known(), joins });
    }
  }
  const known = view.known();
  const asked = view.ports.items.get(key.table, key.key, view.call);
  asked.catch(ignore); // Reported below, after the refresh, if that does not fail first.
  await view.ready();
  return resolve(view, key, { from: "table", stored: await asked, known, joins });
}

/**
 * What the newest commit of the item has left at the read timestamp, where its block says so. What
 * is known to be installed the table says: a plain writer may have been there since, or it is a
 * dead letter.
 */
function valueInLog(view: ReadView, key: ReadKey): StoredItem | undefined {
  const { follower, express } = view.session;
  if (express === undefined || !follower.started) return undefined;
  const { installedThrough: above, installed } = view.known();
  const range = { above, upTo: upToOf(view, view.readTimestamp) };
  const commit = follower.tail.newestCommit(key.hashes.key, range);
  if (commit === undefined || installed.has(commitName(commit))) return undefined;
  return express.written(commit, key);
}

function isAtHand(view: ReadView, key: ReadKey): boolean {
  return valueInLog(view, key) !== undefined || rememberedOf(view, key) !== undefined;
}

/** What the table holds, where it was asked before and nothing has changed since. */
function rememberedOf(view: ReadView, key: ReadKey): StoredItem | undefined {
  if (key.identity === undefined) return undefined;
  return view.session.remembered?.itemsOf(key.table.name)?.find(key.identity, view.tail);
}

/** In the turn in which it was judged. */
function remember(view: ReadView, key: ReadKey, stored: StoredItem, judged: Answer): void {
  const remembered = view.session.remembered?.itemsOf(key.table.name);
  if (remembered === undefined || key.identity === undefined) return;
  const bytes = stored.item === undefined ? 0 : itemSizeBytes(stored.item);
  const expiresMs = expiresAtMs(stored.item);
  remembered.note(key.identity, stored, { judged, tail: view.tail, bytes, expiresMs });
}

/** What this process itself is about to write, or has just written, where that is to be read. */
async function getLocally(
  view: ReadView,
  key: ReadKey,
): Promise<{ readonly item: Item | undefined } | undefined> {
  const { local } = view;
  if (local?.isContended(key) !== true) return undefined;
  await view.ready();
  await local.takeTurn(key);
  view.assertOpen();
  const chained = local.chain(key);
  if (chained !== undefined) return chained;
  const own = ownCommit(view, key);
  if (own === undefined) return undefined;
  // mutant: own-commits-trusted
  const asked = { from: "memory", stored: own, known: nothingKnown, joins: true } as const;
  return { item: await resolve(view, key, asked) };
}

/**
 * What this process itself has just committed there. Whether that is what is to be read, the tail
 * judges.
 */
function ownCommit(view: ReadView, key: ReadKey): StoredItem | undefined {
  return view.own?.committed(key);
}

/** A value of an item, and what was known when it was asked for. */
type Asked = {
  /** Memory: a commit of this process, or a block of the log, whoever made it. */
  readonly from: "table" | "memory";
  readonly stored: StoredItem;
  readonly known: Known;
  readonly joins: boolean;
};

/** What an answer means at the read timestamp; asks again as long as it cannot tell. */
async function resolve(view: ReadView, key: ReadKey, asked: Asked): Promise<Item | undefined> {
  let { from, stored, known } = asked;
  for (let attempt = 0; attempt < limits.readTriesMax; attempt += 1) {
    view.assertOpen();
    // In the turn of the judgement: while an install was waited for, another read of the same body
    // may have been chained to a commit that is about to write here.
    // mutant: chained-late
    const chained = asked.joins ? view.local?.chain(key) : undefined;
    if (chained !== undefined) return chained.item;
    const answer = itemAnswer(key.hashes.key, stored.version, known);
    const judgement = view.judge(answer, key.table.history);
    switch (judgement.kind) {
      case "consistent":
        if (from === "table") remember(view, key, stored, answer);
        return visible(view, key, { from, stored, joins: asked.joins });
      case "overtaken":
        // probe: conflict-found-by-reader
        throw view.doom(conflictError(judgement.conflict, judgement.conflict));
      case "lacking": {
        const [commit] = judgement.lacking.commits;
        const own = ownCommit(view, key);
        const written =
          own?.version === commit.timestamp ? own : view.session.express?.written(commit, key);
        if (written !== undefined) {
          from = "memory";
          stored = written;
          known = nothingKnown;
          continue;
        }
        await view.awaitInstall(commit, attempt);
        break;
      }
      case "ahead-of-tail":
        // probe: read-ahead-of-tail
        await view.catchUp(stored.version, key.table.name);
        continue;
      case "unsettled":
        await view.settle(judgement.ids);
        continue;
      case "stale-answer":
        // probe: read-older-than-tail-remembers
        break;
    }
    from = "table";
    known = view.known();
    stored = await view.ports.items.get(key.table, key.key, view.call);
  }
  throw view.doom(
    new UnavailableError(
      `a committed write to table "${key.table.name}" was still not installed after ` +
        `${limits.readTriesMax} reads`,
    ),
  );
}

/** The item at the read timestamp; joins the read set in this turn. */
async function visible(
  view: ReadView,
  key: ReadKey,
  { from, stored, joins }: Omit<Asked, "known">,
): Promise<Item | undefined> {
  const isNewer = view.isNewer(key.hashes.key, stored.version);
  // Before history is looked up: from now on the read timestamp moves only if the key is unchanged.
  if (joins || isNewer) {
    view.reads.addKey(key.hashes.key, { table: key.table.name, key: key.key });
  }
  if (!isNewer) {
    // Only the table shows that the version is there.
    const isVersioned = from === "table" && stored.version > 0 && !stored.tombstone;
    if (isVersioned && key.identity !== undefined) view.noteVersioned(key.identity);
    return stored.item;
  }
  // probe: read-from-history
  return view.historyOf(key, key.hashes.key);
}
