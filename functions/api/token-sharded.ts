/**
 * The body of a token (token.ts) of a transaction that has read in several shards, or in one that
 * is not the first one as it has ever been. Counts, numbers and positions are varints, times u56:
 *
 *     isolation (1), started, name (16)
 *     parts      count, each: shard, position of its newest change, read timestamp,
 *                counts of keys and predicates, hashes (8 each)
 *     mixed      what was read of mixed tables (token-mixed.ts)
 */
import { FrameError } from "../../core/errors.ts";
import type { LogPosition, ShardNumber, Timestamp } from "../../core/types.ts";
import type { TransactionState } from "../../engine/types.ts";
import type { ByteReader } from "../../schemas/byte-reader.ts";
import type { ByteWriter } from "../../schemas/byte-writer.ts";
import { readMixedState, writeMixedState } from "./token-mixed.ts";

type Part = TransactionState["parts"][number];

/** By the number that a token has for each. */
export const isolations = ["serializable", "snapshot"] as const;

const nameBytes = 16;
const hashBytes = 8;
/** Shard, position, read timestamp and two counts: no part takes fewer. */
const partBytesMin = 11;

export function writeShardedState(writer: ByteWriter, state: TransactionState): void {
  writer.u8(isolations.indexOf(state.isolation));
  writer.u56(state.startedMs);
  writer.bytes(Buffer.from(state.name, "hex"));
  writer.varint(state.parts.length);
  for (const part of state.parts) writePart(writer, part);
  writeMixedState(writer, state.mixed);
}

/** @throws FrameError unless the rest of the bytes is one. */
export function readShardedState(reader: ByteReader): TransactionState {
  const isolation = isolations[reader.u8()];
  if (isolation === undefined) throw new FrameError("malformed", "an isolation is not known");
  const startedMs = reader.u56();
  const name = Buffer.from(reader.view(nameBytes)).toString("hex");
  const parts = Array.from({ length: reader.count(partBytesMin) }, () => readPart(reader));
  return { name, isolation, startedMs, parts, mixed: readMixedState(reader) };
}

function writePart(writer: ByteWriter, part: Part): void {
  writer.varint(part.shard);
  writer.varint(part.changedAt);
  writer.u56(part.readTimestamp);
  writer.varint(part.keys.length);
  writer.varint(part.predicates.length);
  for (const hash of part.keys) writer.bigUint64(hash);
  for (const hash of part.predicates) writer.bigUint64(hash);
}

function readPart(reader: ByteReader): Part {
  const shard = reader.varint() as ShardNumber;
  const changedAt = reader.varint() as LogPosition;
  const readTimestamp = reader.u56() as Timestamp;
  const keys = reader.count(hashBytes);
  const predicates = reader.count(hashBytes);
  const hashesOf = (length: number): bigint[] => Array.from({ length }, () => reader.bigUint64());
  return {
    ...{ shard, changedAt, readTimestamp },
    keys: hashesOf(keys),
    predicates: hashesOf(predicates),
  };
}
