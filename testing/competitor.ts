/**
 * Another program that writes just what a transaction has read, between its body and its commit:
 * the conflict that a test wants to see. It writes what is there already, so it changes a row's
 * version and nothing else.
 */
import type { Item, TableDescription } from "../core/types.ts";
import type { ClientEngine } from "../engine/types.ts";
import type { FinishedBody } from "./directed-faults.ts";
import { historyKey } from "./history/key-text.ts";

type Conflict = {
  readonly table: string;
  readonly key: Item;
  /** The key's name among those that a transaction has touched. */
  readonly name: string;
  timesLeft: number;
};

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
      timesLeft: times,
    });
  }

  async beforeCommit({ isolation, touched }: FinishedBody): Promise<void> {
    const checked = isolation === "serializable" ? touched.read : touched.written;
    for (const conflict of this.#conflicts) {
      if (conflict.timesLeft === 0 || !checked.has(conflict.name)) continue;
      conflict.timesLeft -= 1;
      await this.#write(conflict);
    }
  }

  async #write({ table, key }: Conflict): Promise<void> {
    this.#engine ??= this.#connect();
    await this.#engine.transact({}, async (transaction) => {
      const item = await transaction.get(table, key);
      // Where nothing stands, a deletion is a version, too.
      if (item === undefined) transaction.delete(table, key);
      else transaction.put(table, item);
    });
  }
}
