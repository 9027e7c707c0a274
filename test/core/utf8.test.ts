/** UTF-8 by hand against the platform's encoder and decoder. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compareBytes,
  compareUtf8,
  isValidUtf8,
  isWellFormed,
  utf8Length,
} from "../../core/utf8.ts";
import { texts } from "../schemas/arbitraries.ts";

const encoder = new TextEncoder();

/** Any UTF-16 units, unpaired surrogates included. */
const unitTexts = fc
  .array(fc.oneof(fc.integer({ min: 0xd7f0, max: 0xe010 }), fc.nat(0xffff)), { maxLength: 8 })
  .map((units) => String.fromCharCode(...units));

/** Bytes that often come near to being well formed. */
const nearlyUtf8 = fc.array(
  fc.oneof(
    fc.nat(255),
    fc.constantFrom(0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0xf5),
  ),
  { maxLength: 6 },
);

function platformAccepts(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

describe("UTF-8", () => {
  test("the length is that of the platform's encoding", () => {
    fc.assert(
      fc.property(fc.oneof(texts, unitTexts), (text) => {
        expect(utf8Length(text)).toBe(encoder.encode(text).length);
      }),
    );
  });

  test("a string is well formed exactly if encoding it loses nothing", () => {
    fc.assert(
      fc.property(fc.oneof(texts, unitTexts), (text) => {
        const kept = new TextDecoder("utf-8", { ignoreBOM: true }).decode(encoder.encode(text));
        expect(isWellFormed(text)).toBe(kept === text);
      }),
    );
  });

  test("bytes are valid exactly if the platform decodes them", () => {
    fc.assert(
      fc.property(nearlyUtf8, fc.nat(3), (array, before) => {
        const bytes = Uint8Array.from([...Array<number>(before).fill(0xff), ...array, 0x80]);
        const content = Uint8Array.from(array);
        expect(isValidUtf8(bytes, before, before + array.length)).toBe(platformAccepts(content));
      }),
      { numRuns: 5_000 },
    );
  });

  test("strings come in the order of their UTF-8 bytes", () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        const expected = Math.sign(compareBytes(encoder.encode(a), encoder.encode(b)));
        expect(Math.sign(compareUtf8(a, b))).toBe(expected);
      }),
    );
    expect(compareUtf8("\uE000", "\u{10000}")).toBeLessThan(0);
    expect(["\uE000", "\u{10000}"].sort()).toEqual(["\u{10000}", "\uE000"]);
  });
});
