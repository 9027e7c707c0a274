/**
 * SipHash-1-3 against published vectors, and against the paper's definition on whole 64-bit words.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { SipHash } from "../../core/sip-hash.ts";

const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i);

function hashOf(key: Uint8Array, bytes: Uint8Array): bigint {
  const sip = new SipHash(key);
  sip.hash(bytes, 0, bytes.length);
  return (BigInt(sip.high >>> 0) << 32n) | BigInt(sip.low >>> 0);
}

/** Of the first 0, 1, … 63 numbers, under the key 00 01 … 0f; bytes lowest first. */
const vectors = [
  "dcc40f055801acab",
  "93ca577df39bf4c9",
  "4dd4c74d029bcb82",
  "fbf7dde7b80af88b",
  "2883d388605775cf",
  "673b53492fd5f9de",
  "a7229fc5502b0dc5",
  "4011b19b987d92d3",
  "8e9a298d11959036",
  "e43d066cb38ea425",
  "7f09ff92ee85de79",
  "52c34df9c118c170",
  "a2d9b457b184a378",
  "a7ff29120c766f30",
  "345df9c011a15a60",
  "5699512a6dd820d3",
  "668b907d1add4fcc",
  "0cd8db639068f29c",
  "3ee673b49c38fc8f",
  "1c7d298de59d1ff2",
  "40e0cca6462fdcc0",
  "44f8452bfeab92b9",
  "2e8720a39b7bfe7f",
  "23c1e6da7f0e5a52",
  "8c9c3467b2ae64f4",
  "79095b702859cd45",
  "a51399cae3353e3a",
  "353bde4a4ec71da9",
  "0dd06cef02ed0bfb",
  "f4e1b14ab43cd988",
  "63e6c543d6110f54",
  "bcd1218c1fdd7023",
  "0db6a7166c7b1581",
  "bff98f7ae5b9544d",
  "3e752a1f78129f75",
  "916b18bfbea3a1ce",
  "0662a2add308f52c",
  "5730c3a32d1c10b6",
  "a1363aae9674f4b3",
  "9283107b54576b62",
  "3115e4993236d2c1",
  "44d91a3f92c17c66",
  "258813c8fe4f7065",
  "a64989c2d180f224",
  "6b87f8faed1ccac2",
  "9621049ffc4b16c2",
  "23d6b168939c6ea1",
  "fd14518b9c16fb49",
  "464c07dff843319f",
  "b386cc1224affdc6",
  "8f09520ad149af7e",
  "9a2f299d5513f31c",
  "121ff4a2dd304ac4",
  "d01ea74389e9fa36",
  "e6bcf0734cb38f31",
  "80e9a77036bf7aa2",
  "756d3c24dbc0bcb4",
  "1315b7fd52d8f823",
  "088a7da64d5f038f",
  "48f1e8b7e5d09cd8",
  "ee44a6f7bce6f4f6",
  "f237180fd89ac5ae",
  "e094664b15f6b2c3",
  "a8b3bbb76290199d",
];

/** The paper's own words (Aumasson and Bernstein, 2012), for any number of rounds. */
function definition(
  {
    key,
    compression,
    finalization,
  }: { key: Uint8Array; compression: number; finalization: number },
  bytes: Uint8Array,
): bigint {
  const word = (at: number, from: Uint8Array): bigint =>
    new DataView(from.buffer, from.byteOffset).getBigUint64(at, true);
  const left = (value: bigint, bits: bigint): bigint =>
    BigInt.asUintN(64, value << bits) | (value >> (64n - bits));
  const k0 = word(0, key);
  const k1 = word(8, key);
  let v0 = k0 ^ 0x736f6d6570736575n;
  let v1 = k1 ^ 0x646f72616e646f6dn;
  let v2 = k0 ^ 0x6c7967656e657261n;
  let v3 = k1 ^ 0x7465646279746573n;
  const round = (): void => {
    v0 = BigInt.asUintN(64, v0 + v1);
    v2 = BigInt.asUintN(64, v2 + v3);
    v1 = left(v1, 13n) ^ v0;
    v3 = left(v3, 16n) ^ v2;
    v0 = left(v0, 32n);
    v2 = BigInt.asUintN(64, v2 + v1);
    v0 = BigInt.asUintN(64, v0 + v3);
    v1 = left(v1, 17n) ^ v2;
    v3 = left(v3, 21n) ^ v0;
    v2 = left(v2, 32n);
  };
  const padded = new Uint8Array(8 * (Math.floor(bytes.length / 8) + 1));
  padded.set(bytes);
  padded[padded.length - 1] = bytes.length % 256;
  for (let at = 0; at < padded.length; at += 8) {
    const message = word(at, padded);
    v3 ^= message;
    for (let i = 0; i < compression; i++) round();
    v0 ^= message;
  }
  v2 ^= 0xffn;
  for (let i = 0; i < finalization; i++) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

describe("SipHash-1-3", () => {
  test.each(vectors.map((expected, length) => ({ expected, length })))(
    "agrees with the reference implementation on $length bytes",
    ({ expected, length }) => {
      const found = new DataView(new ArrayBuffer(8));
      found.setBigUint64(0, hashOf(counting(16), counting(length)), true);
      expect(Buffer.from(found.buffer).toString("hex")).toBe(expected);
    },
  );

  test("the definition gives the paper's example, which has more rounds", () => {
    const rounds = { key: counting(16), compression: 2, finalization: 4 };
    expect(definition(rounds, counting(15))).toBe(0xa129ca6149be45e5n);
  });

  test("is what the paper defines, wherever in its buffer the content stands", () => {
    const lengths = { minLength: 16, maxLength: 16 };
    const content = fc.uint8Array({ maxLength: 300 });
    fc.assert(
      fc.property(fc.uint8Array(lengths), content, fc.nat(20), (key, bytes, before) => {
        const buffer = new Uint8Array(before + bytes.length + 9).fill(0xff);
        buffer.set(bytes, before);
        const sip = new SipHash(key);
        sip.hash(buffer, before, before + bytes.length);
        const found = (BigInt(sip.high >>> 0) << 32n) | BigInt(sip.low >>> 0);
        expect(found).toBe(definition({ key, compression: 1, finalization: 3 }, bytes));
      }),
    );
  });

  test("chaining hashes the eight bytes of a hash, lowest first, before the content", () => {
    const words = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), words, (bytes, former) => {
        const whole = new Uint8Array(8 + bytes.length);
        new DataView(whole.buffer).setBigUint64(0, former, true);
        whole.set(bytes, 8);
        const sip = new SipHash(counting(16));
        const [high, low] = [Number(former >> 32n), Number(former & 0xffff_ffffn)];
        sip.chain(high, low, bytes, 0, bytes.length);
        const found = (BigInt(sip.high >>> 0) << 32n) | BigInt(sip.low >>> 0);
        expect(found).toBe(hashOf(counting(16), whole));
      }),
    );
  });

  test.each([0, 15, 17])("takes no key of %i bytes", (length) => {
    expect(() => new SipHash(new Uint8Array(length))).toThrow(InvariantViolation);
  });
});
