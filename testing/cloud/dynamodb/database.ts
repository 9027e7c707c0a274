/** All tables, and what every operation shares: finding a table, writing an item, the time. */
import type { Item } from "../../../core/types.ts";
import { tableMissing } from "../../../expressions/refusals.ts";
import type { RowKey } from "./ordered-rows.ts";
import type { ItemChange, Table, WriteCapacity } from "./table.ts";

export class Database {
  readonly tables = new Map<string, Table>();
  readonly #nowMs: () => number;
  readonly #listeners: ((change: ItemChange) => void)[] = [];
  /** How long images are kept for stale reads. */
  readonly staleMsMax: number;

  constructor(options: { readonly nowMs: () => number; readonly staleMsMax: number }) {
    this.#nowMs = options.nowMs;
    this.staleMsMax = options.staleMsMax;
  }

  get nowMs(): number {
    return this.#nowMs();
  }

  onWrite(listener: (change: ItemChange) => void): void {
    this.#listeners.push(listener);
  }

  /** @throws ServiceError when there is no such table. */
  table(name: string): Table {
    const table = this.tables.get(name);
    if (table === undefined) throw tableMissing();
    return table;
  }

  /** Stores a checked item, or removes what stands there, and tells the listeners. */
  write(table: Table, key: RowKey, item: Item | undefined): WriteCapacity {
    const { nowMs } = this;
    const before = table.find(key)?.item;
    const capacity = table.write(key, item, nowMs);
    const stood = before ?? item;
    if (stood !== undefined && this.#listeners.length > 0) {
      const change = { table: table.name, key: table.key(stood), before, after: item, nowMs };
      for (const listener of this.#listeners) listener(change);
    }
    return capacity;
  }
}
