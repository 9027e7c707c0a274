/**
 * Reading the commit stream again: records by their sequence numbers, for whoever installs what
 * others have committed. Loaded with the first of them.
 */
import type { _Record as KinesisRecord } from "@aws-sdk/client-kinesis";
import { StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, Clock, Random, StreamRead, StreamRecord } from "../core/ports.ts";
import { compareSequenceNumbers, toSequenceNumber } from "../core/sequence-number.ts";
import type { SequenceNumber, ShardId } from "../core/types.ts";
import { backOff } from "./bounded.ts";
import { callRead } from "./call.ts";
import { carrierOf, type KinesisShardId, type KinesisShardsParts } from "./kinesis-shards.ts";

type ReaderParts = KinesisShardsParts & { readonly clock: Clock; readonly random: Random };

/**
 * The records of the shard from the sequence number on.
 * @param carriers where the last were found; kept up to date.
 */
export async function readRecords(
  parts: ReaderParts,
  asked: {
    readonly shard: ShardId;
    readonly from: SequenceNumber;
    readonly carriers: Map<ShardId, KinesisShardId>;
  },
  options: ReadOptions,
): Promise<StreamRead> {
  const { shard, from, carriers } = asked;
  // Most of what is asked for is young, and lies where the last was found.
  const last = carriers.get(shard) ?? namesake(shard);
  const read =
    last === undefined ? undefined : await readFrom(parts, { carrier: last, from }, options);
  if (read?.kind === "found") return read;
  // Only what carried the record can tell that it is gone, and that is Kinesis's to say.
  const carrier = await carrierOf(parts, { shard, sequenceNumber: from }, options);
  if (read !== undefined && carrier === last) return read;
  if (carrier === undefined) return { kind: "unseen", complete: true };
  carriers.set(shard, carrier);
  return readFrom(parts, { carrier, from }, options);
}

/** The first shard is called as the Kinesis shard that carried it first. */
function namesake(shard: ShardId): KinesisShardId | undefined {
  return shard.startsWith("shardId-") ? shard : undefined;
}

type RecordPosition = {
  readonly carrier: KinesisShardId;
  readonly from: SequenceNumber;
};

type ReadOptions = CallOptions & { readonly recordsMax: number };

/** `trimmed` holds if the carrier is the one that gave out the sequence number. */
async function readFrom(
  parts: ReaderParts,
  { carrier, from }: RecordPosition,
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
  parts: ReaderParts,
  position: RecordPosition & { readonly after?: boolean },
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
  parts: ReaderParts,
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
