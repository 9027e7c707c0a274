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
  _Record as KinesisRecord,
} from "@aws-sdk/client-kinesis";
import { assert } from "../core/assert.ts";
import { CorruptDataError, StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type {
  CallOptions,
  Clock,
  CommitStream,
  PutRecordResult,
  Random,
  StreamRead,
  StreamRecord,
} from "../core/ports.ts";
import { compareSequenceNumbers, isSequenceNumber } from "../core/sequence-number.ts";
import type { SequenceNumber, ShardId } from "../core/types.ts";
import { backOff } from "./bounded.ts";
import { callRead, callWrite } from "./call.ts";
import type { KinesisHandle } from "./clients.ts";
import type { ShardEntry } from "./dynamodb-control-store.ts";
import type { KinesisShardId, KinesisShards } from "./kinesis-shards.ts";

export type CommitStreamParts = {
  readonly kinesis: () => Promise<KinesisHandle>;
  readonly clock: Clock;
  readonly random: Random;
  readonly stream: string;
  /** The deployment's shards; asked once, and again when a shard is not among them. */
  readonly shardEntries: (options?: CallOptions) => Promise<readonly ShardEntry[]>;
  readonly shards: Pick<KinesisShards, "carrierOf">;
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
    async read(shard, from, options) {
      // Most of what is asked for is young, and lies where the last was found.
      const last = carriers.get(shard) ?? shard;
      const read = await readFrom(parts, { carrier: last, from }, options);
      if (read.kind === "found") return read;
      // Only what carried the record can tell that it is gone, and that is Kinesis's to say.
      const carrier = await parts.shards.carrierOf(shard, from, options);
      if (carrier === last) return read;
      if (carrier === undefined) return { kind: "unseen", complete: true };
      carriers.set(shard, carrier);
      return readFrom(parts, { carrier, from }, options);
    },
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
  const command = new sdk.PutRecordsCommand({ StreamName: parts.stream, Records: entries });
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
      fault === "throttled" ? { kind: "throttled" } : { kind: "unknown", cause },
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

/** Some stand-ins pad with zeros; one spelling per number keeps comparisons by text right. */
function toSequenceNumber(text: string | undefined): SequenceNumber {
  const plain = (text ?? "").replace(/^0+(?=\d)/, "");
  if (!isSequenceNumber(plain)) {
    throw new CorruptDataError(`stream: "${plain.slice(0, 80)}" is no sequence number`);
  }
  return plain;
}

type Position = {
  readonly carrier: KinesisShardId;
  readonly from: SequenceNumber;
};

type ReadOptions = CallOptions & { readonly recordsMax: number };

/** `trimmed` holds if the carrier is the one that gave out the sequence number. */
async function readFrom(
  parts: CommitStreamParts,
  { carrier, from }: Position,
  options: ReadOptions,
): Promise<StreamRead> {
  const records: StreamRecord[] = [];
  let iterator = await iteratorAt(parts, { carrier, from }, options);
  let complete = true;
  let calls = 0;
  while (iterator !== undefined && records.length < options.recordsMax) {
    calls += 1;
    if (calls > limits.streamReadCallsMax) {
      complete = false;
      break;
    }
    const page = await getRecords(parts, iterator, options.recordsMax - records.length, options);
    if (page === "expired") {
      // Five minutes old, or the process slept. Go on from what was read last.
      const last = records.at(-1)?.sequenceNumber;
      iterator = await iteratorAt(
        parts,
        { carrier, from: last ?? from, after: last !== undefined },
        options,
      );
      continue;
    }
    for (const record of page.records) records.push(toRecord(record));
    const first = records[0];
    // The iterator begins at the oldest record left. A later one than asked for means that
    // retention took `from`.
    if (first !== undefined && compareSequenceNumbers(first.sequenceNumber, from) !== 0) {
      return { kind: "trimmed" };
    }
    if (page.records.length === 0 && page.behindMs === 0) break;
    // An empty page although records follow: Kinesis steps through its storage; ask on, not in a
    // spin.
    if (page.records.length === 0) await backOff(Math.min(calls, 4), parts, options.signal);
    iterator = page.next;
  }
  return records.length > 0 ? { kind: "found", records } : { kind: "unseen", complete };
}

function toRecord(record: KinesisRecord): StreamRecord {
  return {
    sequenceNumber: toSequenceNumber(record.SequenceNumber),
    arrivalMs: Math.round(record.ApproximateArrivalTimestamp?.getTime() ?? Number.NaN),
    data: record.Data ?? new Uint8Array(0),
  };
}

/**
 * Undefined when the sequence number lies outside what the Kinesis shard still holds, or the shard
 * is gone.
 */
async function iteratorAt(
  parts: CommitStreamParts,
  position: Position & { readonly after?: boolean },
  options: ReadOptions,
): Promise<string | undefined> {
  const { sdk, client } = await parts.kinesis();
  if (options.consumption !== undefined) options.consumption.calls += 1;
  const command = new sdk.GetShardIteratorCommand({
    StreamName: parts.stream,
    ShardId: position.carrier,
    ShardIteratorType: position.after === true ? "AFTER_SEQUENCE_NUMBER" : "AT_SEQUENCE_NUMBER",
    StartingSequenceNumber: position.from,
  });
  try {
    const output = await callRead({
      operation: `GetShardIterator on ${parts.stream}`,
      send: (http) => client.send(command, http),
      options,
    });
    return output.ShardIterator;
  } catch (error) {
    const code = error instanceof StoreError ? error.code : undefined;
    if (code === "InvalidArgumentException" || code === "ResourceNotFoundException") {
      return undefined;
    }
    throw error;
  }
}

type RecordPage = {
  readonly records: readonly KinesisRecord[];
  /** Milliseconds behind the shard's newest record. */
  readonly behindMs: number;
  readonly next: string | undefined;
};

async function getRecords(
  parts: CommitStreamParts,
  ShardIterator: string,
  Limit: number,
  options: ReadOptions,
): Promise<RecordPage | "expired"> {
  const { sdk, client } = await parts.kinesis();
  if (options.consumption !== undefined) options.consumption.calls += 1;
  const command = new sdk.GetRecordsCommand({ ShardIterator, Limit: Math.min(Limit, 10_000) });
  try {
    const output = await callRead({
      operation: `GetRecords on ${parts.stream}`,
      send: (http) => client.send(command, http),
      options,
    });
    return {
      records: output.Records ?? [],
      behindMs: output.MillisBehindLatest ?? 0,
      next: output.NextShardIterator,
    };
  } catch (error) {
    const expired = error instanceof StoreError && error.code === "ExpiredIteratorException";
    if (expired) return "expired";
    throw error;
  }
}
