/**
 * The commit stream on Kinesis. A put may store a record, not store it, or leave that open, and
 * every record gets its own answer; a record stored twice is harmless (I3), so open answers are
 * never taken for failures.
 *
 * A shard is a hash key: where Kinesis keeps it may change (kinesis-shards.ts). Puts need not know,
 * reads look for it.
 */
import type {
  PutRecordsCommandOutput,
  PutRecordsRequestEntry,
  PutRecordsResultEntry,
} from "@aws-sdk/client-kinesis";
import { assert } from "../core/assert.ts";
import { StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, Clock, CommitStream, PutRecordResult, Random } from "../core/ports.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { ShardId } from "../core/types.ts";
import { callWrite } from "./call.ts";
import type { KinesisHandle } from "./clients.ts";
import type { ShardEntry } from "./dynamodb-control-store.ts";
import type { KinesisShardId } from "./kinesis-shards.ts";
import { inKnownOrder } from "./middleware-order.ts";
import { toSequenceNumber } from "../core/sequence-number.ts";

const reading = new OnDemand("reads of the stream", () => import("./kinesis-record-reads.ts"));

export type CommitStreamParts = {
  readonly kinesis: () => Promise<KinesisHandle>;
  readonly clock: Clock;
  readonly random: Random;
  readonly stream: string;
  /** The deployment's shards; asked once, and again when a shard is not among them. */
  readonly shardEntries: (options?: CallOptions) => Promise<readonly ShardEntry[]>;
};

/** Kinesis wants a partition key even where the explicit hash key decides. */
const partitionKey = "t";

export function createKinesisCommitStream(parts: CommitStreamParts): CommitStream {
  const hashKeys = new Map<ShardId, string>();
  const carriers = new Map<ShardId, KinesisShardId>();
  const hashKeyOf = async (shard: ShardId, options: CallOptions | undefined): Promise<string> => {
    if (!hashKeys.has(shard)) {
      for (const entry of await parts.shardEntries(options)) {
        hashKeys.set(entry.shard, entry.startingHashKey);
      }
    }
    const hashKey = hashKeys.get(shard);
    if (hashKey === undefined) {
      throw new StoreError(
        "rejected",
        `shard ${shard} is not in the control table; is it provisioned?`,
      );
    }
    return hashKey;
  };
  return {
    async put(shard, records, options) {
      if (records.length === 0) return [];
      const hashKey = await hashKeyOf(shard, options);
      return putRecords(parts, { hashKey, records }, options);
    },
    read: (shard, from, options) =>
      reading.use(({ readRecords }) => readRecords(parts, { shard, from, carriers }, options)),
  };
}

type PutRequest = {
  readonly hashKey: string;
  readonly records: readonly Uint8Array[];
};

async function putRecords(
  parts: CommitStreamParts,
  { hashKey, records }: PutRequest,
  options: CallOptions | undefined,
): Promise<readonly PutRecordResult[]> {
  const bytes = records.reduce((sum, data) => sum + data.length, 0);
  assert(records.length <= limits.recordsPerPutMax, "stream: too many records in one put");
  assert(bytes <= limits.putBytesMax, "stream: too many bytes in one put");
  const { sdk, client } = await parts.kinesis();
  const entries = records.map((Data): PutRecordsRequestEntry => ({
    Data,
    ExplicitHashKey: hashKey,
    PartitionKey: partitionKey,
  }));
  const put = new sdk.PutRecordsCommand({ StreamName: parts.stream, Records: entries });
  const command = inKnownOrder(client, put);
  options?.signal?.throwIfAborted();
  if (options?.consumption !== undefined) options.consumption.calls += 1;
  let output: PutRecordsCommandOutput;
  try {
    const result = await callWrite({
      operation: `PutRecords on ${parts.stream}`,
      command,
      send: (http) => client.send(command, http),
      options,
    });
    assert(result.kind === "done", "stream: PutRecords has no condition that could fail");
    output = result.output;
  } catch (cause) {
    const fault = cause instanceof StoreError ? cause.fault : "unavailable";
    if (fault === "rejected") throw cause;
    return records.map(() =>
      // mutant: unknown-put-taken-for-throttled
      fault === "throttled" ? { kind: "throttled", cause } : { kind: "unknown", cause },
    );
  }
  return records.map((_, index) => toResult(output.Records?.[index]));
}

/**
 * Which Kinesis shard took the record is of no interest: it is the one that covers the hash key.
 */
function toResult(entry: PutRecordsResultEntry | undefined): PutRecordResult {
  if (entry?.ErrorCode === "ProvisionedThroughputExceededException") return { kind: "throttled" };
  if (entry?.SequenceNumber === undefined || entry.ErrorCode !== undefined) {
    const detail = `${entry?.ErrorCode ?? "no answer"}: ${entry?.ErrorMessage ?? ""}`;
    return { kind: "unknown", cause: new StoreError("unavailable", `PutRecords: ${detail}`) };
  }
  return { kind: "stored", sequenceNumber: toSequenceNumber(entry.SequenceNumber) };
}
