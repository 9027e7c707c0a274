/** Hashes of keys as the SDK computes them, and transaction ids. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import { systemDigest } from "../../aws/system-digest.ts";
import type { AttributeValue, Timestamp } from "../../core/types.ts";
import { encodeValue } from "../../schemas/attribute-value.ts";
import { ByteReader } from "../../schemas/byte-reader.ts";
import { ByteWriter } from "../../schemas/byte-writer.ts";
import { canonicalKey } from "../../schemas/key-hashes.ts";
import {
  makeTransactionId,
  provesTransactionId,
  transactionIdFor,
  readTransactionId,
  transactionIdTimestamp,
  voteProofOf,
  writeTransactionId,
} from "../../schemas/transaction-id.ts";
import { parseTransactionId } from "../../schemas/transaction-id-text.ts";
import { hex, numbers, texts } from "./arbitraries.ts";
import { transactionIds } from "./requests.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const plain = { name: "accounts", partitionKey: "id" };
const sorted = { name: "orders", partitionKey: "customer", sortKey: "number" };
const text = (S: string): AttributeValue => ({ S });

describe("hashes of keys", () => {
  // Computed with OpenSSL's SipHash, as docs/formats/values.md puts the pieces together.
  test("are fixed for good: logs and processes of other versions depend on them", () => {
    expect(sampleHashes.table("accounts")).toBe(0xff6c7712bff60f68n);
    expect(sampleHashes.partition("orders", text("c"))).toBe(0x38c8b0c120421c69n);
    expect(sampleHashes.item(plain, { id: text("a") })).toEqual({
      table: 0xff6c7712bff60f68n,
      partition: 0x9242f8b68b07f534n,
      key: 0x9242f8b68b07f534n,
      sortKey: undefined,
    });
    expect(sampleHashes.item(sorted, { customer: text("c"), number: { N: "7" } }).key).toBe(
      0xc8fdaefffd721fc5n,
    );
  });

  test("do not depend on a number's spelling nor on the key's other attributes", () => {
    const one = sampleHashes.item(sorted, { customer: { N: "1" }, number: { N: "0.5" } });
    const other = { number: { N: "5e-1" }, customer: { N: "1.00" }, extra: text("x") };
    expect(sampleHashes.item(sorted, other)).toEqual(one);
  });

  test("a key hash follows from its partition's hash and its encoded sort key", () => {
    fc.assert(
      fc.property(texts, numbers, (customer, number) => {
        const hashes = sampleHashes.item(sorted, {
          customer: text(customer),
          number: { N: number },
        });
        expect(sampleHashes.sortKey(hashes.partition, encodeValue({ N: number }))).toBe(hashes.key);
        expect(hashes.partition).toBe(sampleHashes.partition("orders", text(customer)));
        expect(hashes.table).toBe(sampleHashes.table("orders"));
      }),
    );
  });

  test("a sort key of up to 64 encoded bytes is carried, a longer one is not", () => {
    const sortKeyOf = (length: number) =>
      sampleHashes.item(sorted, { customer: text("c"), number: text("n".repeat(length)) }).sortKey;
    expect(sortKeyOf(62)).toEqual(encodeValue(text("n".repeat(62))));
    expect(sortKeyOf(63)?.length).toBe(64);
    expect(sortKeyOf(64)).toBeUndefined();
  });

  test("keep apart types, tables, and where one value ends and the next begins", () => {
    const keys = [
      sampleHashes.item(plain, { id: text("1") }).key,
      sampleHashes.item(plain, { id: { N: "1" } }).key,
      sampleHashes.item(plain, { id: { B: Uint8Array.of(0x31) } }).key,
      sampleHashes.item({ ...plain, name: "accounts2" }, { id: text("1") }).key,
      sampleHashes.item(sorted, { customer: text("ab"), number: text("c") }).key,
      sampleHashes.item(sorted, { customer: text("a"), number: text("bc") }).key,
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("a key without its attribute, or with an inherited one, is an invalid request", () => {
    expect(() => sampleHashes.item(sorted, { customer: text("c") })).toThrow(InvalidRequestError);
    expect(() => sampleHashes.item({ ...plain, partitionKey: "constructor" }, {})).toThrow(/lacks/);
  });

  test("canonical keys are equal exactly for the same item", () => {
    const key = (number: string) => ({ customer: text("c"), number: { N: number } });
    expect(canonicalKey(sorted, key("1.0"))).toEqual(canonicalKey(sorted, key("1")));
    expect(hex(canonicalKey(sorted, key("1")))).toBe("066f72646572738163c1");
    expect(canonicalKey(sorted, key("2"))).not.toEqual(canonicalKey(sorted, key("1")));
  });
});

describe("transaction ids", () => {
  test("hold the timestamp that their maker had seen, then the random bytes", () => {
    const random = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 255]);
    const id = makeTransactionId(1_700_000_000_000_000 as Timestamp, random);
    expect(id).toBe("060a24181e400001020304050607" + "08ff");
    expect(transactionIdTimestamp(id)).toBe(1_700_000_000_000_000);
  });

  test("commit to a proof, which opens no other id", () => {
    const proof = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const seen = 1_700_000_000_000_000 as Timestamp;
    const id = transactionIdFor(seen, proof, systemDigest);
    const known = createHash("sha256")
      .update("tidemark transaction id\0")
      .update(Buffer.from("060a24181e4000", "hex"))
      .update(proof)
      .digest("hex");
    expect(id).toBe(`060a24181e4000${known.slice(0, 18)}`);
    expect(provesTransactionId(id, proof, systemDigest)).toBe(true);
    const later = transactionIdFor((seen + 1) as Timestamp, proof, systemDigest);
    expect(provesTransactionId(later, proof, systemDigest)).toBe(true);
    expect(later.slice(14)).not.toBe(id.slice(14));
    for (let bit = 0; bit < 72; bit += 1) {
      const other = proof.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
      expect(provesTransactionId(id, other, systemDigest)).toBe(false);
    }
  });

  test("of what will be prepared commit to a digest of the proof", () => {
    const proof = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const shown = voteProofOf(proof, systemDigest);
    const known = createHash("sha256").update("tidemark vote\0").update(proof).digest("hex");
    expect(hex(shown)).toBe(known.slice(0, 18));
    const id = transactionIdFor(1_700_000_000_000_000 as Timestamp, shown, systemDigest);
    expect(provesTransactionId(id, shown, systemDigest)).toBe(true);
    expect(provesTransactionId(id, proof, systemDigest)).toBe(false);
    expect(provesTransactionId(id, voteProofOf(shown, systemDigest), systemDigest)).toBe(false);
    expect(() => voteProofOf(proof.subarray(1), systemDigest)).toThrow(InvariantViolation);
  });

  test("come back from bytes and from text", () => {
    fc.assert(
      fc.property(transactionIds, (id) => {
        const writer = new ByteWriter();
        writeTransactionId(writer, id);
        expect(hex(writer.toBytes())).toBe(id);
        expect(readTransactionId(new ByteReader(writer.toBytes()))).toBe(id);
        expect(parseTransactionId(id)).toBe(id);
      }),
    );
  });

  test("of larger timestamps sort behind those of smaller ones", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (a, b) => {
        const idOf = (seen: number) => makeTransactionId(seen as Timestamp, new Uint8Array(9));
        expect(idOf(a) < idOf(b)).toBe(a < b);
      }),
    );
  });

  test.each([
    "",
    "0".repeat(31),
    "0".repeat(33),
    "A".repeat(32),
    `2${"0".repeat(31)}`,
    "g".repeat(32),
  ])("%j is none", (id) => {
    expect(() => parseTransactionId(id)).toThrow(InvalidRequestError);
  });
});
