/** Kinds of hashes under one secret. What the hash itself is, sip-hash.test.ts says. */
import { describe, expect, test } from "vitest";
import { hashKinds, KeyHasher, keyHash } from "../../core/key-hash.ts";
import { sampleHashSecret } from "../../testing/sample-hashes.ts";

const accounts = new TextEncoder().encode("accounts");

function hashOf(secret: Uint8Array, kind: number): bigint {
  const hasher = new KeyHasher(secret);
  hasher.hash(kind, accounts, 0, accounts.length);
  return hasher.keyHash();
}

describe("hashes under a secret", () => {
  test("of equal bytes at two levels differ", () => {
    const hashes = Object.values(hashKinds).map((kind) => hashOf(sampleHashSecret, kind));
    expect(new Set(hashes).size).toBe(3);
  });

  test("differ from those under a secret of one bit's difference, at all levels", () => {
    const other = sampleHashSecret.with(15, 14);
    for (const kind of Object.values(hashKinds)) {
      expect(hashOf(other, kind)).not.toBe(hashOf(sampleHashSecret, kind));
    }
    expect(new KeyHasher(other).fingerprint).not.toBe(new KeyHasher(sampleHashSecret).fingerprint);
  });

  // Computed with OpenSSL: openssl mac -macopt size:8 -macopt c-rounds:1 -macopt d-rounds:3
  // SIPHASH.
  test("have a fingerprint, fixed for good", () => {
    expect(new KeyHasher(sampleHashSecret).fingerprint).toBe(0x7d57ca93);
  });

  test("words of either sign make the same unsigned hash", () => {
    expect(keyHash(-1, -2)).toBe(0xffff_ffff_ffff_fffen);
    expect(keyHash(0xffff_ffff, 0xffff_fffe)).toBe(0xffff_ffff_ffff_fffen);
  });
});
