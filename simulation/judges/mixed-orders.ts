/**
 * Orders of versions of items of mixed tables: the log alone knows them for no such item, since
 * native writes and local commits are not in it; and the stores have none of what a native write
 * has superseded before it was installed.
 */
import type { HistoryTransaction, VersionOrder } from "../../testing/history/types.ts";

/**
 * @param logged orders as the log has them, of all items.
 * @param stored the same as the stores held them, of items of mixed tables.
 */
export function withStoredOrders(
  logged: readonly VersionOrder[],
  stored: ReadonlyMap<string, readonly string[]>,
  transactions: readonly HistoryTransaction[],
): readonly VersionOrder[] {
  const native = nativeKeys(transactions);
  const orders = logged.filter(({ key }) => !stored.has(key));
  const ofLog = new Map(logged.map(({ key, versions }) => [key, versions]));
  for (const [key, versions] of stored) {
    const inLog = ofLog.get(key) ?? [];
    // Each is a part of the truth; together they may leave open what came first.
    if (native.has(key)) orders.push({ key, versions: inLog }, { key, versions });
    else orders.push({ key, versions: merged(versions, inLog) });
  }
  return orders;
}

/**
 * Two parts of one order. What the log alone has stands before what replaced it in the same commit:
 * without native writes every commit is installed before the next one is made.
 */
function merged(stored: readonly string[], logged: readonly string[]): readonly string[] {
  const places = new Map(logged.map((version, place) => [version, place]));
  const whole: string[] = [];
  let from = 0;
  for (const version of stored) {
    const place = places.get(version);
    if (place !== undefined && place >= from) {
      whole.push(...logged.slice(from, place));
      from = place + 1;
    }
    whole.push(version);
  }
  return [...whole, ...logged.slice(from)];
}

function nativeKeys(transactions: readonly HistoryTransaction[]): ReadonlySet<string> {
  const native = transactions.filter(({ kind }) => kind === "native");
  return new Set(native.flatMap(({ ops }) => ops.map(([, key]) => key)));
}
