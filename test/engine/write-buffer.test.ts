/** The buffered writes of a transaction and their limits. */
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import { assertKeyCount, WriteBuffer } from "../../engine/attempts/write-buffer.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

function tableOf(name: string): TableDescription {
  return {
    name,
    partitionKey: { name: "pk", type: "S" },
    history: false,
    access: "transactional",
  };
}

function keyOf(pk: string): Item {
  return { pk: { S: pk } };
}

describe("a write buffer", () => {
  test("keeps the last write of an item, one per item, each with its own table", () => {
    const buffer = new WriteBuffer(sampleHashes);
    const [a, b] = [tableOf("a"), tableOf("b")];
    buffer.set(a, keyOf("1"), keyOf("1"));
    buffer.set(b, keyOf("1"), keyOf("1"));
    buffer.set(a, keyOf("1"), undefined);
    expect(buffer.size).toBe(2);
    expect(buffer.find(a, keyOf("1"))).toMatchObject({ item: undefined });
    expect(buffer.toPayload()).toMatchObject({
      tables: [{ name: "a" }, { name: "b" }],
      writes: [
        { table: 0, item: undefined },
        { table: 1, item: keyOf("1") },
      ],
    });
  });

  test.each([
    ["at the limit is a payload", limits.tablesPerTransactionMax, undefined],
    ["one above is refused", limits.tablesPerTransactionMax + 1, "tablesPerTransactionMax"],
  ])("of as many tables as %s", (_, count, refusedBy) => {
    const buffer = new WriteBuffer(sampleHashes);
    for (let i = 0; i < count; i += 1) {
      buffer.set(tableOf(`table-${i.toString()}`), keyOf("1"), undefined);
    }
    if (refusedBy === undefined) expect(buffer.toPayload().tables).toHaveLength(count);
    else {
      expect(() => buffer.toPayload()).toThrow(refusedBy);
    }
  });

  test("counts bytes once per item: a smaller write makes room again", () => {
    const buffer = new WriteBuffer(sampleHashes);
    const large = { ...keyOf("1"), large: { S: "x".repeat(limits.payloadBytesMax - 100) } };
    buffer.set(tableOf("a"), keyOf("1"), large);
    expect(() => {
      buffer.set(tableOf("a"), keyOf("2"), { ...keyOf("2"), more: { S: "x".repeat(200) } });
    }).toThrow(/reaches \d+ bytes, above the limit payloadBytesMax of \d+ bytes; split/u);
    expect(buffer.size).toBe(1);
    buffer.set(tableOf("a"), keyOf("1"), undefined);
    buffer.set(tableOf("a"), keyOf("2"), { ...keyOf("2"), more: { S: "x".repeat(200) } });
    expect(buffer.size).toBe(2);
  });

  test.each([
    [limits.transactionKeysMax, 0, false],
    [limits.transactionKeysMax - 1, 1, false],
    [limits.transactionKeysMax, 1, true],
  ])("%i reads and %i writes are too many: %s", (reads, writes, refused) => {
    const check = (): void => {
      assertKeyCount(reads, writes);
    };
    if (refused) expect(check).toThrow("transactionKeysMax");
    else expect(check).not.toThrow();
  });
});
