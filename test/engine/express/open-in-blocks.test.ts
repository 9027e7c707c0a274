/** What a client plans for a block beside what is prepared in the log (docs/protocol.md §3). */
import { describe, expect, test } from "vitest";
import { OpenTransactions } from "../../../core/open-transactions.ts";
import type {
  BlockMaker,
  LogBlock,
  LogPosition,
  MakerNumber,
  Stamp,
  Verdict,
} from "../../../core/types.ts";
import { isBarred, planBlock, type ExpressRequest } from "../../../engine/express/block-plan.ts";
import { encodeLogBlock } from "../../../schemas/log-block-encoding.ts";
import { decodeLogBlock } from "../../../schemas/log-block.ts";
import { sampleHashes } from "../../../testing/sample-hashes.ts";
import { hash, id, keyOf, simpleWrite, startTimestamp } from "../../core/oracle-harness.ts";

const maker: BlockMaker = { number: 7 as MakerNumber, installed: [] };
const nowMicros = startTimestamp + 5_000;
const stamps: readonly Stamp[] = [{ kind: "nonce", nonce: new Uint8Array(16).fill(3) }];

function written(n: number) {
  const { table, partition } = simpleWrite(n);
  return { table, partition, key: keyOf(simpleWrite(n)), sortKey: undefined };
}

function request(n: number, of: Partial<ExpressRequest> & Pick<ExpressRequest, "kind">) {
  const payload = { kind: "inline", bytes: new Uint8Array(n) } as const;
  return { id: id(n), checks: [], writes: [written(n)], payload, ...of } satisfies ExpressRequest;
}

function vote(n: number): ExpressRequest {
  const payload = { kind: "none" } as const;
  const asked = { kind: "vote", vote: { proof: new Uint8Array(9), stamps } } as const;
  return request(n, { ...asked, payload, writes: [] });
}

function against(n: number): ExpressRequest {
  return request(n, { kind: "abort", payload: { kind: "none" }, writes: [] });
}

/** Plans against a log in which these are open, in one block at position 4. */
function plan(given: readonly ExpressRequest[], prepared: readonly ExpressRequest[] = []) {
  const open = new OpenTransactions();
  const first = prepared.length === 0 ? undefined : planned(prepared, open, 3).block;
  for (const verdict of first?.verdicts ?? []) open.fold(verdict, 4 as LogPosition);
  open.mark();
  const { block, isIn } = planned(given, open, first === undefined ? 3 : 4);
  return { open, isIn, block: stored(block) };
}

function planned(given: readonly ExpressRequest[], open: OpenTransactions, position: number) {
  const log = {
    position: position as LogPosition,
    newest: startTimestamp,
    cursor: undefined,
    open,
  };
  return planBlock(given, { log, nowMicros, maker });
}

function stored(block: LogBlock): LogBlock {
  return decodeLogBlock(encodeLogBlock(block, sampleHashes), block.position, sampleHashes);
}

function kinds(verdicts: readonly Verdict[]): string[] {
  return verdicts.map(({ kind }) => kind);
}

describe("beside what is open", () => {
  const prepared = request(1, { kind: "prepare", checks: [hash(9)] });

  test.each([
    ["reads what it writes", request(2, { kind: "commit", checks: [written(1).key] }), false],
    ["writes what it writes", request(2, { kind: "commit", writes: [written(1)] }), false],
    ["writes what it has read", request(2, { kind: "commit", writes: [written(9)] }), false],
    ["prepares what it writes", request(2, { kind: "prepare", writes: [written(1)] }), false],
    ["reads what it has read", request(2, { kind: "commit", checks: [hash(9)] }), true],
    ["has nothing to do with it", request(2, { kind: "commit" }), true],
  ])("I4: who %s is in its block: %#", (_, given, isIn) => {
    const planned = plan([request(3, { kind: "commit" }), given], [prepared]);
    expect(planned.isIn).toEqual([true, isIn]);
    expect(isBarred(given, planned.open)).toBe(!isIn);
    expect(planned.block.oldestOpen).toBe(4);
  });

  test("what is prepared in a block bars those behind it there", () => {
    const crossing = request(2, { kind: "commit", checks: [written(1).key] });
    const { block, isIn, open } = plan([prepared, crossing]);
    expect(isIn).toEqual([true, false]);
    expect(block.verdicts).toMatchObject([{ kind: "prepared", checks: [hash(9)] }]);
    expect(block.oldestOpen).toBeUndefined();
    // The tail's own: it folds the block once that stands in the log.
    expect(open.size).toBe(0);
  });

  test("a vote commits what was prepared, and those behind it see it written", () => {
    const reader = request(2, { kind: "commit", checks: [written(1).key] });
    const { block, isIn, open } = plan([vote(1), reader], [prepared]);
    expect(isIn).toEqual([true, false]);
    expect(block.verdicts).toEqual([
      {
        ...{ kind: "committed", id: id(1), timestamp: nowMicros, writes: [written(1)], stamps },
        payload: { kind: "prepared", position: 4 },
      },
    ]);
    expect(open.size).toBe(1);
  });

  test("I3: the first vote stands, and one on what is not open is left out", () => {
    const first = plan([against(1), vote(1)], [prepared]);
    expect(first.isIn).toEqual([true, false]);
    expect(kinds(first.block.verdicts)).toEqual(["aborted"]);
    const none = plan([request(3, { kind: "commit" }), vote(2)], [prepared]);
    expect(none.isIn).toEqual([true, false]);
  });
});
