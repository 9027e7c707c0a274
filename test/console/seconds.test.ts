/** Commits and conflicts by the second. */
import { describe, expect, test } from "vitest";
import { Seconds } from "../../console/server/seconds.ts";
import * as limits from "../../console/limits.ts";
import { provisioningNumber } from "../../core/block-order.ts";
import type {
  AbortReason,
  BlockMaker,
  LogBlock,
  LogPosition,
  MakerNumber,
  Timestamp,
  TransactionId,
  Verdict,
} from "../../core/types.ts";

const client: BlockMaker = { number: 7 as MakerNumber, installed: [] };
const second = 1_795_800_000;
const at = (offset: number): Timestamp => ((second + offset) * 1_000_000) as Timestamp;
const id = (name: string): TransactionId => name as TransactionId;

function block(verdicts: readonly Verdict[], maker?: BlockMaker): LogBlock {
  return {
    position: 5 as LogPosition,
    previousTimestamp: at(-1),
    throughTimestamp: at(0.9),
    cursor: undefined,
    arrivalMs: 0,
    rejectedRecords: 0,
    ...(maker === undefined ? {} : { maker }),
    verdicts,
  };
}

function committed(name: string, timestamp = at(0), placed?: Timestamp): Verdict {
  return {
    kind: "committed",
    ...{ id: id(name), timestamp, writes: [], payload: { kind: "none" } },
    ...(placed === undefined ? {} : { placed }),
  };
}

function aborted(name: string, reason: AbortReason): Verdict {
  return { kind: "aborted", id: id(name), timestamp: at(0), reason };
}

const conflict: AbortReason = { kind: "conflict", check: 0, conflictTimestamp: at(-1) };
const nowMs = (second + 1) * 1_000;

test("counts commits by their way, in the second of their timestamp", () => {
  const seconds = new Seconds();
  seconds.add(block([committed("a"), committed("b", at(1))]));
  seconds.add(block([committed("c")], client));
  expect(seconds.all(nowMs)).toMatchObject([
    { at: second, stream: 1, express: 1, vote: 0, part: 0 },
    { at: second + 1, stream: 1, express: 0 },
  ]);
});

test("counts a transaction over several shards once, though each of its logs has it", () => {
  const seconds = new Seconds();
  for (const placed of [at(0), at(1)]) seconds.add(block([committed("p", at(0), placed)]));
  for (const reason of [conflict, conflict]) seconds.add(block([aborted("q", reason)]));
  expect(seconds.all(nowMs)).toMatchObject([{ part: 1, conflicts: 1 }]);
});

test("tells conflicts from other aborts, and both from what is sent again", () => {
  const seconds = new Seconds();
  seconds.add(
    block([
      aborted("a", conflict),
      aborted("b", { kind: "probed" }),
      { kind: "stale", id: id("c") },
      { kind: "busy", id: id("d"), inTheWay: id("e") },
    ]),
  );
  expect(seconds.all(nowMs)).toMatchObject([{ conflicts: 1, otherAborts: 1, again: 2 }]);
});

test("leaves out what provisioning writes: it stands for no transaction", () => {
  const seconds = new Seconds();
  seconds.add(block([committed("a")], { number: provisioningNumber, installed: [] }));
  expect(seconds.all(nowMs)).toEqual([]);
});

describe("changes", () => {
  test("are those seconds that something came to, whole, and once", () => {
    const seconds = new Seconds();
    seconds.add(block([committed("a")]));
    expect(seconds.changes(nowMs)).toMatchObject([{ at: second, stream: 1 }]);
    expect(seconds.changes(nowMs)).toEqual([]);
    seconds.add(block([committed("b")]));
    seconds.lag(nowMs, 12.4);
    expect(seconds.changes(nowMs)).toMatchObject([
      { at: second, stream: 2 },
      { at: second + 1, stream: 0, lagMs: 12 },
    ]);
  });
});

test("keeps as many seconds as the charts show", () => {
  const seconds = new Seconds();
  seconds.add(block([committed("a")]));
  const last = (second + limits.secondsKept) * 1_000;
  expect(seconds.all(last)).toHaveLength(1);
  expect(seconds.all(last + 1_000)).toEqual([]);
  expect(seconds.changes(last + 1_000)).toEqual([]);
});
