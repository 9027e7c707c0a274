import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { FrameError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { isPlainAbort, outcomes } from "../../core/outcomes.ts";
import type {
  AbortReason,
  KeyHash,
  LogBlock,
  LogPosition,
  PayloadLocation,
  SequenceNumber,
  Timestamp,
  TransactionId,
  Verdict,
  WriteHashes,
} from "../../core/types.ts";
import { DraftEncoder } from "../../schemas/log-block-draft.ts";
import { encodeLogBlock } from "./encode-log-block.ts";
import { decodeLogBlock, decodeLogBlockHeader } from "../../schemas/log-block.ts";
import { streams } from "../core/oracle-arbitraries.ts";
import { appendedDrafts, newOracle, oracleInput, smallBounds } from "../core/oracle-harness.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const safe = fc.maxSafeNat();
const word64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((hash) => hash as KeyHash);
const transactionId = fc
  .tuple(fc.integer({ min: 0, max: 0x1fff_ffff }), fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }))
  .map(
    ([first, rest]) =>
      (first.toString(16).padStart(8, "0") + rest.toString(16).padStart(24, "0")) as TransactionId,
  );
const sequenceNumber = fc.oneof(
  fc.constantFrom("0", "00", "1", "49590338271490256608559692538361571095921575989136588898"),
  fc.bigInt({ min: 0n, max: 10n ** 60n }).map((value) => value.toString()),
  fc.bigInt({ min: 0n, max: 999n }).map((value) => `000${value.toString()}`),
) as fc.Arbitrary<SequenceNumber>;

const table = fc.constantFrom(1n, 2n, 2n ** 40n, 2n ** 64n - 1n) as fc.Arbitrary<KeyHash>;
const write: fc.Arbitrary<WriteHashes> = fc.oneof(
  fc.record({ table, key: word64 }).map(({ table: name, key }) => ({
    table: name,
    partition: key,
    key,
    sortKey: undefined,
  })),
  fc
    .record({ table, partition: word64, sortKey: fc.uint8Array({ minLength: 1, maxLength: 64 }) })
    .map((hashes) => ({ ...hashes, key: sampleHashes.sortKey(hashes.partition, hashes.sortKey) })),
  fc
    .record({ table, partition: word64, key: word64, sortKey: fc.constant(undefined) })
    .filter(({ partition, key }) => partition !== key),
);
const location: fc.Arbitrary<PayloadLocation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("stream" as const),
      sequenceNumber,
      requestIndex: fc.nat({ max: 3 }),
    }),
  },
  fc.record({
    kind: fc.constant("spilled" as const),
    chunks: fc.nat(),
    byteLength: safe,
    digest: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  }),
  fc.record({ kind: fc.constant("inline" as const), bytes: fc.uint8Array({ maxLength: 40 }) }),
);
const plainReason = fc.constantFrom(...outcomes.filter(isPlainAbort));

type VerdictSeed = {
  readonly id: TransactionId;
  readonly later: number;
  readonly what:
    | {
        readonly kind: "committed";
        readonly writes: WriteHashes[];
        readonly payload: PayloadLocation;
      }
    | { readonly kind: "conflict"; readonly check: number; readonly back: number }
    | { readonly kind: "plain"; readonly reason: { readonly kind: string } }
    | { readonly kind: "stale" };
};
const verdictSeed: fc.Arbitrary<VerdictSeed> = fc.record({
  id: transactionId,
  later: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2 ** 40 })),
  what: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("committed" as const),
        writes: fc.array(write, { maxLength: 5 }),
        payload: location,
      }),
    },
    fc.record({
      kind: fc.constant("conflict" as const),
      check: fc.nat(),
      back: fc.integer({ min: 1, max: 2 ** 40 }),
    }),
    plainReason.map((kind) => ({ kind: "plain" as const, reason: { kind } })),
    fc.constant({ kind: "stale" as const }),
  ),
});

function verdictOf({ id, what }: VerdictSeed, timestamp: Timestamp): Verdict {
  switch (what.kind) {
    case "committed":
      return { kind: "committed", id, timestamp, writes: what.writes, payload: what.payload };
    case "conflict": {
      const conflictTimestamp = Math.max(0, timestamp - what.back) as Timestamp;
      const reason: AbortReason = { kind: "conflict", check: what.check, conflictTimestamp };
      return { kind: "aborted", id, timestamp, reason };
    }
    case "plain":
      return { kind: "aborted", id, timestamp, reason: what.reason as AbortReason };
    case "stale":
      return { kind: "stale", id };
  }
}

const block: fc.Arbitrary<LogBlock> = fc
  .record({
    position: fc.integer({ min: 1, max: 2 ** 40 }),
    previousTimestamp: fc.integer({ min: 0, max: 2 ** 51 }),
    sequenceNumber,
    requestsDone: fc.oneof(fc.constant("all" as const), fc.integer({ min: 1, max: 4_096 })),
    hasCursor: fc.boolean(),
    arrivalMs: safe,
    rejectedRecords: fc.nat(),
    beyond: fc.oneof(fc.constant(0), fc.nat()),
    seeds: fc.array(verdictSeed, { maxLength: 12 }),
  })
  .map(({ seeds, beyond, hasCursor, requestsDone, ...rest }) => {
    let last = rest.previousTimestamp;
    const verdicts = seeds.map((seed) => {
      if (seed.what.kind !== "stale") last += seed.later;
      return verdictOf(seed, last as Timestamp);
    });
    const decided = last > rest.previousTimestamp;
    return {
      position: rest.position as LogPosition,
      previousTimestamp: rest.previousTimestamp as Timestamp,
      throughTimestamp: (last + (decided ? beyond : 0)) as Timestamp,
      cursor: hasCursor ? { sequenceNumber: rest.sequenceNumber, requestsDone } : undefined,
      arrivalMs: rest.arrivalMs,
      rejectedRecords: rest.rejectedRecords,
      verdicts,
    };
  });

function faultOf(run: () => unknown): string {
  try {
    run();
    return "accepted";
  } catch (error) {
    if (error instanceof FrameError) return error.fault;
    throw error;
  }
}

/** One of each kind of verdict, small enough to be read. */
const golden: LogBlock = {
  position: 7 as LogPosition,
  previousTimestamp: 1_700_000_000_000_000 as Timestamp,
  throughTimestamp: 1_700_000_000_000_004 as Timestamp,
  cursor: { sequenceNumber: "300" as SequenceNumber, requestsDone: 5 },
  arrivalMs: 1_700_000_000_000,
  rejectedRecords: 1,
  verdicts: [
    {
      kind: "committed",
      id: "000000000000000100000000000000aa" as TransactionId,
      timestamp: 1_700_000_000_000_001 as Timestamp,
      writes: [
        {
          table: 0x11n as KeyHash,
          partition: 0x22n as KeyHash,
          key: 0x22n as KeyHash,
          sortKey: undefined,
        },
        {
          table: 0x33n as KeyHash,
          partition: 0x44n as KeyHash,
          key: sampleHashes.sortKey(0x44n as KeyHash, Uint8Array.of(0xc1, 0x61)),
          sortKey: Uint8Array.of(0xc1, 0x61),
        },
      ],
      payload: {
        kind: "stream",
        sequenceNumber: "255" as SequenceNumber,
        requestIndex: 0,
      },
    },
    {
      kind: "aborted",
      id: "000000000000000100000000000000bb" as TransactionId,
      timestamp: 1_700_000_000_000_002 as Timestamp,
      reason: {
        kind: "conflict",
        check: 3,
        conflictTimestamp: 1_700_000_000_000_001 as Timestamp,
      },
    },
    { kind: "stale", id: "000000000000000100000000000000cc" as TransactionId },
    {
      kind: "committed",
      id: "000000000000000100000000000000dd" as TransactionId,
      timestamp: 1_700_000_000_000_003 as Timestamp,
      writes: [
        {
          table: 0x33n as KeyHash,
          partition: 0x44n as KeyHash,
          key: 0x55n as KeyHash,
          sortKey: undefined,
        },
      ],
      payload: { kind: "stream", sequenceNumber: "255" as SequenceNumber, requestIndex: 3 },
    },
    {
      kind: "committed",
      id: "000000000000000100000000000000ee" as TransactionId,
      timestamp: 1_700_000_000_000_004 as Timestamp,
      writes: [],
      payload: { kind: "inline", bytes: Uint8Array.of(0xab, 0xcd) },
    },
  ],
};

const goldenHex = [
  "54420100 7d57ca93 07 060a24181e4000 04 02 00 04012c 05 80d095ffbc31 01 05",
  "02 000000000000000100000000000000aa 00 00 032d 00",
  "02 00 0000000000000011 00 0000000000000022",
  "01 0000000000000033 01 0000000000000044 02 c161",
  "05 000000000000000100000000000000bb 00 03 00",
  "0a 000000000000000100000000000000cc",
  "00 000000000000000100000000000000dd 00",
  "01 01 0000000000000044 00 0000000000000055",
  "04 000000000000000100000000000000ee 00 02 abcd 00",
]
  .join("")
  .replaceAll(" ", "");

describe("log block", () => {
  test("has the bytes that docs/formats/log-block.md shows", () => {
    expect(Buffer.from(encodeLogBlock(golden)).toString("hex")).toBe(goldenHex);
    expect(decodeLogBlock(Buffer.from(goldenHex, "hex"), golden.position, sampleHashes)).toEqual(
      golden,
    );
  });

  test("decodes to what was encoded", () => {
    fc.assert(
      fc.property(block, (content) => {
        const bytes = encodeLogBlock(content);
        expect(decodeLogBlock(bytes, content.position, sampleHashes)).toEqual(content);
        const { verdicts, ...header } = content;
        expect(decodeLogBlockHeader(bytes, content.position)).toEqual({
          ...header,
          verdictCount: verdicts.length,
          hashFingerprint: sampleHashes.fingerprint,
        });
      }),
      { numRuns: 500 },
    );
  });

  test("has one encoding: columns and rich form give the same bytes", () => {
    const encoder = new DraftEncoder(sampleHashes.fingerprint);
    fc.assert(
      fc.property(
        streams(30),
        fc.constantFrom(700, limits.blockBytesMax),
        (records, blockBytesMax) => {
          const oracle = newOracle({ ...smallBounds, blockBytesMax });
          const input = oracleInput(records);
          for (const draft of appendedDrafts(oracle, input)) {
            const bytes = encoder.encode(draft, input);
            expect(encodeLogBlock(decodeLogBlock(bytes, draft.position, sampleHashes))).toEqual(
              bytes,
            );
            expect(bytes.length).toBeLessThanOrEqual(blockBytesMax);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test("never takes hostile bytes for more: a fault, or the one encoding of something", () => {
    fc.assert(
      fc.property(
        block,
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 }),
        (content, changes) => {
          const bytes = encodeLogBlock(content);
          for (const [at, value] of changes) bytes[at % bytes.length] = value;
          let decoded: LogBlock;
          try {
            decoded = decodeLogBlock(bytes, content.position, sampleHashes);
          } catch (error) {
            expect(error).toBeInstanceOf(FrameError);
            return;
          }
          expect(encodeLogBlock(decoded)).toEqual(bytes);
        },
      ),
      { numRuns: 1_500 },
    );
  });

  test("refuses every truncation of a block", () => {
    const bytes = encodeLogBlock(golden);
    for (let length = 0; length < bytes.length; length++) {
      const fault = faultOf(() =>
        decodeLogBlock(bytes.subarray(0, length), golden.position, sampleHashes),
      );
      expect(fault).toBe(length < 2 ? "not-a-frame" : "truncated");
    }
  });

  /** Offset of a byte in the golden block, its new value, and the fault that follows. */
  test.each<[string, number, number, string]>([
    ["another magic", 0, 0x55, "not-a-frame"],
    ["a commit record's magic", 1, 0x4d, "not-a-frame"],
    ["version 0", 2, 0, "not-a-frame"],
    ["a later version", 2, 2, "future-version"],
    ["flags of a later version", 3, 1, "future-version"],
    ["the hashes of another secret", 4, 0x7c, "other-hash-secret"],
    ["another position", 8, 8, "malformed"],
    ["a timestamp that is not safe", 9, 0xff, "malformed"],
    ["I2: a reach below its decisions", 16, 3, "malformed"],
    ["an unknown cursor", 17, 3, "malformed"],
    ["a sequence number's negative zero", 19, 1, "malformed"],
    ["a cursor within a record that covers none of it", 22, 0, "malformed"],
    ["an unknown verdict", 31, 11, "malformed"],
  ])("refuses %s", (_, at, value, fault) => {
    const bytes = encodeLogBlock(golden);
    bytes[at] = value;
    expect(faultOf(() => decodeLogBlock(bytes, golden.position, sampleHashes))).toBe(fault);
  });

  test("refuses bytes after its end, and more bytes than a block has", () => {
    const bytes = encodeLogBlock(golden);
    const longer = Buffer.concat([bytes, Uint8Array.of(0)]);
    expect(faultOf(() => decodeLogBlock(longer, golden.position, sampleHashes))).toBe(
      "trailing-bytes",
    );
    const huge = Buffer.concat([bytes, new Uint8Array(limits.blockBytesMax)]);
    expect(faultOf(() => decodeLogBlock(huge, golden.position, sampleHashes))).toBe("oversized");
  });

  test("refuses a count of verdicts that its bytes cannot hold", () => {
    const empty = encodeLogBlock({
      ...golden,
      verdicts: [],
      throughTimestamp: golden.previousTimestamp,
    });
    const few = Buffer.concat([empty.subarray(0, -1), Uint8Array.of(0x80, 0x01)]);
    expect(faultOf(() => decodeLogBlock(few, golden.position, sampleHashes))).toBe("truncated");
    const many = Buffer.concat([empty.subarray(0, -1), Uint8Array.of(0xff, 0xff, 0xff, 0x07)]);
    expect(faultOf(() => decodeLogBlock(many, golden.position, sampleHashes))).toBe("oversized");
  });

  test.each<[string, Partial<LogBlock>]>([
    ["I1: a block at position 0", { position: 0 as LogPosition }],
    [
      "I2: a block that reaches below its decisions",
      { throughTimestamp: golden.previousTimestamp },
    ],
    ["I2: a block that reaches back", { throughTimestamp: 1 as Timestamp }],
    ["I2: timestamps that fall", { verdicts: golden.verdicts.toReversed() }],
    ["I2: a reach without a decision", { verdicts: [] }],
  ])("does not encode %s", (_, change) => {
    expect(() => encodeLogBlock({ ...golden, ...change })).toThrow(InvariantViolation);
  });

  test("does not encode a key hash that its sort key does not give", () => {
    const lying = { table: 1n, partition: 2n, key: 3n, sortKey: Uint8Array.of(1) } as WriteHashes;
    const verdicts = golden.verdicts.map((verdict) =>
      verdict.kind === "committed" ? { ...verdict, writes: [lying] } : verdict,
    );
    expect(() => encodeLogBlock({ ...golden, verdicts })).toThrow(InvariantViolation);
  });
});
