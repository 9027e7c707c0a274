/** Blocks that are dated ahead: the log goes on behind each that anybody takes (I2). */
import { describe, expect, test } from "vitest";
import { assertContinues } from "../../core/block-order.ts";
import { CorruptDataError } from "../../core/errors.ts";
import { OpenTransactions } from "../../core/open-transactions.ts";
import { timestampMax } from "../../core/limits.ts";
import type { LogPosition, MakerNumber, Timestamp, TransactionId } from "../../core/types.ts";
import { planBlock, type ExpressRequest } from "../../engine/express/block-plan.ts";

const request = (n: number): ExpressRequest => ({
  kind: "abort",
  id: n.toString(16).padStart(32, "0") as TransactionId,
  checks: [],
  writes: [],
  payload: { kind: "none" },
});

/** A client's block behind a log that ends at `newest`, by a clock that says `nowMicros`. */
function blockBehind(newest: number, nowMicros: number, requests = 2) {
  const log = {
    position: 4 as LogPosition,
    newest: newest as Timestamp,
    cursor: undefined,
    open: new OpenTransactions(),
  };
  const maker = { number: 7 as MakerNumber, installed: [] };
  const ids = Array.from({ length: requests }, (_, n) => request(n));
  return planBlock(ids, { log, nowMicros, maker }).block;
}

test.each([
  ["a year ahead", 1_800_000_000_000_000, 1_831_536_000_000_000],
  ["at the end of time", 1_800_000_000_000_000, Number.MAX_SAFE_INTEGER],
  ["behind one that was there", timestampMax, Number.MAX_SAFE_INTEGER],
  ["far behind such a one", timestampMax + 1_000_000, 1_800_000_000_000_000],
])("a client whose clock is %s makes a block that all take", (_, newest, nowMicros) => {
  const block = blockBehind(newest, nowMicros);
  assertContinues(block, newest as Timestamp);
  expect(block.throughTimestamp).toBeGreaterThan(newest);
  expect(block.throughTimestamp).toBeLessThanOrEqual(Math.max(newest, timestampMax) + 2);
});

describe("a block that leaves the log no timestamps", () => {
  test.each([timestampMax + 3, 2 ** 53 - 2, 2 ** 53 - 1])("is nobody's to take: %i", (through) => {
    const newest = 1_800_000_000_000_000 as Timestamp;
    const block = { ...blockBehind(newest, newest), throughTimestamp: through as Timestamp };
    expect(() => {
      assertContinues(block, newest);
    }).toThrow(CorruptDataError);
    expect(() => {
      assertContinues(block, newest);
    }).toThrow("dated after the year 2199");
  });
});
