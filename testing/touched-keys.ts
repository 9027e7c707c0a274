/**
 * Which keys a run of a transaction's body has read and written, so that a test can interfere with
 * exactly these.
 */
import type { Item } from "../core/types.ts";
import type { BodyTransaction } from "../engine/types.ts";
import { historyKey } from "./history/key-text.ts";

export class TouchedKeys {
  /** Names of keys (history/key-text.ts). */
  readonly read = new Set<string>();
  readonly written = new Set<string>();
  /** Whether some of them are of a mixed table. */
  isMixed = false;

  /** The transaction, observed. */
  observing(transaction: BodyTransaction): BodyTransaction {
    const name = (table: string, item: Item): string => {
      const described = transaction.describe(table);
      this.isMixed ||= described.access === "mixed";
      return historyKey(described, item);
    };
    return {
      get readTimestamp() {
        return transaction.readTimestamp;
      },
      describe: (table) => transaction.describe(table),
      get: async (table, key) => {
        const item = await transaction.get(table, key);
        this.read.add(name(table, key));
        return item;
      },
      batchGet: async (keys) => {
        const items = await transaction.batchGet(keys);
        for (const { table, key } of keys) this.read.add(name(table, key));
        return items;
      },
      queryPage: async (table, query, wish) => {
        const page = await transaction.queryPage(table, query, wish);
        for (const row of page.rows) this.read.add(name(table, row));
        return page;
      },
      scanPage: async (table, scan, wish) => {
        const page = await transaction.scanPage(table, scan, wish);
        for (const row of page.rows) this.read.add(name(table, row));
        return page;
      },
      put: (table, item) => {
        transaction.put(table, item);
        this.written.add(name(table, item));
      },
      delete: (table, key) => {
        transaction.delete(table, key);
        this.written.add(name(table, key));
      },
      rollback: () => {
        transaction.rollback();
        this.written.clear();
      },
      doom: (error) => {
        transaction.doom(error);
      },
    };
  }
}
