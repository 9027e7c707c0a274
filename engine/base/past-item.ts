/** What stood at a key before open BASE transactions wrote there (isolated-transaction.ts). */
import { SnapshotTooOldError } from "../../core/errors.ts";
import { isInHistory, oldestKept } from "../../core/history.ts";
import { TransactionReads } from "../../core/transaction-reads.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import { AttemptFate } from "../attempts/attempt-fate.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import { AttemptViews } from "../attempts/attempt-views.ts";
import { getItem } from "../reading/point-reads.ts";
import { readKeyOf } from "../reading/read-key.ts";

/** `kept: false`: history does not reach back so far. */
export type PastItem =
  | { readonly kept: true; readonly item: Item | undefined }
  | { readonly kept: false };

/**
 * History has it, once the step's write is installed. Before that the item itself may be older than
 * what was committed up to there, and is not installed either: so it is read as any other past is.
 *
 *   put x ─ committed, not installed ──────────────────────── both are installed
 *   step        reads it from the log, writes x ─ committed
 *   reader                                          finds the item as it was before the put
 */
export async function pastItem(
  services: AttemptServices,
  { table, key, at }: { readonly table: TableDescription; readonly key: Item; at: Timestamp },
): Promise<PastItem> {
  const { ports, call, sessions, registry } = services;
  const superseded = await ports.versions.find(table.name, key, at, call.options);
  if (superseded !== undefined) return { kept: true, item: superseded.item };
  // It is at least as late as what the logs show, whatever a slow clock says.
  const nowMs = Math.max(ports.clock.nowMs(), newestIn(services) / 1_000);
  // Whether an item that is missing was there only its tombstone says. Of a moment before history
  // begins, as in a table's first, the view knows how long these stand.
  const isReaped = isInHistory(table, at) && at < oldestKept(registry.retention, nowMs);
  if (isReaped) return { kept: false };
  // A fate of its own: what it meets does not end the reader's attempt.
  const views = new AttemptViews(
    services,
    {
      mode: "fixed",
      isolation: "snapshot",
      maxStalenessMs: Infinity,
      reads: new TransactionReads(at),
    },
    new AttemptFate(ports.clock, nowMs, call.options),
  );
  try {
    await views.begin();
    const asked = readKeyOf(sessions.hashes, { table, key });
    return { kept: true, item: await getItem(await views.at(asked.hashes.partition), asked) };
  } catch (error) {
    if (error instanceof SnapshotTooOldError) return { kept: false };
    throw error;
  } finally {
    views.close();
  }
}

function newestIn({ sessions }: AttemptServices): number {
  const started = sessions.opened.filter(({ session }) => session.follower.started);
  return Math.max(0, ...started.map(({ session }) => session.follower.tail.newest));
}
