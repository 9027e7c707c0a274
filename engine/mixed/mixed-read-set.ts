/**
 * What one attempt has read of mixed tables. No timestamp says when it was true: it is compared
 * with what is there when the attempt ends (docs/adr/0014-native-operations.md, Read again).
 */
import type { ItemAddress, MixedPage } from "../../core/mixed-items-port.ts";
import type { Identity } from "../../core/item-identity.ts";
import type { CallOptions } from "../../core/ports.ts";
import type { KeyRead, PredicateRead } from "../../core/transaction-reads.ts";
import type { Item, KeyHash } from "../../core/types.ts";
import type { MixedPageRequest } from "../remembered-state.ts";
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

  get size(): number {
    return this.keys.size + this.#predicates.size;
  }

  addPage(page: SeenPage): void {
    this.pages.push(page);
    this.#predicates.set(page.source.hash, page.source.predicate);
  }

  /** What nobody may write once the transaction is prepared, and what to call it. */
  checks(): readonly (readonly [KeyHash, KeyRead | PredicateRead])[] {
    const keys = Array.from(this.keys.values(), ({ at, hash }): [KeyHash, KeyRead] => {
      return [hash, { table: at.table.name, key: at.key }];
    });
    return [...keys, ...this.#predicates];
  }
}
