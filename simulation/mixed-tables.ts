/** Tables of a run that native writers share with transactions. */
import type { History, HistoryOp } from "../testing/history/types.ts";
import type { TestTable } from "../testing/deployment-options.ts";

export function isMixed({ access }: TestTable): boolean {
  return access === "mixed";
}

/** The same table, for native writers too; without history, which none of them would keep. */
export function mixedTable(table: TestTable): TestTable {
  return { ...table, history: false, access: "mixed" };
}

/** Of a key as histories name it. */
export function tableOfKey(key: string): string {
  return key.slice(0, key.indexOf("["));
}

/** What a history says of all other tables. */
export function withoutTables(history: History, names: readonly string[]): History {
  if (names.length === 0) return history;
  const stays = (key: string): boolean => !names.includes(tableOfKey(key));
  const { transactions, versionOrder = [], finalState = [] } = history;
  return {
    transactions: transactions
      .map((each) => ({ ...each, ops: each.ops.filter(([, key]: HistoryOp) => stays(key)) }))
      .filter(({ kind, ops }) => kind !== "native" || ops.length > 0),
    versionOrder: versionOrder.filter(({ key }) => stays(key)),
    finalState: finalState.filter(({ key }) => stays(key)),
  };
}
