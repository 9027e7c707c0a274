/**
 * How often a payload's transactions were run in vain before, in front of the payload
 * (docs/formats/payload.md): two bytes and more of a retry's, none of any other's.
 */
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import { malformed, oversized, type ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";

/** No payload is without tables: a zero where their count is due says that this comes first. */
const mark = 0;

/** @param attempts from 1 to `limits.earlierAttemptsMax`. */
export function writeEarlierAttempts(writer: ByteWriter, attempts: number): void {
  const isCount = Number.isInteger(attempts) && attempts > 0;
  assert(isCount && attempts <= limits.earlierAttemptsMax, "payload: a count of attempts");
  writer.u8(mark);
  writer.varint(attempts);
}

/** 0, and nothing is read, where the payload begins with its tables. @throws FrameError. */
export function readEarlierAttempts(reader: ByteReader): number {
  if (reader.remaining === 0 || reader.bytes[reader.position] !== mark) return 0;
  reader.position += 1;
  const attempts = reader.varint();
  if (attempts === 0) throw malformed("a payload counts no earlier attempts");
  if (attempts > limits.earlierAttemptsMax) throw oversized("earlierAttemptsMax");
  return attempts;
}
