import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { FrameError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type {
  LogBlock,
  LogPosition,
  MakerNumber,
  Timestamp,
  Verdict,
  WriteHashes,
} from "../../core/types.ts";
import { DraftEncoder } from "../../schemas/log-block-draft.ts";
import { decodeLogBlock, decodeLogBlockHeader } from "../../schemas/log-block.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { streams } from "../core/oracle-arbitraries.ts";
import { appendedDrafts, newOracle, oracleInput, smallBounds } from "../core/oracle-harness.ts";
import {
  block,
  golden,
  goldenHex,
  goldenHexOfClient,
  goldenHexOfVotes,
  goldenOfClient,
  goldenOfVotes,
  withMaker,
} from "./blocks.ts";
import { encodeLogBlock } from "./encode-log-block.ts";
import { bytesShownBy } from "./format-documents.ts";

function faultOf(run: () => unknown): string {
  try {
    run();
    return "accepted";
  } catch (error) {
    if (error instanceof FrameError) return error.fault;
    throw error;
  }
}

function kindOf(verdict: Verdict): string {
  return "payload" in verdict ? `${verdict.kind} ${verdict.payload.kind}` : verdict.kind;
}

describe("log block", () => {
  test.each([
    ["an oracle's", golden, goldenHex],
    ["a client's", goldenOfClient, goldenHexOfClient],
    [
      "one with what is prepared, a vote, and who has come between",
      goldenOfVotes,
      goldenHexOfVotes,
    ],
  ])("has the bytes that docs/formats/log-block.md shows: %s", (_, content, hex) => {
    expect(Buffer.from(encodeLogBlock(content)).toString("hex")).toBe(hex);
    const bytes = Uint8Array.from(Buffer.from(hex, "hex"));
    expect(decodeLogBlock(bytes, content.position, sampleHashes)).toEqual(content);
    expect(bytesShownBy("docs/formats/log-block.md")).toContain(hex);
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
    const seen = new Set<string>();
    fc.assert(
      fc.property(streams(40), fc.constantFrom(700, limits.blockBytesMax), (records, bytesMax) => {
        const input = oracleInput(records);
        const oracle = newOracle({ ...smallBounds, blockBytesMax: bytesMax });
        for (const draft of appendedDrafts(oracle, input)) {
          const bytes = encoder.encode(draft, input);
          const block = decodeLogBlock(bytes, draft.position, sampleHashes);
          expect(Buffer.compare(encodeLogBlock(block), bytes)).toBe(0);
          expect(bytes.length).toBeLessThanOrEqual(bytesMax);
          for (const verdict of block.verdicts) seen.add(kindOf(verdict));
          if (block.oldestOpen !== undefined) seen.add("open");
        }
      }),
      // The seed is given, as what the runs are to meet is asserted below.
      { numRuns: 200, seed: 1 },
    );
    const kinds = ["spilled", "stream"].flatMap((place) => [
      `committed ${place}`,
      `prepared ${place}`,
    ]);
    expect(Array.from(seen).toSorted()).toEqual(
      expect.arrayContaining([...kinds, "committed prepared", "busy", "open"]),
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

  test.each([
    ["an oracle's", golden],
    ["a client's", goldenOfClient],
    ["one with a vote", goldenOfVotes],
  ])("refuses every truncation of a block: %s", (_, content) => {
    const bytes = encodeLogBlock(content);
    for (let length = 0; length < bytes.length; length++) {
      const fault = faultOf(() =>
        decodeLogBlock(bytes.subarray(0, length), content.position, sampleHashes),
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
    ["flags of a later version", 3, 32, "future-version"],
    ["reports of nobody", 3, 2, "malformed"],
    ["the hashes of another secret", 4, 0x7c, "other-hash-secret"],
    ["another position", 8, 8, "malformed"],
    ["a timestamp that is not safe", 9, 0xff, "malformed"],
    ["I2: a reach below its decisions", 16, 2, "malformed"],
    ["an unknown cursor", 17, 3, "malformed"],
    ["a sequence number's negative zero", 19, 1, "malformed"],
    ["a cursor within a record that covers none of it", 22, 0, "malformed"],
    ["an unknown verdict", 31, 29, "malformed"],
  ])("refuses %s", (_, at, value, fault) => {
    const bytes = encodeLogBlock(golden);
    bytes[at] = value;
    expect(faultOf(() => decodeLogBlock(bytes, golden.position, sampleHashes))).toBe(fault);
  });

  test("refuses position 0, before every log's first", () => {
    const bytes = encodeLogBlock(golden);
    bytes[8] = 0;
    const read = () => decodeLogBlock(bytes, 0 as LogPosition, sampleHashes);
    expect(faultOf(read)).toBe("malformed");
  });

  /** The same of a client's: its maker's number begins at byte 30. */
  test.each<[string, number, number, string]>([
    ["no reports, said to be some", 34, 0, "malformed"],
    ["more reports than its bytes hold", 34, 0x7f, "truncated"],
    ["a report of a timestamp that is not safe", 35, 0xff, "malformed"],
    ["reports that do not rise", 51, 0, "malformed"],
  ])("refuses a client's block with %s", (_, at, value, fault) => {
    const bytes = encodeLogBlock(goldenOfClient);
    bytes[at] = value;
    expect(faultOf(() => decodeLogBlock(bytes, goldenOfClient.position, sampleHashes))).toBe(fault);
  });

  test("refuses more reports than the limit", () => {
    const head = encodeLogBlock(goldenOfClient).subarray(0, 34);
    const count = Uint8Array.of(0x81, 0x04);
    const bytes = Buffer.concat([head, count, new Uint8Array(10_000)]);
    expect(faultOf(() => decodeLogBlock(bytes, goldenOfClient.position, sampleHashes))).toBe(
      "oversized",
    );
  });

  test("refuses a payload inline of an oracle's block, or in the stream of a client's", () => {
    const inlineOfOracle = encodeLogBlock(goldenOfClient);
    const anonymous = Buffer.concat([inlineOfOracle.subarray(0, 30), inlineOfOracle.subarray(61)]);
    anonymous[3] = 0;
    expect(faultOf(() => decodeLogBlock(anonymous, goldenOfClient.position, sampleHashes))).toBe(
      "malformed",
    );
    const oracles = encodeLogBlock(golden);
    const claimed = Buffer.concat([
      oracles.subarray(0, 30),
      Uint8Array.of(0, 0, 0, 1),
      oracles.subarray(30),
    ]);
    claimed[3] = 1;
    expect(faultOf(() => decodeLogBlock(claimed, golden.position, sampleHashes))).toBe("malformed");
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

  test.each<[string, LogBlock]>([
    ["a payload inline of an oracle's block", { ...golden, verdicts: goldenOfClient.verdicts }],
    ["one in the stream of a client's", { ...goldenOfClient, verdicts: golden.verdicts }],
    ["a number that is none", withMaker({ number: -1 as MakerNumber })],
    [
      "reports that do not rise",
      withMaker({ installed: (goldenOfClient.maker?.installed ?? []).toReversed() }),
    ],
  ])("does not encode %s", (_, content) => {
    expect(() => encodeLogBlock(content)).toThrow(InvariantViolation);
  });

  test("does not encode a key hash that its sort key does not give", () => {
    const lying = { table: 1n, partition: 2n, key: 3n, sortKey: Uint8Array.of(1) } as WriteHashes;
    const verdicts = golden.verdicts.map((verdict) =>
      verdict.kind === "committed" ? { ...verdict, writes: [lying] } : verdict,
    );
    expect(() => encodeLogBlock({ ...golden, verdicts })).toThrow(InvariantViolation);
  });
});
