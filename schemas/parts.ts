/**
 * The parts of a transaction over several shards, and what became of it, as requests and blocks say
 * them (docs/formats/commit-record.md, Parts).
 */
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type { Part, ShardNumber, Timestamp, WholeOutcome } from "../core/types.ts";
import { malformed, oversized, type ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";

/** A shard's number, and a timestamp. */
const partBytes = 1 + 7;
/** A transaction within one shard has no parts. */
const partsMin = 2;

export function writeParts(writer: ByteWriter, parts: readonly Part[]): void {
  assert(parts.length >= partsMin && parts.length <= limits.shardsMax, "parts: one for each shard");
  writer.varint(parts.length);
  let last = -1;
  for (const { shard, from } of parts) {
    assert(shard > last && shard < limits.shardNumbersMax, "parts: by rising number");
    writer.u8(shard);
    writer.u56(from);
    last = shard;
  }
}

/** @throws FrameError. */
export function readParts(reader: ByteReader): Part[] {
  const count = reader.count(partBytes);
  if (count > limits.shardsMax) throw oversized("shardsMax");
  if (count < partsMin) throw malformed("a part is one of several");
  const parts: Part[] = [];
  let last = -1;
  for (let i = 0; i < count; i++) {
    const shard = reader.u8();
    if (shard <= last) throw malformed("parts are out of order");
    parts.push({ shard: shard as ShardNumber, from: reader.u56() as Timestamp });
    last = shard;
  }
  return parts;
}

const outcomeTags = { aborted: 0, committed: 1 } as const;

export function writeWhole(writer: ByteWriter, whole: WholeOutcome): void {
  writer.u8(outcomeTags[whole.kind]);
  if (whole.kind === "committed") writer.u56(whole.timestamp);
}

/** @throws FrameError. */
export function readWhole(reader: ByteReader): WholeOutcome {
  const tag = reader.u8();
  if (tag === outcomeTags.aborted) return { kind: "aborted" };
  if (tag !== outcomeTags.committed) throw malformed("an outcome is of an unknown kind");
  return { kind: "committed", timestamp: reader.u56() as Timestamp };
}
