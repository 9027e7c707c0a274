/**
 * The records of a Kinesis shard as each log that it carries takes them: a record names its log by
 * its fingerprint (core/key-hash.ts), and any number of logs may share a Kinesis shard. Each goes
 * by a cursor of its own, and covers its own records.
 */
import type { CallOptions, ControlStore, StreamRecord } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import { fingerprintOfRecord } from "../../schemas/commit-record-reading.ts";

export type CarriedBatch = { readonly shard: ShardId; readonly records: readonly StreamRecord[] };

/**
 * @param owners whose records the Kinesis shard carries. What names none of them goes to the first:
 *   that one refuses and counts it.
 */
export async function carriedBatches(
  control: Pick<ControlStore, "keyHasher">,
  {
    owners,
    records,
  }: { readonly owners: readonly ShardId[]; readonly records: readonly StreamRecord[] },
  call: CallOptions,
): Promise<readonly CarriedBatch[]> {
  const [first, ...others] = owners;
  if (first === undefined) return [];
  if (others.length === 0) return [{ shard: first, records }];
  const byFingerprint = new Map<number, StreamRecord[]>();
  const batches: { shard: ShardId; records: StreamRecord[] }[] = [];
  for (const shard of owners) {
    const { fingerprint } = await control.keyHasher(shard, call);
    const own: StreamRecord[] = [];
    byFingerprint.set(fingerprint, own);
    batches.push({ shard, records: own });
  }
  for (const record of records) {
    const fingerprint = fingerprintOfRecord(record.data);
    const own = fingerprint === undefined ? undefined : byFingerprint.get(fingerprint);
    (own ?? batches[0]?.records)?.push(record);
  }
  return batches.filter((batch) => batch.records.length > 0);
}

/**
 * Handles each of them, side by side: one whose log stands holds up no other.
 * @throws the first failure once all have ended: then all are delivered again.
 */
export async function handleEach<Batch, Result>(
  batches: readonly Batch[],
  handle: (batch: Batch) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = await Promise.allSettled(batches.map(handle));
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
