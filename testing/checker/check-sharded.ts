/**
 * The judge of a history over several shards. The present is judged by real time, the past by
 * timestamps, each apart: of two transactions in different shards that nothing connects, the order
 * of their timestamps is that of real time only up to the error of the store's clocks
 * (docs/adr/0015-many-shards.md, The past). So who reads the past is left out of the one, and who
 * only reads the present out of the other. Of items that native operations touch there is no past.
 */
import { isWrite, type History, type HistoryTransaction } from "../history/types.ts";
import { checkHistory, type CheckOptions, type CheckReport } from "./check-history.ts";

/** @returns as `checkHistory`; what it took is the sum of both. */
export function checkShardedHistory(history: History, options: CheckOptions): CheckReport {
  const present = checkHistory(only(history, isOfThePresent), { ...options, timestamps: false });
  if (options.timestamps === false || present.findings.length > 0) return present;
  const untimed = { ...options, strict: false, allowed: false };
  const past = checkHistory(only(withoutNative(history), isTimed), untimed);
  const sum = (of: keyof CheckReport["work"]): number => present.work[of] + past.work[of];
  return {
    ...present,
    findings: past.findings,
    findingsCount: past.findingsCount,
    work: { nodes: sum("nodes"), edges: sum("edges"), visits: sum("visits") },
  };
}

function only(history: History, keeps: (transaction: HistoryTransaction) => boolean): History {
  return { ...history, transactions: history.transactions.filter(keeps) };
}

/** Without native operations, and without the items that they touch. */
function withoutNative(history: History): History {
  const { transactions, versionOrder, finalState, ...more } = history;
  const native = transactions.filter(({ kind }) => kind === "native");
  if (native.length === 0) return history;
  const keys = new Set(native.flatMap(({ ops }) => ops.map(([, key]) => key)));
  const isOwn = ({ key }: { readonly key: string }): boolean => !keys.has(key);
  return {
    ...more,
    transactions: transactions
      .filter(({ kind }) => kind !== "native")
      .map((each) => ({ ...each, ops: each.ops.filter(([, key]) => !keys.has(key)) })),
    ...(versionOrder && { versionOrder: versionOrder.filter(isOwn) }),
    ...(finalState && { finalState: finalState.filter(isOwn) }),
  };
}

/** There a read timestamp is only had of the past (testing/history/recording-engine.ts). */
function isOfThePresent(transaction: HistoryTransaction): boolean {
  return transaction.snapshotTs === undefined || writes(transaction);
}

function isTimed(transaction: HistoryTransaction): boolean {
  return transaction.snapshotTs !== undefined || writes(transaction);
}

function writes({ ops }: HistoryTransaction): boolean {
  return ops.some(isWrite);
}
