/**
 * What the installs of a commit by vote replace, as votes and blocks say it
 * (docs/formats/log-block.md, Stamps).
 */
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type { Stamp, Version } from "../core/types.ts";
import { malformed, oversized, type ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";

const tags = { nonce: 0, version: 1 } as const;
/** A tag, and a version of seven bytes. */
const stampBytesMin = 1 + 7;

export function writeStamps(writer: ByteWriter, stamps: readonly Stamp[]): void {
  assert(stamps.length <= limits.preparedWritesMax, "stamps: one for each write at most");
  writer.varint(stamps.length);
  for (const stamp of stamps) {
    writer.u8(tags[stamp.kind]);
    if (stamp.kind === "version") writer.u56(stamp.version);
    else {
      assert(stamp.nonce.length === limits.nonceBytes, "stamps: a nonce has 16 bytes");
      writer.bytes(stamp.nonce);
    }
  }
}

/** @throws FrameError. */
export function readStamps(reader: ByteReader): Stamp[] {
  const count = reader.count(stampBytesMin);
  if (count > limits.preparedWritesMax) throw oversized("preparedWritesMax");
  const stamps: Stamp[] = [];
  for (let i = 0; i < count; i++) stamps.push(readStamp(reader));
  return stamps;
}

function readStamp(reader: ByteReader): Stamp {
  const tag = reader.u8();
  if (tag === tags.version) return { kind: "version", version: reader.u56() as Version };
  if (tag !== tags.nonce) throw malformed("a stamp is of an unknown kind");
  // A view would keep the whole block alive.
  return { kind: "nonce", nonce: new Uint8Array(reader.view(limits.nonceBytes)) };
}
