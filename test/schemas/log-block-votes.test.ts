/** What blocks say of prepared transactions, votes and busy answers: every fault by name. */
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { FrameError } from "../../core/errors.ts";
import type {
  CommittedVerdict,
  KeyHash,
  LogBlock,
  LogPosition,
  PreparedVerdict,
  Stamp,
  Verdict,
} from "../../core/types.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { golden, goldenOfClient, goldenOfVotes } from "./blocks.ts";
import { encodeLogBlock } from "./encode-log-block.ts";

const { position, verdicts } = goldenOfVotes;
const [prepared, voted] = verdicts as [PreparedVerdict, CommittedVerdict];

function faultOf(bytes: Uint8Array, at = position): string {
  try {
    decodeLogBlock(bytes, at, sampleHashes);
    return "accepted";
  } catch (error) {
    if (error instanceof FrameError) return error.fault;
    throw error;
  }
}

/** The golden bytes up to `at`, with others behind. */
function continued(at: number, ...others: readonly (Uint8Array | readonly number[])[]): Uint8Array {
  const rest = others.map((bytes) => Uint8Array.from(bytes));
  return Buffer.concat([encodeLogBlock(goldenOfVotes).subarray(0, at), ...rest]);
}

describe("a block with prepared transactions, votes and busy answers", () => {
  /** Offset of a byte in the golden block, its new value, and the fault that follows. */
  test.each<[string, number, number, string]>([
    ["flags of a later version", 3, 36, "future-version"],
    ["I4: an oldest open block that is itself", 29, 0, "malformed"],
    ["an oldest open block before the log's first", 29, 12, "malformed"],
    ["a prepared payload in the record before, which there is none", 31, 13, "malformed"],
    ["a prepared payload in a record that nothing names", 31, 14, "malformed"],
    ["a prepared payload inline of an oracle's block", 31, 17, "malformed"],
    ["more checks than its bytes hold", 49, 0x7f, "truncated"],
    ["a vote on a block before the log's first", 106, 12, "malformed"],
    ["more stamps than its bytes hold", 107, 0x7f, "truncated"],
    ["a stamp of an unknown kind", 108, 2, "malformed"],
    ["a stamped version that is not safe", 126, 0x20, "malformed"],
    ["an unknown verdict", 152, 29, "malformed"],
    ["what is in the way with a timestamp that is not safe", 169, 0x20, "malformed"],
  ])("is refused with %s", (_, at, value, fault) => {
    const bytes = encodeLogBlock(goldenOfVotes);
    bytes[at] = value;
    expect(faultOf(bytes)).toBe(fault);
  });

  test("is refused with more checks, stamps or prepared writes than the limits", () => {
    const checks = continued(49, [0x91, 0x4e], new Uint8Array(80_008));
    expect(faultOf(checks)).toBe("oversized");
    const stamps = continued(107, [0x89, 0x27], new Uint8Array(85_017));
    expect(faultOf(stamps)).toBe("oversized");
    const table = [0, ...new Uint8Array(9)];
    const writes = continued(69, [0x89, 0x27], table, new Uint8Array(8 + 9 * 5_000), [0]);
    expect(faultOf(writes)).toBe("oversized");
  });

  test("may vote on what it has prepared itself", () => {
    const payload = { kind: "prepared", position } as const;
    const own = { ...goldenOfVotes, verdicts: [prepared, { ...voted, id: prepared.id, payload }] };
    const bytes = encodeLogBlock(own);
    expect(decodeLogBlock(bytes, position, sampleHashes)).toEqual(own);
  });

  const tooMany = { kind: "version", version: prepared.timestamp } as const;
  test.each<[string, Partial<LogBlock>]>([
    ["I4: an oldest open block that is itself", { oldestOpen: position }],
    ["a vote on a later block", { verdicts: [prepared, votedWith({ position: 13 })] }],
    ["a vote without stamps", { verdicts: [prepared, votedWith({ stamps: undefined })] }],
    ["a nonce of 15 bytes", { verdicts: [prepared, votedWith({ stamps: [shortNonce()] })] }],
    ["too many stamps", { verdicts: [prepared, votedWith({ stamps: times(5_001, tooMany) })] }],
    ["too many checks", { verdicts: [{ ...prepared, checks: times(10_001, 1n as KeyHash) }] }],
    ["too many writes", { verdicts: [{ ...prepared, writes: times(5_001, writeOfAny()) }] }],
    ["stamps of no vote", { verdicts: [{ ...voted, payload: prepared.payload }] }],
  ])("is not encoded with %s", (_, change) => {
    const last = change.verdicts?.at(-1);
    const reach = last !== undefined && "timestamp" in last ? last.timestamp : undefined;
    const through = reach === undefined ? {} : { throughTimestamp: reach };
    expect(() => encodeLogBlock({ ...goldenOfVotes, ...through, ...change })).toThrow(
      InvariantViolation,
    );
  });

  test.each([
    ["in an oracle's block", golden],
    ["in a client's", goldenOfClient],
    ["in one with a vote", goldenOfVotes],
  ])("one changed byte gives a fault, or the one encoding of something else: %s", (_, content) => {
    const bytes = encodeLogBlock(content);
    const values = [1, 2, 4, 8, 16, 32, 64, 128, 255];
    for (let at = 0; at < bytes.length; at++) {
      for (const change of values) {
        const changed = bytes.slice();
        changed[at] = (bytes[at] ?? 0) ^ change;
        if (faultOf(changed, content.position) !== "accepted") continue;
        const decoded = decodeLogBlock(changed, content.position, sampleHashes);
        expect(Buffer.compare(encodeLogBlock(decoded), changed)).toBe(0);
      }
    }
  });
});

function votedWith({
  position: at,
  ...change
}: {
  readonly position?: number;
  readonly stamps?: readonly Stamp[] | undefined;
}): Verdict {
  const payload = { kind: "prepared", position: (at ?? 9) as LogPosition } as const;
  return { ...voted, payload, ...change } as Verdict;
}

function shortNonce(): Stamp {
  return { kind: "nonce", nonce: new Uint8Array(15) };
}

function writeOfAny(): PreparedVerdict["writes"][number] {
  const hash = 1n as KeyHash;
  return { table: hash, partition: hash, key: hash, sortKey: undefined };
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}
