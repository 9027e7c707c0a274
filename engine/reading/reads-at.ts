/** Where a reader of the past stands (docs/protocol.md §5, Reads in the past). */
import { assert } from "../../core/assert.ts";
import { InvalidRequestError, SnapshotTooOldError } from "../../core/errors.ts";
import { oldestKept } from "../../core/history.ts";
import * as limits from "../../core/limits.ts";
import { TransactionReads } from "../../core/transaction-reads.ts";
import type { Timestamp } from "../../core/types.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import { orAborted } from "../concurrency.ts";

/**
 * In one shard a timestamp above the log's end means the log's end: nothing was committed in
 * between. Of several each is waited for until its log has come so far (sharded/reach.ts).
 * @throws InvalidRequestError for one in the future; SnapshotTooOldError for one that is not kept.
 */
export async function readsAt(
  services: AttemptServices,
  asOf: Timestamp,
): Promise<TransactionReads> {
  const { sessions, call, ports, registry } = services;
  const { lone } = sessions;
  const newest = await newestIn(services, sessions.map.entries.slice(0, 1));
  // After the refresh, and at every attempt: the past goes by what the registry says by now.
  await orAborted(registry.ready(), call.signal);
  const { retention } = registry;
  // It is at least as late as the log's end, whatever a slow clock says.
  let nowMs = Math.max(ports.clock.nowMs(), newest / 1000);
  if (asOf > latestAt(nowMs) && lone === undefined) {
    nowMs = Math.max(nowMs, (await newestIn(services, sessions.map.entries)) / 1000);
  }
  if (asOf > latestAt(nowMs)) {
    throw new InvalidRequestError(
      "asOf",
      `asOf ${asOf} lies in the future, more than ${limits.asOfAheadMsMax} ms from now; ` +
        "leave it out to read the newest state",
    );
  }
  // mutant: own-retention-believed
  const oldest = oldestKept(retention, nowMs);
  if (asOf < oldest) {
    throw new SnapshotTooOldError(
      `asOf ${asOf} lies before ${oldest}, the oldest moment that is kept ` +
        `(for ${retention.retentionMs} ms); ask for a later one, or keep history for longer`,
      { retryable: false },
    );
  }
  return new TransactionReads(lone === undefined ? asOf : (Math.min(asOf, newest) as Timestamp));
}

function latestAt(nowMs: number): number {
  return (nowMs + limits.asOfAheadMsMax) * 1000;
}

/** The newest timestamp that the logs show now. */
async function newestIn(
  { sessions, call }: AttemptServices,
  entries: AttemptServices["sessions"]["map"]["entries"],
): Promise<Timestamp> {
  const ends = await Promise.all(
    entries.map(async ({ number }) => {
      const { follower } = (await orAborted(sessions.of(number), call.signal)).session;
      await orAborted(follower.refresh(), call.signal);
      return follower.tail.newest;
    }),
  );
  assert(ends.length > 0, "a deployment has a shard");
  return Math.max(...ends) as Timestamp;
}
