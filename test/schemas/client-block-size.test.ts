/** How long a client's own block may become is told before it is encoded. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type {
  BlockMaker,
  KeyHash,
  LogBlock,
  LogPosition,
  Timestamp,
  TransactionId,
  Verdict,
} from "../../core/types.ts";
import { ClientBlockSize, type SizedDecision } from "../../schemas/client-block-size.ts";
import { goldenOfClient, inline, maker, stamps, withMaker, write } from "./blocks.ts";
import { encodeLogBlock } from "./encode-log-block.ts";

const id = "00".repeat(16) as TransactionId;
/** Both take as many bytes as there may be. */
const position = (2 ** 52) as LogPosition;
const distance = 2 ** 49 + 1;

type Wanted = { readonly size: SizedDecision; readonly verdict: (at: Timestamp) => Verdict };

const writes = fc.array(write, { maxLength: 5 });
const spilled = fc.constant({
  kind: "spilled" as const,
  chunks: 60,
  byteLength: limits.payloadBytesMax,
  digest: new Uint8Array(32),
});
const commits = fc.record({ writes, payload: fc.oneof(inline, spilled) }).map((commit): Wanted => ({
  size: commit,
  verdict: (timestamp) => ({ kind: "committed", id, timestamp, ...commit }),
}));
const prepared = fc
  .record({ writes, payload: fc.oneof(inline, spilled), checks: fc.nat({ max: 400 }) })
  .map(({ checks, ...rest }): Wanted => {
    const hashes = Array.from({ length: checks }, (_, n) => BigInt(n) as KeyHash);
    return {
      size: { ...rest, checks },
      verdict: (timestamp) => ({ kind: "prepared", id, timestamp, ...rest, checks: hashes }),
    };
  });
const votes = fc
  .record({ writes, stamps, back: fc.constantFrom(0, 1, 2 ** 51) })
  .map(({ back, ...rest }): Wanted => ({
    size: { writes: rest.writes, stamps: rest.stamps.length },
    verdict: (timestamp) => {
      const payload = { kind: "prepared", position: (position - back) as LogPosition } as const;
      return { kind: "committed", id, timestamp, ...rest, payload };
    },
  }));
const aborts = fc.constant<Wanted>({
  size: "abort",
  verdict: (timestamp) => ({ kind: "aborted", id, timestamp, reason: { kind: "probed" } }),
});
const decisions = fc.oneof(commits, prepared, votes, aborts);

function blockOf(by: BlockMaker, verdicts: readonly Verdict[]): LogBlock {
  const previousTimestamp = 1 as Timestamp;
  const throughTimestamp = (1 + distance * verdicts.length) as Timestamp;
  const oldestOpen = 1 as LogPosition;
  const times = { previousTimestamp, throughTimestamp };
  return { ...goldenOfClient, position, oldestOpen, maker: by, ...times, verdicts };
}

function filled(size: ClientBlockSize, wanted: readonly Wanted[]): Verdict[] {
  const verdicts: Verdict[] = [];
  for (const each of wanted) {
    if (!size.fits(each.size)) continue;
    size.add(each.size);
    verdicts.push(each.verdict((1 + distance * (verdicts.length + 1)) as Timestamp));
  }
  return verdicts;
}

describe("a client's block is never longer than reckoned", () => {
  test("nor than its limit, whatever it holds", () => {
    const wanted = fc.array(decisions, { maxLength: 8 });
    const filler = fc.nat({ max: limits.blockBytesMax });
    fc.assert(
      fc.property(maker, wanted, filler, (by, each, fillerBytes) => {
        const size = new ClientBlockSize(by.installed.length);
        const payload = { kind: "inline", bytes: new Uint8Array(fillerBytes) } as const;
        const large: Wanted = {
          size: { writes: [], payload },
          verdict: (timestamp) => ({ kind: "committed", id, timestamp, writes: [], payload }),
        };
        const { length } = encodeLogBlock(blockOf(by, filled(size, [large, ...each])));
        expect(length).toBeLessThanOrEqual(size.bytesBound);
        expect(size.bytesBound).toBeLessThanOrEqual(limits.blockBytesMax);
      }),
      { numRuns: 200 },
    );
  });

  test("nor much shorter: what has room is not refused", () => {
    const by = { number: 1 as never, installed: [] };
    fc.assert(
      fc.property(decisions, (each) => {
        const size = new ClientBlockSize(0);
        const empty = size.bytesBound;
        const verdicts = filled(size, [each]);
        const bytes =
          encodeLogBlock(blockOf(by, verdicts)).length - encodeLogBlock(blockOf(by, [])).length;
        const [verdict] = verdicts;
        const written = verdict !== undefined && "writes" in verdict ? verdict.writes.length : 0;
        const stamped = verdict?.kind === "committed" ? (verdict.stamps ?? []).length : 0;
        // A stamp of a version is nine bytes shorter, a table may have been named before.
        expect(size.bytesBound - empty - bytes).toBeLessThan(40 + 12 * written + 9 * stamped);
      }),
      { numRuns: 200 },
    );
  });

  test("with as many reports as there may be", () => {
    const installed = Array.from({ length: limits.installedReportsMax }, (_, n) => ({
      timestamp: ((n + 1) * 2 ** 43) as Timestamp,
      proof: new Uint8Array(9),
    }));
    const verdicts: Verdict[] = [];
    const throughTimestamp = goldenOfClient.previousTimestamp;
    const content = { ...withMaker({ installed }), throughTimestamp, verdicts };
    const { bytesBound } = new ClientBlockSize(installed.length);
    expect(encodeLogBlock(content).length).toBeLessThanOrEqual(bytesBound);
  });

  test("with as many writes as may be prepared, a nonce for each, on tables of their own", () => {
    const by = { number: 1 as never, installed: [] };
    const hashOf = (n: number) => BigInt(n + 1) as KeyHash;
    const many = Array.from({ length: limits.preparedWritesMax }, (_, n) => ({
      table: hashOf(n),
      partition: hashOf(n),
      key: hashOf(n + 1),
      sortKey: undefined,
    }));
    const nonce = { kind: "nonce", nonce: new Uint8Array(16) } as const;
    const size = new ClientBlockSize(0);
    size.add({ writes: many, stamps: many.length });
    const vote: Verdict = {
      kind: "committed",
      id,
      timestamp: (1 + distance) as Timestamp,
      writes: many,
      payload: { kind: "prepared", position: 1 as LogPosition },
      stamps: many.map(() => nonce),
    };
    expect(encodeLogBlock(blockOf(by, [vote])).length).toBeLessThanOrEqual(size.bytesBound);
  });
});
