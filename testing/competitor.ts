/**
 * Another program that writes just what a transaction has read, between its body and its commit:
 * the conflict that a test wants to see. It writes what is there already, so it changes a row's
 * version, or on a mixed table its nonce, and nothing else.
 *
 * An item of a mixed table is told from its earlier self by its identity, or by its content where
 * it has none: such a one is written before the body, too. Where nothing stands only a row that
 * comes is a change, and to a transaction that touches this one item only another content: when the
 * attempt is over, all is put back as it was.
 */
import type { Item, TableDescription } from "../core/types.ts";
import type { BodyTransaction, ClientEngine } from "../engine/types.ts";
import type { FinishedBody } from "./directed-faults.ts";
import { historyKey } from "./history/key-text.ts";

type Conflict = {
  readonly table: string;
  readonly key: Item;
  /** The key's name among those that a transaction has touched. */
  readonly name: string;
  readonly isMixed: boolean;
  /** Whether the item has an identity, as far as this program knows. */
  isIdentified: boolean;
  /** What stands there when the attempt is over; missing: what stands there now. */
  after?: { readonly item: Item | undefined } | undefined;
  timesLeft: number;
};

/** Of a row whose content changes for the time of an attempt. */
const changeAttribute = "written-by-another-program";

export class Competitor {
  readonly #connect: () => ClientEngine;
  readonly #conflicts: Conflict[] = [];
  #engine: ClientEngine | undefined;

  /** @param connect a client's engine on which no fault acts; called when it is first needed. */
  constructor(connect: () => ClientEngine) {
    this.#connect = connect;
  }

  /** Awaits transactions that this write would make fail, and makes `times` attempts fail. */
  conflictOn(table: TableDescription, key: Item, times: number): void {
    this.#conflicts.push({
      table: table.name,
      key,
      name: historyKey(table, key),
      isMixed: table.access === "mixed",
      isIdentified: false,
      timesLeft: times,
    });
  }

  /** Before the body of any transaction, and after the last one. */
  betweenBodies(): Promise<void> | undefined {
    const isDue = this.#conflicts.some(
      (conflict) => conflict.after !== undefined || isUnknown(conflict),
    );
    return isDue ? this.#prepare() : undefined;
  }

  async #prepare(): Promise<void> {
    for (const conflict of this.#conflicts) {
      if (conflict.after !== undefined) await this.#putBack(conflict, conflict.after.item);
      if (!isUnknown(conflict)) continue;
      conflict.isIdentified = true;
      await this.#rewrite(conflict);
    }
  }

  async beforeCommit({ isolation, touched }: FinishedBody): Promise<void> {
    const checked = isolation === "serializable" ? touched.read : touched.written;
    for (const conflict of this.#conflicts) {
      if (conflict.timesLeft === 0 || !checked.has(conflict.name)) continue;
      conflict.timesLeft -= 1;
      const isAlone = new Set([...touched.read, ...touched.written]).size === 1;
      if (conflict.isMixed) await this.#change(conflict, isAlone);
      else await this.#rewrite(conflict);
    }
  }

  /** @param isAlone it is the one item that the transaction touches. */
  async #change(conflict: Conflict, isAlone: boolean): Promise<void> {
    const { table, key } = conflict;
    const item = await this.#rewrite(conflict);
    if (item !== undefined && !isAlone) return;
    conflict.after = { item };
    await this.#commit((transaction) => {
      transaction.put(table, { ...(item ?? key), [changeAttribute]: { BOOL: true } });
    });
  }

  async #putBack(conflict: Conflict, item: Item | undefined): Promise<void> {
    conflict.after = undefined;
    await this.#commit((transaction) => {
      if (item === undefined) transaction.delete(conflict.table, conflict.key);
      else transaction.put(conflict.table, item);
    });
  }

  /** Returns what stands there. */
  async #rewrite({ table, key, isMixed }: Conflict): Promise<Item | undefined> {
    return this.#commit(async (transaction) => {
      const item = await transaction.get(table, key);
      if (item !== undefined) transaction.put(table, item);
      // Where nothing stands, a deletion is a version, too.
      else if (!isMixed) transaction.delete(table, key);
      return item;
    });
  }

  async #commit<Result>(
    body: (transaction: BodyTransaction) => Result | Promise<Result>,
  ): Promise<Result> {
    this.#engine ??= this.#connect();
    const { result } = await this.#engine.transact({}, async (transaction) => body(transaction));
    return result;
  }
}

/** Whether its item may be one that has no identity. */
function isUnknown({ isMixed, isIdentified, timesLeft }: Conflict): boolean {
  return isMixed && !isIdentified && timesLeft > 0;
}
