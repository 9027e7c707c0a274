/**
 * What the pages of one pass over an index have shown, as one transaction remembers it. An entry of
 * an index moves while the pages are read: the same row is then found twice, at another place than
 * the one where it lies at the read timestamp, or not at all.
 */
import type { AttributeValue, Item } from "../core/types.ts";

/** A row as it stands at the read timestamp. */
export type IndexRow = {
  readonly key: Item;
  readonly item: Item;
  /** Equal exactly for equal items. */
  readonly identity: string;
  /** Its sort value at the read timestamp; undefined where the index's order is not known. */
  readonly place: AttributeValue | undefined;
};

/**
 * How far a pass has come. Never changed: the same page may be asked for again, or with another
 * limit. What was shown stands in a log that is shared with what follows, so that a pass of many
 * pages costs no more than its rows.
 */
export class IndexPass {
  /** Whether its first page was this transaction's, so that nothing else was shown. */
  readonly isWhole: boolean;
  /** Found on its pages, and due on a later one. */
  readonly ahead: readonly IndexRow[];
  readonly #log: Map<string, number>;
  readonly #shown: number;

  private constructor(parts: {
    readonly isWhole: boolean;
    readonly ahead: readonly IndexRow[];
    readonly log: Map<string, number>;
  }) {
    this.isWhole = parts.isWhole;
    this.ahead = parts.ahead;
    this.#log = parts.log;
    this.#shown = parts.log.size;
  }

  static begun({ isWhole }: { readonly isWhole: boolean }): IndexPass {
    return new IndexPass({ isWhole, ahead: [], log: new Map() });
  }

  /** Whether a page before has shown the row. */
  hasShown(identity: string): boolean {
    return (this.#log.get(identity) ?? Infinity) < this.#shown;
  }

  /** After one more page. */
  after(page: {
    readonly shown: Iterable<string>;
    readonly ahead: readonly IndexRow[];
  }): IndexPass {
    const { isWhole, ahead } = { isWhole: this.isWhole, ahead: page.ahead };
    const isNewest = this.#log.size === this.#shown;
    // Another page has followed this one already: its rows are none of this one's.
    const log = isNewest ? this.#log : new Map([...this.#log].slice(0, this.#shown));
    for (const identity of page.shown) if (!log.has(identity)) log.set(identity, log.size);
    return new IndexPass({ isWhole, ahead, log });
  }
}
