/**
 * Keys that somebody chooses for one corner of the table in which a payload's duplicates are looked
 * for. Who knows the shard's hash secret knows their hashes, but not the seed of the process.
 */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { slotSeedOf, slotSeedWords } from "../../core/slot-seed.ts";
import type { Item } from "../../core/types.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { PayloadScanner } from "../../schemas/payload-scan.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const table = { name: "t", partitionKey: "k", history: false };
const writes = 1_000;
/** Of the table that so many writes get; it is at most half full. */
const slots = 2_048;
const corner = 32;

/** Hashes that differ in the bits which a table without a seed would not look at. */
function chosenKeys(bitsOf: (hash: bigint) => number): Item[] {
  const found: Item[] = [];
  for (let i = 0; found.length < writes; i++) {
    const key = { k: { N: i.toString() } };
    if (bitsOf(sampleHashes.item(table, key).key) < corner) found.push(key);
  }
  return found;
}

test.each([
  ["lowest", (hash: bigint) => Number(hash & 0xffff_ffffn) & (slots - 1)],
  ["highest", (hash: bigint) => Number(hash >> 32n) >>> 21],
])("keys of equal %s bits do not meet in one place", (_, bitsOf) => {
  const bytes = encodePayload({
    tables: [table],
    writes: chosenKeys(bitsOf).map((key) => ({ table: 0, key, item: undefined })),
  });
  for (const name of ["a", "b", "c"]) {
    const digest = createHash("sha256").update(name).digest();
    const seed = slotSeedOf(digest.subarray(0, 4 * slotSeedWords));
    const scanner = new PayloadScanner(sampleHashes, seed);
    scanner.scan(bytes);
    expect(scanner.detours).toBeLessThan(writes);
  }
});
