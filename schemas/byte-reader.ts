/**
 * Reads what byte-writer.ts writes, from bytes that nobody vouches for: every read is checked
 * against the end, every count against the bytes left (so no allocation exceeds the input), and
 * an encoding that the writer would not have chosen is refused.
 */
import { FrameError } from "../core/errors.ts";

/** `ignoreBOM` keeps a leading U+FEFF, which is content here. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class ByteReader {
  bytes: Uint8Array;
  position: number;
  /** First byte that may not be read. */
  end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  /** Points the reader elsewhere, so that hot paths need no new one. */
  reset(bytes: Uint8Array, start = 0, end = bytes.length): void {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  get remaining(): number {
    return this.end - this.position;
  }

  u8(): number {
    if (this.position >= this.end) throw truncated();
    return this.bytes[this.position++] ?? 0;
  }

  /** Unsigned, big-endian. A 64-bit integer is read as two of these, high then low. */
  u32(): number {
    const at = this.advance(4);
    const bytes = this.bytes;
    return (
      (((bytes[at] ?? 0) << 24) |
        ((bytes[at + 1] ?? 0) << 16) |
        ((bytes[at + 2] ?? 0) << 8) |
        (bytes[at + 3] ?? 0)) >>>
      0
    );
  }

  bigUint64(): bigint {
    const high = this.u32();
    return (BigInt(high) << 32n) | BigInt(this.u32());
  }

  /** A safe integer ≥ 0 from seven big-endian bytes. */
  u56(): number {
    const at = this.advance(3);
    const bytes = this.bytes;
    const high = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    if (high > 0x1f_ffff) throw malformed("an integer exceeds 2^53 - 1");
    return high * 0x1_0000_0000 + this.u32();
  }

  /** A safe integer ≥ 0 as varint; padded or larger ones are malformed. */
  varint(): number {
    const first = this.u8();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    let scale = 0x80;
    for (;;) {
      const byte = this.u8();
      // The eighth byte holds bits 49 to 52; a ninth, or more bits, would pass 2^53 - 1.
      if (scale === 0x2_0000_0000_0000 && byte > 0x0f) {
        throw malformed("a varint exceeds 2^53 - 1");
      }
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0) throw malformed("a varint is not minimal");
        return value;
      }
      scale *= 0x80;
    }
  }

  /** A safe integer of either sign as zigzag varint. */
  zigzag(): number {
    const first = this.u8();
    const sign = first & 1;
    let magnitude = (first & 0x7f) >>> 1;
    if (first >= 0x80) {
      const rest = this.varint();
      if (rest === 0) throw malformed("a varint is not minimal");
      if (rest > 0x7fff_ffff_ffff) throw malformed("an integer is not safe");
      magnitude += rest * 64;
    }
    const value = sign === 1 ? -magnitude - 1 : magnitude;
    if (!Number.isSafeInteger(value)) throw malformed("an integer is not safe");
    return value;
  }

  /**
   * A varint that counts entries of at least `entryBytesMin` bytes each, so that a count which the
   * bytes left cannot hold is refused before anything is sized by it.
   */
  count(entryBytesMin: number): number {
    const count = this.varint();
    if (count * entryBytesMin > this.end - this.position) throw truncated();
    return count;
  }

  /** Steps over `length` bytes and gives the position of the first. */
  advance(length: number): number {
    const at = this.position;
    if (length > this.end - at) throw truncated();
    this.position = at + length;
    return at;
  }

  /** The next `length` bytes as a view of the input: copy it if it must outlive that. */
  view(length: number): Uint8Array {
    const at = this.advance(length);
    return this.bytes.subarray(at, at + length);
  }

  /** A varint length and that many bytes, as a view of the input. */
  sizedBytes(): Uint8Array {
    return this.view(this.varint());
  }

  /** A varint byte length and UTF-8. */
  sizedUtf8(): string {
    return this.utf8(this.varint());
  }

  utf8(byteLength: number): string {
    const at = this.advance(byteLength);
    return utf8Text(this.bytes, at, at + byteLength);
  }

  /** @throws FrameError `trailing-bytes` unless everything has been read. */
  expectEnd(): void {
    if (this.position !== this.end) {
      throw new FrameError("trailing-bytes", "bytes follow the end of the content");
    }
  }
}

/** @throws FrameError when `bytes[start, end)` is not UTF-8. */
export function utf8Text(bytes: Uint8Array, start: number, end: number): string {
  if (end - start < 24) {
    let text = "";
    let at = start;
    for (; at < end; at++) {
      const byte = bytes[at] ?? 0;
      if (byte >= 0x80) break;
      text += String.fromCharCode(byte);
    }
    if (at === end) return text;
  }
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    throw malformed("a string is not UTF-8");
  }
}

/** How the bytes of one format begin. */
export type FrameHead = {
  /** What it is called in errors. */
  readonly what: string;
  readonly magic: readonly [number, number];
  readonly version: number;
  /** All flags that the version knows. */
  readonly flags: number;
  readonly bytesMax: number;
  /** The name of `bytesMax` in core/limits.ts. */
  readonly limit: string;
};

/**
 * Reads magic, version and flags, which every frame begins with, and returns the flags.
 * @throws FrameError.
 */
export function readFrameHead(reader: ByteReader, head: FrameHead): number {
  const { what, magic } = head;
  const { bytes, position } = reader;
  if (bytes[position] !== magic[0] || bytes[position + 1] !== magic[1]) {
    throw new FrameError("not-a-frame", `the bytes do not begin as a ${what} does`);
  }
  if (reader.remaining > head.bytesMax) throw oversized(head.limit);
  reader.advance(2);
  const version = reader.u8();
  if (version === 0) throw new FrameError("not-a-frame", `no ${what} has version 0`);
  if (version > head.version) {
    throw new FrameError("future-version", `a ${what} has version ${version}`);
  }
  const flags = reader.u8();
  if (flags > head.flags) {
    throw new FrameError("future-version", `a ${what} has flags of a later version`);
  }
  return flags;
}

/** What was hashed under another key says nothing here: nothing may be made of it. */
export function otherHashSecret(what: string): FrameError {
  return new FrameError(
    "other-hash-secret",
    `${what} was made under another hash secret than the control table holds for the shard`,
  );
}

export function malformed(message: string): FrameError {
  return new FrameError("malformed", message);
}

/** @param limit its name in core/limits.ts. */
export function oversized(limit: string): FrameError {
  return new FrameError("oversized", `content exceeds the limit ${limit}`);
}

function truncated(): FrameError {
  return new FrameError("truncated", "the bytes end within the content");
}
