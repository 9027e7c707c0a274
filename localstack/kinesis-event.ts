/**
 * The event that Lambda hands to a function subscribed to a Kinesis stream, and the answer that the
 * function may give: shapes, sizes, and how a partial batch response is understood. Pure.
 */
import type { KinesisStreamEvent, KinesisStreamRecord } from "aws-lambda";

/** A record as a shard holds it. */
export type ShardRecord = {
  /** Decimal, rising within the shard. */
  readonly sequenceNumber: string;
  readonly partitionKey: string;
  /** Approximate arrival, milliseconds since the epoch. */
  readonly arrivalMs: number;
  readonly data: Uint8Array;
};

/** What the records of an event say about where they came from. */
export type EventOrigin = {
  readonly region: string;
  readonly streamArn: string;
  readonly roleArn: string;
};

/** How far a function's answer says that a batch was processed. */
export type BatchResult =
  | { readonly kind: "done" }
  /** `index` is that of the first record to deliver again; 0 means the whole batch. */
  | { readonly kind: "failed-from"; readonly index: number };

/** Bytes of an event's JSON for one record, apart from its data, key, shard and ARNs. */
const recordEnvelopeBytes = 330;

export function kinesisEvent(
  origin: EventOrigin,
  shardId: string,
  records: readonly ShardRecord[],
): KinesisStreamEvent {
  return { Records: records.map((record) => eventRecord(origin, shardId, record)) };
}

/** An upper bound of what a record adds to the invocation's payload, in bytes of JSON. */
export function eventRecordBytes(origin: EventOrigin, record: ShardRecord): number {
  const base64Bytes = 4 * Math.ceil(record.data.byteLength / 3);
  const namesBytes = origin.streamArn.length + origin.roleArn.length + origin.region.length;
  // A partition key's character takes at most six bytes of JSON (an escaped code unit).
  const keyBytes = 6 * record.partitionKey.length;
  const sequenceBytes = 2 * record.sequenceNumber.length;
  return recordEnvelopeBytes + base64Bytes + namesBytes + keyBytes + sequenceBytes;
}

/**
 * Understands a function's answer as Lambda does when `ReportBatchItemFailures` is on: nothing, or
 * an empty list, is success; the lowest sequence number reported is where delivery goes on; an
 * identifier that is missing, empty or not of this batch fails the whole batch.
 */
export function interpretBatchResponse(
  response: unknown,
  records: readonly ShardRecord[],
): BatchResult {
  if (response === null || response === undefined) return { kind: "done" };
  const failures = member(response, "batchItemFailures");
  if (failures === null || failures === undefined) return { kind: "done" };
  if (!Array.isArray(failures)) return { kind: "failed-from", index: 0 };
  let lowest = records.length;
  for (const failure of failures as readonly unknown[]) {
    const identifier = member(failure, "itemIdentifier");
    const index = records.findIndex((record) => record.sequenceNumber === identifier);
    if (index === -1) return { kind: "failed-from", index: 0 };
    lowest = Math.min(lowest, index);
  }
  return lowest === records.length ? { kind: "done" } : { kind: "failed-from", index: lowest };
}

function eventRecord(
  origin: EventOrigin,
  shardId: string,
  record: ShardRecord,
): KinesisStreamRecord {
  const { data } = record;
  return {
    kinesis: {
      kinesisSchemaVersion: "1.0",
      partitionKey: record.partitionKey,
      sequenceNumber: record.sequenceNumber,
      data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64"),
      // Lambda gives seconds with a fraction, where the stream itself counts milliseconds.
      approximateArrivalTimestamp: record.arrivalMs / 1000,
    },
    eventSource: "aws:kinesis",
    eventVersion: "1.0",
    eventID: `${shardId}:${record.sequenceNumber}`,
    eventName: "aws:kinesis:record",
    invokeIdentityArn: origin.roleArn,
    awsRegion: origin.region,
    eventSourceARN: origin.streamArn,
  };
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
