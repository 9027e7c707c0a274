/** A consumer of changes in a test, and what it has to have been given. */
import { expect } from "vitest";
import type { MovesFeeds } from "../../../engine/changes/types.ts";
import { createFeedMover } from "../../../engine/feed-mover.ts";
import type { ChangedRows, ChangesOptions, Client } from "../../../sdk/index.ts";
import type { TestCloud } from "../../../testing/index.ts";

/** What the feed gives until so many transactions have come. */
export async function take(
  client: Client,
  count: number,
  options: ChangesOptions,
): Promise<ChangedRows[]> {
  const taken: ChangedRows[] = [];
  if (count === 0) return taken;
  for await (const changes of client.changes(options)) {
    taken.push(changes);
    if (taken.length === count) break;
  }
  return taken;
}

/** The rows of a table as who applies all changes in their order has them. */
export function applied<Row extends object>(
  changes: readonly ChangedRows[],
  table: string,
): ReadonlyMap<string, Row> {
  const rows = new Map<string, Row>();
  for (const { rows: changed } of changes) {
    for (const { table: name, key, after } of changed) {
      if (name !== table) continue;
      const text = JSON.stringify(key);
      if (after === undefined) rows.delete(text);
      else rows.set(text, after as Row);
    }
  }
  return rows;
}

/** Each transaction once, in the order of commit timestamps. */
export function expectInOrder(changes: readonly ChangedRows[]): void {
  const timestamps = changes.map(({ commitTimestamp }) => commitTimestamp);
  expect(timestamps).toEqual([...timestamps].sort((a, b) => a - b));
  const ids = changes.map(({ transactionId }) => transactionId);
  expect(new Set(ids).size).toBe(ids.length);
}

/** What an operator moves feeds by. */
export function operatorOf(cloud: TestCloud): MovesFeeds {
  const process = cloud.world.startProcess("operator", { exact: true });
  return createFeedMover(cloud.deployment.clientPortsOf(process)).feeds;
}
