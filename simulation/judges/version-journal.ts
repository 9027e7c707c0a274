/**
 * Which versions each key has held, in order, as the tables tell it: for the history checker, which
 * must not have to believe what clients were told. Versions are named by the recorder's own
 * attribute.
 */
import { historyKey, historyAttribute } from "../../testing/history/key-text.ts";
import type { FinalState } from "../../testing/history/types.ts";
import { registeredTable, type TestTable } from "../../testing/deployment-options.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import type { StoredChange } from "./store-judge.ts";

export class VersionJournal {
  readonly orders = new Map<string, string[]>();
  readonly final = new Map<string, string | null>();
  readonly #tables: ReadonlyMap<string, TableDescription>;

  constructor(tables: readonly TestTable[]) {
    this.#tables = new Map(tables.map((table) => [table.name, registeredTable(table)]));
  }

  observe({ table: name, before, after }: StoredChange): void {
    const table = this.#tables.get(name);
    const item = after ?? before;
    if (table === undefined || item === undefined) return;
    const key = historyKey(table, item);
    const version = versionOf(after);
    this.final.set(key, version);
    if (version === null) return;
    const order = this.orders.get(key);
    if (order === undefined) this.orders.set(key, [version]);
    else if (order.at(-1) !== version) order.push(version);
  }
}

export function finalStateOf({ final }: VersionJournal): readonly FinalState[] {
  return [...final].map(([key, version]) => ({ key, version }));
}

function versionOf(item: Item | undefined): string | null {
  const value = item?.[historyAttribute];
  return value !== undefined && "S" in value ? value.S : null;
}
