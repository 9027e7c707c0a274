/**
 * A Kinesis mapping's event as stream records. A mapping invokes with records of one shard only; a
 * batch of two would have no single log to go to, so it is refused.
 */
import type { KinesisStreamEvent, KinesisStreamRecord } from "aws-lambda";
import { assert } from "../../core/assert.ts";
import type { StreamRecord } from "../../core/ports.ts";
import { isSequenceNumber } from "../../core/sequence-number.ts";
import type { ShardId } from "../../core/types.ts";

/** `shard` as Kinesis names it; whose records it carries, aws/shard-owners.ts knows. */
export type ShardBatch = { readonly shard: ShardId; readonly records: readonly StreamRecord[] };

const eventIdPattern = /^(shardId-[^:]+):/;

/**
 * Undefined for an event without records.
 * @throws InvariantViolation for an event that no Kinesis mapping sends.
 */
export function parseKinesisEvent(event: KinesisStreamEvent): ShardBatch | undefined {
  const [first] = event.Records;
  if (first === undefined) return undefined;
  const shard = shardOf(first);
  const records = event.Records.map((record) => {
    assert(shardOf(record) === shard, "kinesis event: all records are of one shard");
    return streamRecord(record);
  });
  return { shard, records };
}

function shardOf(record: KinesisStreamRecord): ShardId {
  const shard = eventIdPattern.exec(record.eventID)?.[1];
  assert(shard !== undefined, "kinesis event: an event id begins with its shard's");
  return shard as ShardId;
}

function streamRecord({ kinesis }: KinesisStreamRecord): StreamRecord {
  const { sequenceNumber } = kinesis;
  assert(isSequenceNumber(sequenceNumber), "kinesis event: a sequence number is decimal");
  // Seconds with a fraction of milliseconds; the product of the two is not exact.
  const arrivalMs = Math.round(kinesis.approximateArrivalTimestamp * 1000);
  assert(Number.isSafeInteger(arrivalMs) && arrivalMs > 0, "kinesis event: an arrival is a time");
  return { sequenceNumber, arrivalMs, data: Buffer.from(kinesis.data, "base64") };
}
