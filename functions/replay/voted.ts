/**
 * What becomes of items of mixed tables when the log has voted down what was prepared
 * (docs/adr/0014-native-operations.md, Replay): its fences and placeholders are taken away. Calls
 * of its client may be on their way, or its process frozen before one; so the items are queued for
 * the reaper first, which looks again when none can come any more.
 *
 * Fences of what is aborted bar nobody. So once its items are queued the watermark may pass it, and
 * a table that lets nobody clean up holds up no shard.
 */
import type { FencedItems } from "../../core/aborted-fences-port.ts";
import { CorruptDataError, StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, Ports } from "../../core/ports.ts";
import type {
  CommittedVerdict,
  Item,
  Payload,
  PreparedVerdict,
  ShardId,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { ignore, Semaphore } from "../../engine/concurrency.ts";
import { writeAt } from "../../engine/installing/payload-writes.ts";
import { removeFencesOf } from "../../engine/installing/remove-fences.ts";
import { encodeItem } from "../../schemas/attribute-value.ts";
import type { Observability } from "../shared/observability.ts";

export type VotedDown = {
  readonly prepared: PreparedVerdict;
  /** Of the vote against. */
  readonly through: Timestamp;
};

export type CleanUpWork = {
  readonly ports: Pick<Ports, "mixed" | "control">;
  readonly observability: Observability;
  readonly shard: ShardId;
  readonly call: CallOptions;
  /** @throws CorruptDataError when it is gone or damaged. */
  readonly payloadOf: (verdict: CommittedVerdict) => Promise<Payload>;
  /** What the registry knows, read again if it does not know it. */
  readonly find: (table: string) => Promise<TableDescription | undefined>;
};

/** @throws StoreError, before the watermark may pass any of them. */
export async function cleanUpVotedDown(
  work: CleanUpWork,
  votedDown: readonly VotedDown[],
): Promise<void> {
  const places = new Semaphore(limits.abortedConcurrencyMax);
  const tasks: Promise<void>[] = [];
  try {
    for (const { prepared, through } of votedDown) {
      // One after the other: payloads in the stream are read ahead.
      for (const [part, fenced] of (await fencedBy(work, prepared)).entries()) {
        const task = places.run(() => cleanUpOne(work, { through, part, ...fenced }));
        task.catch(ignore);
        tasks.push(task);
      }
    }
  } finally {
    await Promise.allSettled(tasks);
  }
  await Promise.all(tasks);
}

async function cleanUpOne(
  { ports, observability, shard, call }: CleanUpWork,
  fenced: FencedItems & { readonly through: Timestamp; readonly part: number },
): Promise<void> {
  await ports.control.queueFences({ shard, ...fenced }, call);
  try {
    const removed = await removeFencesOf(ports.mixed, fenced, call);
    observability.metrics.count("FencesRemoved", removed);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const { id, table } = fenced;
    observability.log.warn("fences of what was aborted stay until the reaper comes", {
      ...{ shard, transactionId: id, table },
      reason: error.message,
    });
  }
}

/** What it writes on mixed tables that are registered, table by table, as the queue takes it. */
async function fencedBy(
  { payloadOf, find, observability, shard }: CleanUpWork,
  { id, timestamp, writes, payload }: PreparedVerdict,
): Promise<readonly FencedItems[]> {
  let written: Payload;
  try {
    written = await payloadOf({ kind: "committed", id, timestamp, writes, payload });
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    observability.log.warn("what was aborted cannot be read; its fences stay until met", {
      ...{ shard, transactionId: id },
      reason: error.message,
    });
    return [];
  }
  const byTable = new Map<string, Item[]>();
  for (const index of written.writes.keys()) {
    const { write, table } = writeAt(written, index);
    if (table.isMixed !== true) continue;
    const keys = byTable.get(table.name);
    if (keys === undefined) byTable.set(table.name, [write.key]);
    else keys.push(write.key);
  }
  const parts: FencedItems[] = [];
  for (const [table, keys] of byTable) {
    // Nobody's rights serve to change what is not a user's table.
    if ((await find(table)) !== undefined) parts.push(...partsOf({ id, table, keys }));
  }
  return parts;
}

function partsOf({ id, table, keys }: FencedItems): readonly FencedItems[] {
  const parts: { id: TransactionId; table: string; keys: Item[] }[] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const key of keys) {
    const size = encodeItem(key).length + 64;
    if (bytes + size > limits.tombstoneItemBytesMax) {
      parts.push({ id, table, keys: [] });
      bytes = 0;
    }
    parts.at(-1)?.keys.push(key);
    bytes += size;
  }
  return parts;
}
