/** What a cursor covers, at its borders; and the codes that batches are read by. */
import { describe, expect, test } from "vitest";
import type { BatchRecord } from "../../core/block-draft.ts";
import { firstUncovered, isCovered, requestsDone } from "../../core/cursor.ts";
import {
  columnCode,
  isolationKinds,
  payloadKinds,
  requestKinds,
} from "../../core/request-batch.ts";
import type { SequenceNumber } from "../../core/types.ts";

const at = (text: string): SequenceNumber => text as SequenceNumber;

function record(sequenceNumber: string, requests: number, rejected = false): BatchRecord {
  const arrivalMs = 0;
  const sequence = at(sequenceNumber);
  return {
    sequenceNumber: sequence,
    arrivalMs,
    rejected,
    requestStart: 10,
    requestEnd: 10 + requests,
  };
}

describe("I9: a cursor", () => {
  const within = { sequenceNumber: at("10"), requestsDone: 2 };
  const behind = { sequenceNumber: at("10"), requestsDone: "all" } as const;

  test.each([
    { sequenceNumber: "9", inside: true, finished: true },
    { sequenceNumber: "10", inside: false, finished: true },
    { sequenceNumber: "0010", inside: false, finished: true },
    { sequenceNumber: "11", inside: false, finished: false },
  ])("covers $sequenceNumber or not", ({ sequenceNumber, inside, finished }) => {
    expect(isCovered(at(sequenceNumber), within)).toBe(inside);
    expect(isCovered(at(sequenceNumber), behind)).toBe(finished);
    expect(isCovered(at(sequenceNumber), undefined)).toBe(false);
  });

  test("leaves the first record that it does not cover as a whole", () => {
    const records = ["9", "10", "11"].map((each) => ({ sequenceNumber: at(each) }));
    expect(firstUncovered(records, undefined)).toBe(0);
    expect(firstUncovered(records, within)).toBe(1);
    expect(firstUncovered(records, behind)).toBe(2);
    expect(firstUncovered(records.slice(0, 2), behind)).toBe(2);
  });

  test("says how many requests of its own record are done, and none of another", () => {
    expect(requestsDone(record("10", 3), within)).toBe(2);
    expect(requestsDone(record("10", 3), behind)).toBe(0);
    expect(requestsDone(record("11", 3), within)).toBe(0);
    expect(requestsDone(record("10", 0, true), within)).toBe(0);
    expect(() => requestsDone(record("10", 2), within)).toThrow(/^I9/);
  });
});

test("the codes that decisions ask for are places in the lists of what columns hold", () => {
  expect(requestKinds[columnCode.abort]).toBe("abort");
  expect(isolationKinds[columnCode.snapshot]).toBe("snapshot");
  expect(payloadKinds[columnCode.spilled]).toBe("spilled");
});
