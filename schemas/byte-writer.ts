/**
 * A growable buffer that every binary format is written through. Numbers have exactly one
 * encoding each (minimal varints, big-endian fixed widths), so equal content gives equal bytes.
 */
import { assert } from "../core/assert.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { isWellFormed, utf8Length } from "../core/utf8.ts";

const encoder = new TextEncoder();

const outOfRange = "byte writer: an integer is out of range";

export class ByteWriter {
  private buffer: Uint8Array;
  private at = 0;

  constructor(capacity = 256) {
    this.buffer = new Uint8Array(capacity);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.at;
  }

  u8(value: number): void {
    assert((value & 0xff) === value, outOfRange);
    this.reserve(1);
    this.buffer[this.at++] = value;
  }

  /** Big-endian. Takes signed and unsigned words alike. */
  u32(value: number): void {
    this.reserve(4);
    this.buffer[this.at++] = value >>> 24;
    this.buffer[this.at++] = (value >>> 16) & 0xff;
    this.buffer[this.at++] = (value >>> 8) & 0xff;
    this.buffer[this.at++] = value & 0xff;
  }

  /** Two big-endian words, high then low. */
  u64(high: number, low: number): void {
    this.u32(high);
    this.u32(low);
  }

  /** An unsigned 64-bit integer as `u64` writes it. */
  bigUint64(value: bigint): void {
    assert(BigInt.asUintN(64, value) === value, outOfRange);
    this.u64(Number(value >> 32n), Number(value & 0xffff_ffffn));
  }

  /** A safe integer ≥ 0 in seven big-endian bytes (timestamps, whose varint would take eight). */
  u56(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, outOfRange);
    const high = Math.floor(value / 0x1_0000_0000);
    this.u8(high >>> 16);
    this.u8((high >>> 8) & 0xff);
    this.u8(high & 0xff);
    this.u32(value % 0x1_0000_0000);
  }

  /** A safe integer ≥ 0, seven bits a byte, lowest first: at most eight bytes. */
  varint(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, outOfRange);
    this.reserve(8);
    let rest = value;
    while (rest > 0x7fff_ffff) {
      this.buffer[this.at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    while (rest > 0x7f) {
      this.buffer[this.at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.buffer[this.at++] = rest;
  }

  /** A safe integer of either sign as zigzag varint: at most eight bytes. */
  zigzag(value: number): void {
    assert(Number.isSafeInteger(value), outOfRange);
    // 2·|value| may lie above the safe range, so the sign and the lowest six bits go first.
    const sign = value < 0 ? 1 : 0;
    const magnitude = value < 0 ? -(value + 1) : value;
    const rest = Math.floor(magnitude / 64);
    const low = ((magnitude % 64) << 1) | sign;
    if (rest === 0) {
      this.u8(low);
    } else {
      this.u8(low | 0x80);
      this.varint(rest);
    }
  }

  /** The bytes as they are, without a length. */
  bytes(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.at);
    this.at += bytes.length;
  }

  /** A varint length, then the bytes. */
  sizedBytes(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.bytes(bytes);
  }

  /** A varint byte length, then UTF-8. */
  sizedUtf8(text: string): void {
    const length = utf8Length(text);
    this.varint(length);
    this.utf8(text, length);
  }

  /**
   * UTF-8 without a length. `byteLength` must be `utf8Length(text)`.
   * @throws InvalidRequestError for an unpaired surrogate, which UTF-8 cannot carry.
   */
  utf8(text: string, byteLength: number): void {
    this.reserve(byteLength);
    if (byteLength === text.length && byteLength < 64) {
      for (let i = 0; i < byteLength; i++) this.buffer[this.at + i] = text.charCodeAt(i);
    } else {
      if (!isWellFormed(text)) {
        throw new InvalidRequestError(
          "text",
          "a string has an unpaired surrogate, which UTF-8 cannot carry; remove it or use a binary",
        );
      }
      const { written } = encoder.encodeInto(text, this.buffer.subarray(this.at));
      assert(written === byteLength, "byte writer: UTF-8 length and encoding differ");
    }
    this.at += byteLength;
  }

  /** A copy of everything written. */
  toBytes(): Uint8Array {
    return this.buffer.slice(0, this.at);
  }

  /** Everything written from `start` on, without a copy: valid until the next write or `clear`. */
  view(start = 0): Uint8Array {
    return this.buffer.subarray(start, this.at);
  }

  /** Forgets the content (from `length` on), keeps the buffer. */
  clear(length = 0): void {
    assert(length <= this.at, "byte writer: clear only backwards");
    this.at = length;
  }

  private reserve(count: number): void {
    const needed = this.at + count;
    if (needed <= this.buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, this.buffer.length * 2));
    larger.set(this.buffer.subarray(0, this.at));
    this.buffer = larger;
  }
}
