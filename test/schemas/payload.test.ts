/**
 * Payloads: lossless, self-contained, hashed from their own bytes, and refused whole when damaged.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { FrameError, InvalidRequestError, TransactionTooLargeError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { RequestBatch } from "../../core/request-batch.ts";
import type { Payload, PayloadTable, WriteHashes } from "../../core/types.ts";
import { encodeItem } from "../../schemas/attribute-value.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { decodePayload, earlierAttemptsOf } from "../../schemas/payload-reading.ts";
import { PayloadScanner } from "../../schemas/payload-scan.ts";
import { fromHex, hex } from "./arbitraries.ts";
import { hashesIn, payloads } from "./requests.ts";
import { sampleHashes, sampleSeed } from "../../testing/sample-hashes.ts";

/** Of small integers, three bytes each by DynamoDB's way of counting. */
function list(length: number): { readonly N: string }[] {
  return Array.from({ length: Math.floor(length) }, () => ({ N: "1" }));
}

/** The hashes that a scan computes. */
function scannedHashes(bytes: Uint8Array): WriteHashes[] {
  const batch = new RequestBatch();
  batch.begin({
    kind: 0,
    isolation: 0,
    payload: 1,
    id0: 0,
    id1: 0,
    id2: 0,
    id3: 0,
    checkedTo: 0,
    record: 0,
    indexInRecord: 0,
    source: bytes,
  });
  scanner.scan(bytes, batch);
  batch.end();
  return hashesIn(batch, 0);
}

const scanner = new PayloadScanner(sampleHashes, sampleSeed);

/** How scanning ends. What it takes must decode; what it refuses may, but must break no decoder. */
function fault(bytes: Uint8Array): string {
  const scanning = faultOf(() => scannedHashes(bytes));
  const decoding = faultOf(() => decodePayload(bytes));
  if (scanning === "none") expect(decoding).toBe("none");
  return scanning;
}

function faultOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof FrameError) return error.fault;
    throw error;
  }
  return "none";
}

/**
 * Where to cut so many bytes: anywhere if they are few, else near both ends and where it was drawn.
 * All cuts of a long payload, thirty times, took two seconds of a free machine.
 */
function cutLengths(length: number, drawn: readonly number[]): ReadonlySet<number> {
  const all = Array.from({ length }, (_, index) => index);
  if (length <= 256) return new Set(all);
  return new Set([...all.slice(0, 64), ...drawn.map((each) => each % length), ...all.slice(-64)]);
}

const accounts: PayloadTable = { name: "accounts", partitionKey: "id", history: false };
const orders: PayloadTable = {
  name: "orders",
  partitionKey: "customer",
  sortKey: "number",
  history: true,
};
const small: Payload = {
  tables: [accounts, orders],
  writes: [
    { table: 0, key: { id: { S: "a" } }, item: { id: { S: "a" }, cents: { N: "100" } } },
    {
      table: 1,
      key: { customer: { S: "c" }, number: { N: "7" } },
      item: undefined,
      sawVersion: true,
    },
  ],
};
const smallHex = [
  "02",
  "00 08 6163636f756e7473 02 6964",
  "03 06 6f7264657273 08 637573746f6d6572 06 6e756d626572",
  "02",
  "01 8161 01 05 63656e7473 04 c801",
  "06 8163 c7",
]
  .join("")
  .replaceAll(" ", "");

describe("the layout", () => {
  test("is the documented one", () => {
    expect(hex(encodePayload(small))).toBe(smallHex);
    expect(decodePayload(fromHex(smallHex))).toEqual(small);
  });

  test("of a mixed table has its flag", () => {
    const mixed: Payload = { ...small, tables: [{ ...accounts, isMixed: true }, orders] };
    const mixedHex = `0204${smallHex.slice(4)}`;
    expect(hex(encodePayload(mixed))).toBe(mixedHex);
    expect(decodePayload(fromHex(mixedHex))).toEqual(mixed);
    expect(scannedHashes(fromHex(mixedHex))).toEqual(scannedHashes(fromHex(smallHex)));
  });

  test("of one that was run in vain before says how often, in front", () => {
    const retried: Payload = { ...small, earlierAttempts: 2 };
    expect(hex(encodePayload(retried))).toBe(`0002${smallHex}`);
    expect(decodePayload(fromHex(`0002${smallHex}`))).toEqual(retried);
    expect(scannedHashes(fromHex(`0002${smallHex}`))).toEqual(scannedHashes(fromHex(smallHex)));
    expect(earlierAttemptsOf(fromHex(`0002${smallHex}`))).toBe(2);
    expect(earlierAttemptsOf(fromHex(smallHex))).toBe(0);
  });

  test("hashes are those of the protocol, to the bit", () => {
    expect(scannedHashes(fromHex(smallHex))).toEqual([
      {
        table: 0xff6c7712bff60f68n,
        partition: 0x9242f8b68b07f534n,
        key: 0x9242f8b68b07f534n,
        sortKey: undefined,
      },
      {
        table: 0x32a33c8fec846ef1n,
        partition: 0x38c8b0c120421c69n,
        key: 0xc8fdaefffd721fc5n,
        sortKey: fromHex("c7"),
      },
    ]);
  });
});

describe("round trip", () => {
  test("I7: every payload that encodes is one an oracle takes, and decodes alike", () => {
    fc.assert(
      fc.property(payloads, (payload) => {
        const bytes = encodePayload(payload);
        expect(fault(bytes)).toBe("none");
        const decoded = decodePayload(bytes);
        expect(decoded.tables).toEqual(payload.tables);
        expect(decoded.earlierAttempts).toBe(payload.earlierAttempts);
        expect(decoded.writes.length).toBe(payload.writes.length);
        decoded.writes.forEach((write, index) => {
          const original = payload.writes[index];
          expect(write.table).toBe(original?.table);
          expect(write.sawVersion).toBe(original?.sawVersion);
          expect(encodeItem(write.key)).toEqual(encodeItem(original?.key ?? {}));
          expect(write.item === undefined).toBe(original?.item === undefined);
          if (write.item === undefined || original?.item === undefined) return;
          expect(encodeItem(write.item)).toEqual(encodeItem(original.item));
        });
      }),
    );
  });

  test("the scan computes the hashes that the SDK computes from names and values", () => {
    fc.assert(
      fc.property(payloads, (payload) => {
        const expected = payload.writes.map((write) => {
          const table = payload.tables[write.table];
          return table === undefined ? undefined : sampleHashes.item(table, write.key);
        });
        expect(scannedHashes(encodePayload(payload))).toEqual(expected);
      }),
    );
  });
});

describe("damage", () => {
  test("every truncation is refused", () => {
    const drawn = fc.array(fc.nat(), { minLength: 128, maxLength: 128 });
    fc.assert(
      fc.property(payloads, drawn, (payload, cuts) => {
        const bytes = encodePayload(payload);
        for (const length of cutLengths(bytes.length, cuts)) {
          const part = bytes.subarray(0, length);
          const taken = [() => scannedHashes(part), () => decodePayload(part)].filter(
            (read) => faultOf(read) === "none",
          );
          if (taken.length > 0) expect.unreachable(`${hex(part)} was taken`);
        }
      }),
      { numRuns: 30 },
    );
  });

  test("one changed byte either is refused by name or gives another payload that is whole", () => {
    fc.assert(
      fc.property(payloads, fc.nat(), fc.integer({ min: 1, max: 255 }), (payload, at, change) => {
        const bytes = encodePayload(payload);
        const index = at % bytes.length;
        bytes[index] = (bytes[index] ?? 0) ^ change;
        if (fault(bytes) === "none") {
          expect(hex(encodePayload(decodePayload(bytes)))).toBe(hex(bytes));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("random bytes are refused by name", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        expect(typeof fault(bytes)).toBe("string");
      }),
      { numRuns: 2_000 },
    );
  });

  const one = "01 00 01 74 01 6b";
  test.each([
    ["nothing at all", "truncated", ""],
    ["no tables", "malformed", "00 01 00"],
    ["as many earlier attempts as there may be", "none", `00 ffff03 ${one} 01 00 c1`],
    ["one more", "oversized", `00 808004 ${one} 01 00 c1`],
    ["no earlier attempts, counted", "malformed", `00 00 ${one} 01 00 c1`],
    ["earlier attempts twice", "malformed", `00 01 00 01 ${one} 01 00 c1`],
    ["no writes", "malformed", `${one} 00`],
    ["an unknown table flag", "future-version", `01 10 01 74 01 6b 01 00 c1`],
    ["a table without a write", "malformed", `02 00 01 74 01 6b 00 01 75 01 6b 01 00 c1`],
    ["a table named twice", "malformed", `02 00 01 74 01 6b 00 01 74 01 6b 02 00 c1 04 c1`],
    ["key attributes of one name", "malformed", `01 01 01 74 01 6b 01 6b 01 00 c1 c1`],
    ["a table without a name", "malformed", `01 00 00 01 6b 01 00 c1`],
    ["a table that is not there", "malformed", `${one} 01 04 c1`],
    ["an empty key text", "malformed", `${one} 01 00 80`],
    ["an empty key binary", "malformed", `${one} 01 00 0600`],
    ["a key of another type", "malformed", `${one} 01 00 01`],
    ["a key twice", "malformed", `${one} 02 00 c1 00 c1`],
    ["_v", "malformed", `${one} 01 01 c1 01 02 5f76 c1`],
    ["_f", "malformed", `${one} 01 01 c1 01 02 5f66 c1`],
    ["_n", "malformed", `${one} 01 01 c1 01 02 5f6e c1`],
    ["_x", "malformed", `${one} 01 01 c1 01 02 5f78 c1`],
    ["_b", "malformed", `${one} 01 01 c1 01 02 5f62 c1`],
    ["an attribute without a name", "malformed", `${one} 01 01 c1 01 00 c1`],
    ["a nested attribute without a name", "malformed", `${one} 01 01 c1 01 01 61 08 01 00 c1`],
    ["the key attribute among the others", "malformed", `${one} 01 01 c1 01 01 6b c2`],
    ["bytes after the last write", "trailing-bytes", `${one} 01 00 c1 00`],
    ["a partition key too long", "oversized", `${one} 01 00 068110 ${"00".repeat(2049)}`],
    ["a partition key of the limit", "none", `${one} 01 00 068010 ${"00".repeat(2048)}`],
    ["a binary key whose length takes one byte", "none", `${one} 01 00 067f ${"00".repeat(127)}`],
    [
      "a sort key too long",
      "oversized",
      `01 01 01 74 01 6b 01 73 01 00 c1 068108 ${"00".repeat(1025)}`,
    ],
    ["too many tables", "oversized", `ff07 ${"00 01 74 01 6b".repeat(1023)}`],
    ["too many writes", "oversized", `${one} 914e ${"00 c1".repeat(10_001)}`],
  ])("%s: %s", (_, expected, bytes) => {
    expect(fault(fromHex(bytes))).toBe(expected);
  });

  test.each([
    ["a text", (bytes: number) => ({ S: "x".repeat(bytes) })],
    ["a binary", (bytes: number) => ({ B: new Uint8Array(bytes) })],
    ["a list of numbers", (bytes: number) => ({ L: list((bytes - 3) / 3) })],
  ])("an item of DynamoDB's limit passes, and none above it: %s", (_, valueOf) => {
    const bytesOf = (bytes: number): Uint8Array => {
      const key = { id: { S: "a" } };
      const item = { ...key, v: valueOf(bytes) };
      return encodePayload({ tables: [accounts], writes: [{ table: 0, key, item }] });
    };
    const names = "id".length + "a".length + "v".length;
    const own = limits.itemBytesMax - limits.reservedAttributeBytes - names;
    expect(fault(bytesOf(own))).toBe("none");
    expect(fault(bytesOf(own + 3))).toBe("oversized");
  });

  test("a nested attribute may bear a reserved name", () => {
    expect(fault(fromHex(`${one} 01 01 c1 01 01 61 08 01 02 5f76 c1`))).toBe("none");
  });

  test.each([2, 9, 500])("a key written twice among %d writes is found", (count) => {
    const write = (index: number) => ({
      table: 0,
      key: { id: { N: index.toString() } },
      item: undefined,
    });
    const writes = Array.from({ length: count }, (_, index) => write(index));
    const bytes = encodePayload({ tables: [accounts], writes });
    expect(fault(bytes)).toBe("none");
    expect(decodePayload(bytes).writes.length).toBe(count);
    const twice = [...writes.slice(1), { ...write(1), key: { id: { N: "1.0" } } }];
    expect(fault(encodePayload({ tables: [accounts], writes: twice }))).toBe("malformed");
  });
});

describe("what an encoder is given", () => {
  const item = { id: { S: "a" }, cents: { N: "1" } };
  const key = { id: { S: "a" } };

  test.each(["_v", "_n", "_f", "_x", "_b"])("a reserved %s is an invalid request", (name) => {
    const writes = [{ table: 0, key, item: { ...item, [name]: { N: "1" } } }];
    expect(() => encodePayload({ tables: [accounts], writes })).toThrow(InvalidRequestError);
  });

  test("more writes than the limit, which the engine counts, are a bug of its own", () => {
    const writes = Array.from({ length: 10_001 }, (_, index) => ({
      table: 0,
      key: { id: { N: index.toString() } },
      item: undefined,
    }));
    expect(() => encodePayload({ tables: [accounts], writes })).toThrow(InvariantViolation);
    const most = encodePayload({ tables: [accounts], writes: writes.slice(1) });
    expect(scannedHashes(most).length).toBe(10_000);
  });

  test("more bytes than the limit are a transaction too large", () => {
    const blob = { B: new Uint8Array(390 * 1024) };
    const writes = Array.from({ length: 43 }, (_, index) => {
      const own = { id: { N: index.toString() } };
      return { table: 0, key: own, item: { ...own, blob } };
    });
    expect(() => encodePayload({ tables: [accounts], writes })).toThrow(TransactionTooLargeError);
  });

  test.each<readonly [string, Payload]>([
    [
      "an item of another key",
      { tables: [accounts], writes: [{ table: 0, key, item: { id: { S: "b" } } }] },
    ],
    [
      "a key without its attribute",
      { tables: [accounts], writes: [{ table: 0, key: {}, item: undefined }] },
    ],
    ["a table that is not there", { tables: [accounts], writes: [{ table: 1, key, item }] }],
    ["no writes", { tables: [accounts], writes: [] }],
    ["no earlier attempts, counted", { ...small, earlierAttempts: 0 }],
    ["more of them than are told", { ...small, earlierAttempts: limits.earlierAttemptsMax + 1 }],
  ])("%s is a bug of the caller", (_, payload) => {
    expect(() => encodePayload(payload)).toThrow(InvariantViolation);
  });
});
