/**
 * The records of a Kinesis shard as each log that it carries takes them: a record names its log by
 * its fingerprint (core/key-hash.ts), and any number of logs may share a Kinesis shard. Each goes
 * by a cursor of its own, and covers its own records.
 */
import type { CallOptions, ControlStore, StreamRecord } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import { fingerprintOfRecord } from "../../schemas/commit-record-reading.ts";

export type CarriedBatch = { readonly shard: ShardId; readonly records: readonly StreamRecord[] };

export type CarriedRecords = {
  /**
   * Whose records the Kinesis shard carries.
   * @param again whether to ask anew: a shard may have been split off since.
   */
  readonly ownersOf: (again: boolean) => Promise<readonly ShardId[]>;
  readonly records: readonly StreamRecord[];
};

/**
 * What names none of the shards goes to the first: that one refuses and counts it. None at all:
 * the Kinesis shard carries nobody's.
 */
export async function carriedBatches(
  control: Pick<ControlStore, "keyHasher">,
  { ownersOf, records }: CarriedRecords,
  call: CallOptions,
): Promise<readonly CarriedBatch[]> {
  for (const again of [false, true]) {
    const owners = await ownersOf(again);
    const [shard] = owners;
    if (shard === undefined) return [];
    const { batches, strangers } = await parted(control, { owners, records }, call);
    if (strangers.length === 0) return batches;
    const [first, ...others] = batches;
    // mutant: owners-asked-once
    if (!again) continue;
    if (first?.shard !== shard) return [{ shard, records: strangers }, ...batches];
    // In the stream's order.
    const own = new Set([...first.records, ...strangers]);
    return [{ shard, records: records.filter((record) => own.has(record)) }, ...others];
  }
  return [];
}

async function parted(
  control: Pick<ControlStore, "keyHasher">,
  {
    owners,
    records,
  }: { readonly owners: readonly ShardId[]; readonly records: readonly StreamRecord[] },
  call: CallOptions,
): Promise<{ readonly batches: CarriedBatch[]; readonly strangers: readonly StreamRecord[] }> {
  const byFingerprint = new Map<number, StreamRecord[]>();
  const batches: CarriedBatch[] = [];
  for (const shard of owners) {
    const { fingerprint } = await control.keyHasher(shard, call);
    const own: StreamRecord[] = [];
    byFingerprint.set(fingerprint, own);
    batches.push({ shard, records: own });
  }
  const strangers: StreamRecord[] = [];
  for (const record of records) {
    const fingerprint = fingerprintOfRecord(record.data);
    const own = fingerprint === undefined ? undefined : byFingerprint.get(fingerprint);
    (own ?? strangers).push(record);
  }
  return { batches: batches.filter((batch) => batch.records.length > 0), strangers };
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
