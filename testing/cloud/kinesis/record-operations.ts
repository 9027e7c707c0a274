/** Putting records into shards, and reading them back in order. */
import type { PutRecordsResultEntry, _Record as KinesisRecord } from "@aws-sdk/client-kinesis";
import { utf8Length } from "../../../core/utf8.ts";
import { ServiceError } from "../../../expressions/service-error.ts";
import { invalidArgument, violation } from "./failures.ts";
import type { CallConditions, Operations } from "./operation-types.ts";
import { parseSequenceNumber } from "./sequence-numbers.ts";
import * as limits from "./service-limits.ts";
import { hashKeyOf, type Shard, type StoredRecord, type Stream } from "./stream.ts";
import { requireShard, requireShardId, type Streams } from "./streams.ts";

type Entry = {
  readonly Data?: Uint8Array | undefined;
  readonly PartitionKey?: string | undefined;
  readonly ExplicitHashKey?: string | undefined;
};

type CheckedEntry = {
  readonly data: Uint8Array;
  readonly partitionKey: string;
  readonly hashKey: bigint | undefined;
};

export function putRecord(
  streams: Streams,
  input: Operations["PutRecord"]["input"],
): Operations["PutRecord"]["output"] {
  const entry = checkEntry(input, "");
  const stream = streams.find(input);
  const { shard, record } = store(streams, stream, entry);
  return { ShardId: shard.id, SequenceNumber: record.sequenceNumber, EncryptionType: "NONE" };
}

export function putRecords(
  streams: Streams,
  input: Operations["PutRecords"]["input"],
  { failEntries }: CallConditions,
): Operations["PutRecords"]["output"] {
  const { Records: records = [] } = input;
  if (records.length < 1 || records.length > limits.recordsPerPutMax) {
    throw violation("records", "Member must have length between 1 and 500");
  }
  const entries = records.map((entry, index) =>
    checkEntry(entry, `records.${(index + 1).toString()}.member.`),
  );
  const bytes = entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
  if (bytes > limits.putBytesMax) throw invalidArgument("Records size exceeds 5 MB limit");
  const stream = streams.find(input);
  // Nothing is stored of a request that is refused.
  const shards = entries.map((entry) => shardFor(stream, entry));
  const Records = entries.map((entry, index): PutRecordsResultEntry => {
    const ErrorCode = failEntries?.(index);
    if (ErrorCode === undefined) {
      const { shard, record } = store(streams, stream, entry);
      return { ShardId: shard.id, SequenceNumber: record.sequenceNumber };
    }
    const ErrorMessage =
      ErrorCode === "InternalFailure"
        ? "Internal service failure."
        : `Rate exceeded for shard ${String(shards[index]?.id)} in stream ${stream.name}.`;
    return { ErrorCode, ErrorMessage };
  });
  const FailedRecordCount = Records.filter(({ ErrorCode }) => ErrorCode !== undefined).length;
  return { Records, FailedRecordCount, EncryptionType: "NONE" };
}

function checkEntry({ Data, PartitionKey, ExplicitHashKey }: Entry, parent: string): CheckedEntry {
  if (Data === undefined) throw violation(`${parent}data`, "Member must not be null");
  const length = PartitionKey?.length ?? 0;
  if (PartitionKey === undefined || length < 1 || length > limits.partitionKeyLengthMax) {
    throw violation(`${parent}partitionKey`, "Member must have length between 1 and 256");
  }
  if (ExplicitHashKey !== undefined && !/^(?:0|[1-9]\d{0,38})$/.test(ExplicitHashKey)) {
    throw violation(`${parent}explicitHashKey`, "Member must satisfy pattern: 0|([1-9]\\d{0,38})");
  }
  const hashKey = ExplicitHashKey === undefined ? undefined : BigInt(ExplicitHashKey);
  const entry = { data: Data, partitionKey: PartitionKey, hashKey };
  if (entryBytes(entry) > limits.recordBytesMax) {
    throw violation(
      `${parent}data`,
      `Member must have length less than or equal to ${limits.recordBytesMax.toString()}`,
    );
  }
  return entry;
}

function entryBytes({ data, partitionKey }: CheckedEntry): number {
  return data.length + utf8Length(partitionKey);
}

/** @throws ServiceError for a hash key beyond the last one. */
function shardFor(stream: Stream, { hashKey, partitionKey }: CheckedEntry): Shard {
  if (hashKey !== undefined && hashKey >= limits.hashKeys) {
    throw invalidArgument(
      "Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. " +
        `Specified value was ${hashKey.toString()}`,
    );
  }
  return stream.shardOf(hashKey ?? hashKeyOf(partitionKey));
}

function store(
  streams: Streams,
  stream: Stream,
  entry: CheckedEntry,
): { readonly shard: Shard; readonly record: StoredRecord } {
  const shard = shardFor(stream, entry);
  const { data, partitionKey } = entry;
  const arrivalMs = streams.arrivalMs();
  return { shard, record: shard.append({ data, partitionKey, arrivalMs }, streams.nowMs) };
}

/** What an iterator means. Its text is this model's own; the service's is opaque. */
type Iterator = {
  readonly madeMs: number;
  readonly stream: string;
  /** A stream of the same name that is made later is another one. */
  readonly streamCreatedMs: number;
  readonly shardIndex: number;
  /** Index of the record to begin with. */
  readonly place: number;
};

function iteratorText(iterator: Iterator): string {
  const { madeMs, stream, streamCreatedMs, shardIndex, place } = iterator;
  return ["iterator", madeMs, stream, streamCreatedMs, shardIndex, place].join("/");
}

function parseIterator(text: string | undefined): Iterator {
  if (text === undefined) throw violation("shardIterator", "Member must not be null");
  if (text.length < 1 || text.length > limits.iteratorLengthMax) {
    throw violation("shardIterator", "Member must have length between 1 and 512");
  }
  const match = /^iterator\/([\d.]+)\/([a-zA-Z0-9_.-]+)\/([\d.]+)\/(\d+)\/(\d+)$/.exec(text);
  if (match === null) throw invalidArgument("Invalid ShardIterator.");
  const [, madeMs, stream = "", streamCreatedMs, shardIndex, place] = match;
  return {
    madeMs: Number(madeMs),
    stream,
    streamCreatedMs: Number(streamCreatedMs),
    shardIndex: Number(shardIndex),
    place: Number(place),
  };
}

export function getShardIterator(
  streams: Streams,
  input: Operations["GetShardIterator"]["input"],
): Operations["GetShardIterator"]["output"] {
  const id = requireShardId("shardId", input.ShardId);
  requireWellFormed(input);
  const stream = streams.find(input);
  const shard = requireShard(stream, id);
  return {
    ShardIterator: iteratorText({
      madeMs: streams.nowMs,
      stream: stream.name,
      streamCreatedMs: stream.createdMs,
      shardIndex: shard.index,
      place: startingPlace(streams, shard, input),
    }),
  };
}

const iteratorTypes: readonly string[] = [
  ...["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"],
  ...["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"],
];

/** What is wrong in itself, whatever stream it is about. */
function requireWellFormed(input: Operations["GetShardIterator"]["input"]): void {
  const { ShardIteratorType: type, StartingSequenceNumber: start } = input;
  if (type === undefined || !iteratorTypes.includes(type)) {
    throw violation("shardIteratorType", `Member must be one of [${iteratorTypes.join(", ")}]`);
  }
  if (start !== undefined && !/^(?:0|[1-9]\d{0,128})$/.test(start)) {
    throw violation(
      "startingSequenceNumber",
      "Member must satisfy regular expression pattern: 0|([1-9]\\d{0,128})",
    );
  }
}

function startingPlace(
  streams: Streams,
  shard: Shard,
  input: Operations["GetShardIterator"]["input"],
): number {
  const { ShardIteratorType: type, StartingSequenceNumber: start, Timestamp } = input;
  switch (type) {
    case "AT_SEQUENCE_NUMBER":
    case "AFTER_SEQUENCE_NUMBER":
      if (start === undefined) throw wrongCombination(type, "no");
      return placeOfSequenceNumber(shard, start, type === "AFTER_SEQUENCE_NUMBER");
    case "TRIM_HORIZON":
    case "LATEST":
      if (start !== undefined) throw wrongCombination(type, "also a");
      return type === "LATEST" ? shard.records.length : 0;
    case "AT_TIMESTAMP": {
      if (Timestamp === undefined) {
        throw invalidArgument(
          "Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP. " +
            "Current request has no timestamp parameter.",
        );
      }
      const atMs = Timestamp.getTime();
      if (atMs > streams.nowMs) {
        throw invalidArgument(
          "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis.",
        );
      }
      const place = shard.records.findIndex(({ arrivalMs }) => arrivalMs >= atMs);
      return place < 0 ? shard.records.length : place;
    }
    default:
      throw violation("shardIteratorType", "Member must be one of the types of iterators");
  }
}

function wrongCombination(type: string, count: string): ServiceError {
  return invalidArgument(
    "Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and " +
      "StartingSequenceNumber or " +
      "(2) TRIM_HORIZON or LATEST and no StartingSequenceNumber. " +
      `Request specified ${type} and ${count} StartingSequenceNumber.`,
  );
}

/**
 * Index of the first record at or behind the sequence number. What retention took is passed over
 * when it is read.
 */
function placeOfSequenceNumber(shard: Shard, text: string, after: boolean): number {
  const parts = parseSequenceNumber(text);
  if (parts === undefined) {
    throw invalidArgument(
      `StartingSequenceNumber ${text} used in GetShardIterator on shard ${shard.id} is invalid.`,
    );
  }
  if (parts.shardIndex !== shard.index) {
    throw invalidArgument(
      `Invalid StartingSequenceNumber. It encodes shard ${parts.shardIndex.toString()}, ` +
        `while it was used in a call to a shard with ${shard.id}`,
    );
  }
  if (parts.shardCreatedSeconds !== shard.createdSeconds) {
    throw invalidArgument(
      `StartingSequenceNumber ${text} used in GetShardIterator on shard ${shard.id} is invalid ` +
        "because it did not come from this stream.",
    );
  }
  // The count of a record is its index and one; that of the shard's own beginning is 0.
  const at = Math.max(0, Number(parts.count) - 1);
  const place = after && parts.count > 0n ? at + 1 : at;
  return Math.min(place, shard.records.length);
}

export function getRecords(
  streams: Streams,
  input: Operations["GetRecords"]["input"],
): Operations["GetRecords"]["output"] {
  const { Limit = limits.recordsPerGetMax } = input;
  if (Limit < 1 || Limit > limits.recordsPerGetMax) {
    throw violation("limit", "Member must have value between 1 and 10000");
  }
  const iterator = parseIterator(input.ShardIterator);
  const { nowMs } = streams;
  if (nowMs - iterator.madeMs > limits.iteratorAgeMsMax) {
    throw new ServiceError("ExpiredIteratorException", {
      message:
        "Iterator expired. The iterator was created at time " +
        `${new Date(iterator.madeMs).toISOString()} ` +
        `while right now it is ${new Date(nowMs).toISOString()} which is further in the future ` +
        "than the " +
        "tolerated delay of 300000 milliseconds.",
    });
  }
  const stream = streams.find({ StreamName: iterator.stream });
  const shard = stream.shards[iterator.shardIndex];
  if (stream.createdMs !== iterator.streamCreatedMs || shard === undefined) {
    throw invalidArgument("Invalid ShardIterator.");
  }
  const start = Math.max(iterator.place, stream.firstRecord(shard, nowMs));
  const page = pageOf(shard, start, Limit);
  const place = start + page.length;
  const unread = shard.records[place];
  const done = unread === undefined && !shard.isOpen;
  return {
    Records: page.map(toRecord),
    MillisBehindLatest: unread === undefined ? 0 : Math.max(1, nowMs - unread.arrivalMs),
    ...(done
      ? { ChildShards: shard.children.map(childDescription) }
      : { NextShardIterator: iteratorText({ ...iterator, madeMs: nowMs, place }) }),
  };
}

/** At least one record where there is one, then as many as the limits let through. */
function pageOf(shard: Shard, start: number, limit: number): readonly StoredRecord[] {
  let bytes = 0;
  let end = start;
  for (; end < shard.records.length && end - start < limit; end++) {
    const record = shard.records[end];
    bytes += record === undefined ? 0 : record.data.length + utf8Length(record.partitionKey);
    if (bytes > limits.getBytesMax && end > start) break;
  }
  return shard.records.slice(start, end);
}

function toRecord(record: StoredRecord): KinesisRecord {
  return {
    SequenceNumber: record.sequenceNumber,
    ApproximateArrivalTimestamp: new Date(record.arrivalMs),
    Data: record.data,
    PartitionKey: record.partitionKey,
    EncryptionType: "NONE",
  };
}

function childDescription({ id, parents, range }: Shard) {
  return {
    ShardId: id,
    ParentShards: parents.map((parent) => parent.id),
    HashKeyRange: {
      StartingHashKey: range.low.toString(),
      EndingHashKey: range.high.toString(),
    },
  };
}
