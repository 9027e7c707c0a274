/** Hashes against vectors of an independent implementation (x86_128, first 64 bits). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hashSeeds, KeyHasher, keyHash } from "../../core/key-hash.ts";

const everyByte = Uint8Array.from({ length: 256 }, (_, i) => i);
const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

function hashOf(seed: number, bytes: Uint8Array): string {
  const hasher = new KeyHasher();
  hasher.hash(seed, bytes, 0, bytes.length);
  return hasher.keyHash().toString(16).padStart(16, "0");
}

describe("MurmurHash3 x86_128", () => {
  test.each([
    [0, ascii(""), "0000000000000000"],
    [0, ascii("a"), "a794933c5556b01b"],
    [0, ascii("abc"), "75cdc6d1a2b006a5"],
    [0, ascii("hello, world"), "8b21605cb9b98a1e"],
    [0, ascii("0123456789abcde"), "3c76c46d4d0818c0"],
    [0, ascii("0123456789abcdef"), "fb7d440936aed30a"],
    [0, ascii("0123456789abcdef0"), "1f8a385560920c06"],
    [0, ascii("The quick brown fox jumps over the lazy dog"), "2f1583c3ecee2c67"],
    [0, everyByte, "2c56c88fdb4503df"],
    [1, ascii(""), "88c4adec54d201b9"],
    [1, ascii("a"), "49db9b041c5281c5"],
    [1, ascii("0123456789abcdef"), "7e461b4e18cc75b9"],
    [1, everyByte, "6ba4c67fe05a681e"],
    [4, ascii("0123456789abcde"), "7e4c5135783ffd27"],
    [4, everyByte, "bdf2b1f46f6ad60d"],
  ])("agrees with the published algorithm (seed %i, case %#)", (seed, bytes, expected) => {
    expect(hashOf(seed, bytes)).toBe(expected);
  });

  test("the position of the bytes within their buffer does not matter", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 80 }),
        fc.nat(20),
        fc.nat(20),
        (bytes, before, after) => {
          const buffer = new Uint8Array(before + bytes.length + after).fill(0xff);
          buffer.set(bytes, before);
          const hasher = new KeyHasher();
          hasher.hash(7, buffer, before, before + bytes.length);
          expect(hasher.keyHash().toString(16).padStart(16, "0")).toBe(hashOf(7, bytes));
        },
      ),
    );
  });
});

describe("chained hashes", () => {
  test("chaining hashes the eight bytes of the former hash followed by the content", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 80 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        (bytes, former) => {
          const whole = new Uint8Array(8 + bytes.length);
          new DataView(whole.buffer).setBigUint64(0, former);
          whole.set(bytes, 8);
          const hasher = new KeyHasher();
          hasher.set(Number(former >> 32n), Number(former & 0xffff_ffffn));
          hasher.chain(hashSeeds.key, bytes, 0, bytes.length);
          expect(hasher.keyHash().toString(16).padStart(16, "0")).toBe(
            hashOf(hashSeeds.key, whole),
          );
        },
      ),
    );
  });

  test("each level has its own seed, so equal bytes at two levels hash apart", () => {
    const hashes = Object.values(hashSeeds).map((seed) => hashOf(seed, ascii("accounts")));
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test("words of either sign make the same unsigned hash", () => {
    expect(keyHash(-1, -2)).toBe(0xffff_ffff_ffff_fffen);
    expect(keyHash(0xffff_ffff, 0xffff_fffe)).toBe(0xffff_ffff_ffff_fffen);
  });
});
