/**
 * What an interactive transaction has read of mixed tables in calls before (engine/detached.ts). It
 * came back as digests; it is read again before the transaction ends, and what is as it was joins
 * the read set with its content. So it takes the same course from there on as what was read in this
 * call: the transaction gets its place in the log, its fences stand, and it is read once more.
 *
 *     read, digest ─ calls … ─ read again, same digest ─ prepared ─ fences ─ read again ─ vote
 *                              └ the value that was handed out is true here
 */
import { keyNamesOf } from "../../core/attributes.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { KeyRead, PredicateRead } from "../../core/transaction-reads.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import { compareBytes } from "../../core/utf8.ts";
import { contentDigest, rowsDigest } from "../../schemas/content-digest.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { MixedState, RememberedKey, RememberedPage } from "../attempts/remembered-state.ts";
import { itemIdentity } from "../attempts/write-buffer.ts";
import type { MixedItems } from "./mixed-items.ts";
import { pageSource } from "./mixed-pages.ts";
import type { MixedReadSet, PageSource, SeenKey } from "./mixed-read-set.ts";
import { rowsAgain } from "./read-again.ts";

type Key = Pick<SeenKey, "at" | "hash"> & { readonly was: RememberedKey };
type Page = { readonly source: PageSource; readonly was: RememberedPage };

/** What was read in calls before and not in this one. */
export interface RememberedReads {
  /** Keys and pages. */
  readonly size: number;
  readonly state: MixedState;
  /** False: the item was read before, and was another one. Else it need not be remembered. */
  isAsRead(identity: string, content: Item | undefined): boolean;
  /**
   * Reads all of it again, and adds it to the set: it is remembered no more.
   * @returns the first that is not as it was read.
   */
  recall(set: MixedReadSet, options: CallOptions): Promise<KeyRead | PredicateRead | undefined>;
}

export type RememberedParts = {
  readonly items: MixedItems;
  readonly ports: Pick<ClientPorts, "mixed" | "digest">;
  readonly hashes: KeyHashes;
};

export class DigestedReads implements RememberedReads {
  readonly #parts: RememberedParts;
  /** By identity. */
  readonly #keys = new Map<string, Key>();
  #pages: readonly Page[];

  constructor(
    parts: RememberedParts,
    { keys, pages }: MixedState,
    describe: (table: string) => TableDescription,
  ) {
    this.#parts = parts;
    const { ports, hashes } = parts;
    for (const was of keys) {
      const table = describe(was.table);
      const at = { table: keyNamesOf(table), key: was.key };
      const hash = hashes.item(at.table, was.key).key;
      this.#keys.set(itemIdentity(table, was.key), { at, hash, was });
    }
    this.#pages = pages.map((was) => {
      const request = { ...was.request, table: describe(was.request.table) };
      return { was, source: pageSource(ports, hashes, request) };
    });
  }

  get size(): number {
    return this.#keys.size + this.#pages.length;
  }

  get state(): MixedState {
    return {
      keys: Array.from(this.#keys.values(), ({ was }) => was),
      pages: this.#pages.map(({ was }) => was),
    };
  }

  isAsRead(identity: string, content: Item | undefined): boolean {
    const key = this.#keys.get(identity);
    if (key === undefined) return true;
    if (!this.#isDigestOf(key.was, content)) return false;
    this.#keys.delete(identity);
    return true;
  }

  /** A part at a time: who has read little may find much there by now. */
  async recall(
    set: MixedReadSet,
    options: CallOptions,
  ): Promise<KeyRead | PredicateRead | undefined> {
    const keys = [...this.#keys];
    for (let from = 0; from < keys.length; from += limits.recalledAtOnceMax) {
      const part = keys.slice(from, from + limits.recalledAtOnceMax);
      const changed = await this.#recallKeys(set, part, options);
      if (changed !== undefined) return { table: changed.at.table.name, key: changed.at.key };
    }
    while (this.#pages.length > 0) {
      const part = this.#pages.slice(0, limits.pagesAgainAtOnceMax);
      const changed = await this.#recallPages(set, part, options);
      if (changed !== undefined) return changed.source.predicate;
      this.#pages = this.#pages.slice(part.length);
    }
    return undefined;
  }

  async #recallKeys(
    set: MixedReadSet,
    keys: readonly (readonly [string, Key])[],
    options: CallOptions,
  ): Promise<Key | undefined> {
    const { items, ports } = this.#parts;
    const stored = await ports.mixed.readAll(
      keys.map(([, { at }]) => at),
      options,
    );
    const seen = await Promise.all(
      keys.map(([, { at }], i) => items.readBehind(at, stored[i], options)),
    );
    for (const [i, [identity, key]] of keys.entries()) {
      const now = seen[i];
      if (now === undefined || !this.isAsRead(identity, now.content)) return key;
      set.keys.set(identity, { at: key.at, hash: key.hash, seen: now });
    }
    return undefined;
  }

  async #recallPages(
    set: MixedReadSet,
    pages: readonly Page[],
    options: CallOptions,
  ): Promise<Page | undefined> {
    const { items, ports } = this.#parts;
    const found = await Promise.all(
      pages.map(({ source, was: { rows: count, isLast } }) =>
        rowsAgain(items, { source, count, isLast }, options),
      ),
    );
    for (const [i, page] of pages.entries()) {
      const { source, was } = page;
      const rows = found[i] ?? [];
      const digest = rowsDigest(
        rows.map(({ content }) => content),
        ports.digest,
      );
      if (rows.length !== was.rows || compareBytes(digest, was.digest) !== 0) return page;
      set.addPage({ source, rows, isLast: was.isLast });
    }
    return undefined;
  }

  #isDigestOf({ digest }: RememberedKey, content: Item | undefined): boolean {
    return compareBytes(contentDigest(content, this.#parts.ports.digest), digest) === 0;
  }
}
