/**
 * The order of every key's versions as the log has it: commits in order of position. This is the
 * truth that stores have to follow; superseded versions may never reach a table. A key whose range
 * has gone from log to log has them in the order of their timestamps, which rise from each log to
 * the next.
 */
import type { LoggedVersions } from "../../testing/history/chained-versions.ts";
import { historyKey, historyVersion } from "../../testing/history/key-text.ts";
import type { LoggedWrite } from "./logged-writes.ts";

export function versionsOf(writes: readonly LoggedWrite[]): readonly LoggedVersions[] {
  const orders = new Map<string, { versions: LoggedVersion[]; deletedAt: number[] }>();
  const logs = new Map<string, Set<string>>();
  for (const { shard, table, key, item, timestamp } of writes) {
    const version = historyVersion(item);
    // What no recorder wrote (idempotency entries) has no name.
    if (version === undefined) continue;
    const name = historyKey(table, key);
    const order = orders.get(name) ?? { versions: [], deletedAt: [] };
    orders.set(name, order);
    logs.set(name, (logs.get(name) ?? new Set()).add(shard));
    if (version === null) order.deletedAt.push(timestamp);
    else order.versions.push({ version, timestamp });
  }
  for (const [name, { versions }] of orders) {
    if ((logs.get(name)?.size ?? 0) > 1) versions.sort((a, b) => a.timestamp - b.timestamp);
  }
  return [...orders].map(([key, order]) => ({ key, ...order }));
}

type LoggedVersion = LoggedVersions["versions"][number];

/** What the stores held must be a part of the log's order, in that order. */
export function misplacedVersions(
  stored: ReadonlyMap<string, readonly string[]>,
  log: readonly LoggedVersions[],
): string[] {
  const found: string[] = [];
  const orders = new Map(
    log.map(({ key, versions }) => [key, versions.map(({ version }) => version)]),
  );
  for (const [key, versions] of stored) {
    const order = orders.get(key) ?? [];
    let from = 0;
    for (const version of versions) {
      const at = order.indexOf(version, from);
      if (at < 0) {
        found.push(`I3: ${key} held ${version}, which the log does not have there`);
        break;
      }
      from = at + 1;
    }
  }
  return found;
}
