/**
 * The parts of a transaction over several shards, and what became of it, as requests and blocks say
 * them (docs/formats/commit-record.md, Parts).
 */
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type { Part, ShardNumber, Timestamp, WholeOutcome } from "../core/types.ts";
import { malformed, oversized, type ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { readStamps, writeStamps } from "./stamps.ts";

/** A transaction within one shard has no parts. */
const partsMin = 2;
/** Added to the count of parts that a vote decides: each says how many stamps it has, too. */
const votedFlag = 128;

export function writeParts(writer: ByteWriter, parts: readonly Part[]): void {
  assert(parts.length >= partsMin && parts.length <= limits.shardsMax, "parts: one for each shard");
  const isVoted = parts[0]?.stamps !== undefined;
  writer.varint(isVoted ? votedFlag + parts.length : parts.length);
  let last = -1;
  for (const { shard, from, stamps } of parts) {
    assert(shard > last && shard < limits.shardNumbersMax, "parts: by rising number");
    assert((stamps !== undefined) === isVoted, "parts: a vote decides all of them, or none");
    writer.u8(shard);
    writer.u56(from);
    if (stamps !== undefined) writer.varint(stamps);
    last = shard;
  }
}

/** @throws FrameError. */
export function readParts(reader: ByteReader): Part[] {
  const flagged = reader.varint();
  const isVoted = flagged >= votedFlag;
  const count = isVoted ? flagged - votedFlag : flagged;
  if (count > limits.shardsMax) throw oversized("shardsMax");
  if (count < partsMin) throw malformed("a part is one of several");
  const parts: Part[] = [];
  let last = -1;
  let stamps = 0;
  for (let i = 0; i < count; i++) {
    const shard = reader.u8();
    if (shard <= last) throw malformed("parts are out of order");
    const part = { shard: shard as ShardNumber, from: reader.u56() as Timestamp };
    if (isVoted) {
      const own = reader.varint();
      stamps += own;
      if (stamps > limits.preparedWritesMax) throw oversized("preparedWritesMax");
      parts.push({ ...part, stamps: own });
    } else parts.push(part);
    last = shard;
  }
  return parts;
}

const outcomeTags = { aborted: 0, committed: 1, voted: 2 } as const;

export function writeWhole(writer: ByteWriter, whole: WholeOutcome): void {
  if (whole.kind === "aborted") {
    writer.u8(outcomeTags.aborted);
    return;
  }
  const { timestamp, stamps } = whole;
  writer.u8(stamps === undefined ? outcomeTags.committed : outcomeTags.voted);
  writer.u56(timestamp);
  if (stamps !== undefined) writeStamps(writer, stamps);
}

/** @throws FrameError. */
export function readWhole(reader: ByteReader): WholeOutcome {
  const tag = reader.u8();
  if (tag === outcomeTags.aborted) return { kind: "aborted" };
  const isVoted = tag === outcomeTags.voted;
  if (!isVoted && tag !== outcomeTags.committed) {
    throw malformed("an outcome is of an unknown kind");
  }
  const timestamp = reader.u56() as Timestamp;
  return { kind: "committed", timestamp, ...(isVoted ? { stamps: readStamps(reader) } : {}) };
}
