/**
 * What one attempt has read of mixed tables. No timestamp says when it was true: it is compared
 * with what is there when the attempt ends (docs/adr/0014-native-operations.md, Read again).
 */
import type { ItemAddress, MixedPage } from "../../core/mixed-items-port.ts";
import type { Identity } from "../../core/item-identity.ts";
import { tooLarge } from "../../core/errors.ts";
import { itemWeightBytes } from "../../core/item-size.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions } from "../../core/ports.ts";
import type { Tail } from "../../core/tail.ts";
import type { KeyRead, PredicateRead, ReadConflict } from "../../core/transaction-reads.ts";
import type { Item, KeyHash } from "../../core/types.ts";
import type { MixedPageRequest } from "../attempts/remembered-state.ts";
import type { SeenItem } from "./seen-item.ts";

export type SeenKey = {
  readonly at: ItemAddress;
  readonly hash: KeyHash;
  readonly seen: SeenItem;
};

/** Where rows come from, in the store's order. */
export type PageSource = {
  readonly request: MixedPageRequest;
  readonly hash: KeyHash;
  readonly predicate: PredicateRead;
  readonly read: (
    from: { readonly startKey: Item | undefined; readonly limit: number | undefined },
    options: CallOptions,
  ) => Promise<MixedPage>;
};

type SeenRow = { readonly key: Item; readonly content: Item; readonly identity: Identity };

/** A page as it was handed out: it ends with its last row, or with the last one there is. */
export type SeenPage = {
  readonly source: PageSource;
  readonly rows: readonly SeenRow[];
  readonly isLast: boolean;
};

export class MixedReadSet {
  /** By identity. */
  readonly keys = new Map<string, SeenKey>();
  readonly pages: SeenPage[] = [];
  readonly #predicates = new Map<KeyHash, PredicateRead>();
  #pagesBytes = 0;

  get size(): number {
    return this.keys.size + this.#predicates.size;
  }

  /** @throws TransactionTooLargeError when its end would have too much to read again. */
  addPage(page: SeenPage): void {
    for (const { content } of page.rows) this.#pagesBytes += itemWeightBytes(content);
    requireAtMost("mixedPagesMax", limits.mixedPagesMax, this.pages.length + 1);
    requireAtMost("mixedPagesBytesMax", limits.mixedPagesBytesMax, this.#pagesBytes);
    this.pages.push(page);
    this.addPredicate(page.source.hash, page.source.predicate);
  }

  /** What a page has covered, whose rows are read again by another shard's. */
  addPredicate(hash: KeyHash, predicate: PredicateRead): void {
    this.#predicates.set(hash, predicate);
  }

  /** Whether a page may have shown rows of the table, whichever shard's it was. */
  covers(name: string): boolean {
    return Array.from(this.#predicates.values()).some(({ table }) => table === name);
  }

  /**
   * A key that was read as a commit had left it, and that another one has written since. Contents
   * are compared in any case, later; whoever knows it now need not stand in others' way first. Of
   * what native writes have left, the log does not say what is older.
   */
  overtaken(tail: Pick<Tail, "lastCommit" | "placeOfVersion">): ReadConflict | undefined {
    for (const { at, hash, seen } of this.keys.values()) {
      if (seen.identity.kind !== "version") continue;
      const timestamp = tail.lastCommit(hash);
      if (timestamp === undefined) continue;
      // A part counts below its place.
      if (timestamp <= tail.placeOfVersion(hash, seen.identity.version)) continue;
      return { hash, timestamp, read: { table: at.table.name, key: at.key } };
    }
    return undefined;
  }

  /** What nobody may write once the transaction is prepared, and what to call it. */
  checks(): readonly (readonly [KeyHash, KeyRead | PredicateRead])[] {
    const keys = Array.from(this.keys.values(), ({ at, hash }): [KeyHash, KeyRead] => {
      return [hash, { table: at.table.name, key: at.key }];
    });
    return [...keys, ...this.#predicates];
  }
}

function requireAtMost(name: string, max: number, actual: number): void {
  const remedy = "query and scan less of mixed tables in one transaction";
  if (actual > max) throw tooLarge({ name, max, actual }, remedy);
}
