/**
 * The event that Lambda hands to a function subscribed to a Kinesis stream: its shape and size.
 * Pure.
 */
import type { KinesisStreamEvent, KinesisStreamRecord } from "aws-lambda";
import { eventBytes } from "../testing/cloud/lambda/shard-delivery.ts";

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
  const base64Bytes = eventBytes(record.data.byteLength);
  const namesBytes = origin.streamArn.length + origin.roleArn.length + origin.region.length;
  // A partition key's character takes at most six bytes of JSON (an escaped code unit).
  const keyBytes = 6 * record.partitionKey.length;
  const sequenceBytes = 2 * record.sequenceNumber.length;
  return recordEnvelopeBytes + base64Bytes + namesBytes + keyBytes + sequenceBytes;
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
