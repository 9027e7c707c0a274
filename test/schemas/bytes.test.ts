/** The byte writer and reader: one encoding per number, and no reading past the end. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { FrameError, InvalidRequestError } from "../../core/errors.ts";
import { skipSizedUtf8 } from "../../schemas/attribute-value-scan.ts";
import { ByteReader } from "../../schemas/byte-reader.ts";
import { ByteWriter } from "../../schemas/byte-writer.ts";
import { fromHex, hex, texts } from "./arbitraries.ts";

function written(write: (writer: ByteWriter) => void): string {
  const writer = new ByteWriter(1);
  write(writer);
  return hex(writer.toBytes());
}

function fault(bytes: string, read: (reader: ByteReader) => unknown): string {
  try {
    read(new ByteReader(fromHex(bytes)));
  } catch (error) {
    if (error instanceof FrameError) return error.fault;
    throw error;
  }
  return "none";
}

const max = Number.MAX_SAFE_INTEGER;
const naturals = fc.oneof(fc.maxSafeNat(), fc.nat(), fc.nat(300));

describe("varints", () => {
  test.each([
    [0, "00"],
    [127, "7f"],
    [128, "8001"],
    [16_383, "ff7f"],
    [16_384, "808001"],
    [2 ** 31, "8080808008"],
    [2 ** 32, "8080808010"],
    [max, "ffffffffffffff0f"],
  ])("%d is written as %s", (value, bytes) => {
    expect(
      written((writer) => {
        writer.varint(value);
      }),
    ).toBe(bytes);
    expect(new ByteReader(fromHex(bytes)).varint()).toBe(value);
  });

  test.each([
    ["8000", "malformed"],
    ["ff8000", "malformed"],
    ["ffffffffffffff10", "malformed"],
    ["ffffffffffffff8f01", "malformed"],
    ["ffffffffffffffffff01", "malformed"],
    ["", "truncated"],
    ["80", "truncated"],
    ["ffffffffffffff", "truncated"],
  ])("%s is refused as %s", (bytes, expected) => {
    expect(fault(bytes, (reader) => reader.varint())).toBe(expected);
  });

  test("every natural number comes back, in as few bytes as it has groups of seven bits", () => {
    fc.assert(
      fc.property(naturals, (value) => {
        const bytes = written((writer) => {
          writer.varint(value);
        });
        expect(new ByteReader(fromHex(bytes)).varint()).toBe(value);
        expect(bytes.length / 2).toBe(Math.max(1, Math.ceil(value.toString(2).length / 7)));
      }),
    );
  });
});

describe("zigzag", () => {
  test.each([
    [0, "00"],
    [-1, "01"],
    [1, "02"],
    [-64, "7f"],
    [64, "8001"],
    [max, "feffffffffffff1f"],
    [-max, "fdffffffffffff1f"],
  ])("%d is written as %s", (value, bytes) => {
    expect(
      written((writer) => {
        writer.zigzag(value);
      }),
    ).toBe(bytes);
    expect(new ByteReader(fromHex(bytes)).zigzag()).toBe(value);
  });

  test.each([
    ["ffffffffffffff1f", "malformed"],
    ["8080808080808020", "malformed"],
    ["8000", "malformed"],
    ["80", "truncated"],
  ])("%s is refused as %s", (bytes, expected) => {
    expect(fault(bytes, (reader) => reader.zigzag())).toBe(expected);
  });

  test("every safe integer comes back", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const bytes = written((writer) => {
          writer.zigzag(value);
        });
        expect(new ByteReader(fromHex(bytes)).zigzag()).toBe(value);
      }),
    );
  });
});

describe("fixed widths", () => {
  test("integers are big-endian", () => {
    expect(
      written((writer) => {
        writer.u32(0x01020304);
      }),
    ).toBe("01020304");
    expect(
      written((writer) => {
        writer.u64(-1, 5);
      }),
    ).toBe("ffffffff00000005");
    expect(
      written((writer) => {
        writer.bigUint64(0x0102030405060708n);
      }),
    ).toBe("0102030405060708");
    expect(
      written((writer) => {
        writer.u56(max);
      }),
    ).toBe("1fffffffffffff");
  });

  test("a 56-bit integer above 2^53 - 1 is refused", () => {
    expect(fault("20000000000000", (reader) => reader.u56())).toBe("malformed");
    expect(fault("1fffffffffff", (reader) => reader.u56())).toBe("truncated");
  });

  test("integers of every width come back", () => {
    fc.assert(
      fc.property(naturals, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (natural, big) => {
        const writer = new ByteWriter(1);
        writer.u56(natural);
        writer.bigUint64(big);
        writer.u32(natural);
        const reader = new ByteReader(writer.toBytes());
        expect([reader.u56(), reader.bigUint64(), reader.u32()]).toEqual([
          natural,
          big,
          natural % 2 ** 32,
        ]);
        reader.expectEnd();
      }),
    );
  });

  test.each([-1, 1.5, max + 1, Number.NaN])("%d has no varint: the writer asserts", (value) => {
    expect(() => {
      new ByteWriter().varint(value);
    }).toThrow(InvariantViolation);
    expect(() => {
      new ByteWriter().u56(value);
    }).toThrow(InvariantViolation);
  });
});

describe("texts", () => {
  test("every well-formed text comes back, a byte order mark included", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const writer = new ByteWriter(1);
        writer.sizedUtf8(text);
        const reader = new ByteReader(writer.toBytes());
        expect(reader.sizedUtf8()).toBe(text);
        reader.expectEnd();
      }),
    );
  });

  test("an unpaired surrogate is refused instead of being replaced", () => {
    expect(() => {
      new ByteWriter().sizedUtf8("a\uD800");
    }).toThrow(InvalidRequestError);
  });

  test.each(["02c080", "01ff", "03eda080", "02c328"])("%s is not UTF-8", (bytes) => {
    expect(fault(bytes, (reader) => reader.sizedUtf8())).toBe("malformed");
    expect(fault(bytes, skipSizedUtf8)).toBe("malformed");
  });
});

describe("the reader's end", () => {
  test("a count that the bytes left cannot hold is refused before anything is sized by it", () => {
    expect(fault("ffffffff07", (reader) => reader.count(1))).toBe("truncated");
    expect(fault("020000", (reader) => reader.count(2))).toBe("truncated");
    expect(new ByteReader(fromHex("0200000000")).count(2)).toBe(2);
  });

  test("a length beyond the end is refused", () => {
    expect(fault("0300", (reader) => reader.sizedBytes())).toBe("truncated");
    expect(fault("ffffffffffffff0f", (reader) => reader.sizedBytes())).toBe("truncated");
  });

  test("the end of a part is the end, whatever follows it in the buffer", () => {
    const reader = new ByteReader(fromHex("0102030405"), 1, 3);
    expect([reader.u8(), reader.u8()]).toEqual([2, 3]);
    expect(() => reader.u8()).toThrow(FrameError);
  });

  test("bytes left over are refused by name", () => {
    expect(
      fault("0000", (reader) => {
        reader.u8();
        reader.expectEnd();
      }),
    ).toBe("trailing-bytes");
  });
});
