/** An oracle that loses drafts, beside others that append to the same log. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assert, InvariantViolation } from "../../core/assert.ts";
import { Oracle } from "../../core/oracle.ts";
import { oracleBoundsDefault, type OracleBounds } from "../../core/oracle-bounds.ts";
import type { LogBlock, LogPosition, StreamCursor } from "../../core/types.ts";
import { sampleSeed } from "../../testing/sample-hashes.ts";
import { streams } from "./oracle-arbitraries.ts";
import {
  blockOf,
  certify,
  id,
  newOracle,
  oracleInput,
  startTimestamp,
  type TestRecord,
  type TestRequest,
} from "./oracle-harness.ts";
import { asModelVerdict, OracleModel } from "./oracle-model.ts";

const bounds: fc.Arbitrary<OracleBounds> = fc.record({
  windowMicros: fc.constantFrom(5_000, 20_000, 10_000_000),
  indexEntriesMax: fc.constantFrom(20, 100, oracleBoundsDefault.indexEntriesMax),
  blockBytesMax: fc.constantFrom(700, oracleBoundsDefault.blockBytesMax),
  blockVerdictsMax: fc.constantFrom(1, 3, oracleBoundsDefault.blockVerdictsMax),
  blockStepsMax: fc.constantFrom(7, oracleBoundsDefault.blockStepsMax),
});

/** What can be seen of an oracle from outside. */
function seen(oracle: Oracle) {
  const { indexLive, decidedIds } = oracle.figures();
  const { position, last, cursor, floor } = oracle;
  return { position, last, cursor, floor, indexLive, decidedIds };
}

/** Records of somebody who appends without the stream: his own ids, and numbers of no meaning. */
function elsewhere(records: readonly TestRecord[]): readonly TestRecord[] {
  return records.map((record, i) => ({
    ...record,
    sequence: 10n ** 40n + BigInt(i),
    requests: record.requests.map((request) => ({
      ...request,
      id: id(1_000_000 + Number.parseInt(request.id.slice(-8), 16)),
    })),
  }));
}

/** The next block of somebody else over the log: an oracle's, or one that leaves the cursor. */
function blockOfOther(
  log: readonly LogBlock[],
  limits: OracleBounds,
  { records, express }: { readonly records: readonly TestRecord[]; readonly express: boolean },
): LogBlock | undefined {
  const other = newOracle(limits);
  for (const block of log) other.fold(block);
  const before = other.cursor;
  const input = oracleInput(records);
  const draft = other.next(input);
  if (draft === undefined) return undefined;
  const block = blockOf(draft, input);
  return express ? { ...block, cursor: before } : block;
}

describe("a draft that is lost", () => {
  test("I3, I4: drafted and undone is never drafted", () => {
    fc.assert(
      fc.property(streams(30), bounds, fc.array(fc.nat({ max: 3 })), (records, limits, losses) => {
        const oracle = newOracle(limits);
        const never = newOracle(limits);
        const input = oracleInput(records);
        for (let block = 0; ; block++) {
          for (let lost = losses[block] ?? 0; lost > 0; lost--) {
            if (oracle.next(input) === undefined) break;
            oracle.undo();
            expect(seen(oracle)).toEqual(seen(never));
          }
          const draft = oracle.next(input);
          const made = draft === undefined ? undefined : blockOf(draft, input);
          const expected = never.next(input);
          expect(made).toEqual(expected === undefined ? undefined : blockOf(expected, input));
          if (made === undefined) break;
          oracle.appended();
          never.appended();
        }
        expect(seen(oracle)).toEqual(seen(never));
      }),
      { numRuns: 200 },
    );
  });

  test("I1–I4: folds what stands there and certifies again, as one that folded first", () => {
    const loss = fc.record({ by: fc.constantFrom("oracle", "express"), size: fc.nat({ max: 3 }) });
    fc.assert(
      fc.property(
        streams(25),
        streams(25),
        bounds,
        fc.array(fc.option(loss), { maxLength: 30 }),
        (records, others, limits, losses) => {
          const input = oracleInput(records);
          const foreign = elsewhere(others);
          const oracle = newOracle(limits);
          const log: LogBlock[] = [];
          let used = 0;
          for (let turn = 0; turn < 60; turn++) {
            const lost = losses[turn] ?? undefined;
            const draft = oracle.next(input);
            if (draft === undefined) break;
            const made = blockOf(draft, input);
            const express = lost?.by === "express";
            const theirs = express ? foreign.slice(used, used + lost.size) : records;
            if (express) used += lost.size;
            const block = lost && blockOfOther(log, limits, { records: theirs, express });
            if (block === undefined) {
              oracle.appended();
              log.push(made);
              continue;
            }
            oracle.undo();
            log.push(block);
            oracle.fold(block);
            const fresh = newOracle(limits);
            for (const each of log) fresh.fold(each);
            expect(seen(oracle)).toEqual(seen(fresh));
            const [again, expected] = [oracle, fresh].map((one) => {
              const next = one.next(input);
              return next && blockOf(next, input);
            });
            expect(again).toEqual(expected);
            if (again !== undefined) oracle.undo();
          }
          log.push(...certify(oracle, records));
          judge(log, { records: [...records, ...foreign], limits });
        },
      ),
      { numRuns: 200 },
    );
  });

  test("I1–I4: calls in any order: a wrong one fails and changes nothing", () => {
    const calls = fc.array(fc.constantFrom("next", "next", "appended", "undo"), { maxLength: 60 });
    fc.assert(
      fc.property(streams(20), bounds, calls, (records, limits, script) => {
        const oracle = newOracle(limits);
        const model = new OracleModel(startTimestamp, limits);
        const input = oracleInput(records);
        for (const call of script) {
          if (call === "next" && !model.hasDraft) {
            const from = requestsCovered(records, oracle.cursor);
            const draft = oracle.next(input);
            if (draft === undefined) continue;
            const to = requestsCovered(records, draft.cursor);
            const expected = model.draft(requestsOf(records).slice(from, to));
            expect(blockOf(draft, input).verdicts.map(asModelVerdict)).toEqual(expected);
          } else if (call !== "next" && model.hasDraft) {
            oracle[call]();
            model[call]();
          } else {
            const before = seen(oracle);
            expect(() => oracle[call](input)).toThrow(InvariantViolation);
            expect(seen(oracle)).toEqual(before);
          }
          expect(oracle.hasDraft).toBe(model.hasDraft);
          expect(oracle.last).toBe(model.last);
          expect(oracle.floor).toBe(model.floor);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("neither folds nor forgets over a draft, not even the block that would follow it", () => {
    const records = [1, 2].map((n) => ({
      sequence: BigInt(n),
      arrivalMs: 2_000_000,
      requests: [{ id: id(n), checkedTo: startTimestamp }],
    }));
    const limits = { ...oracleBoundsDefault, blockVerdictsMax: 1 };
    const blocks = certify(newOracle(limits), records);
    const [first, second] = blocks;
    assert(first !== undefined && second !== undefined, "test: two blocks");
    const oracle = newOracle(limits);
    const foldsAndForgets = (block: LogBlock): void => {
      oracle.fold(block);
      oracle.forget(block.throughTimestamp);
    };
    oracle.next(oracleInput(records));
    expect(() => oracle.fold(second)).toThrow(InvariantViolation);
    expect(() => oracle.forget(oracle.last)).toThrow(InvariantViolation);
    oracle.undo();
    blocks.forEach(foldsAndForgets);
    expect(() => oracle.undo()).toThrow(InvariantViolation);
  });
});

function requestsOf(records: readonly TestRecord[]): readonly (readonly [TestRequest, number])[] {
  return records.flatMap(({ requests, arrivalMs }) =>
    requests.map((request) => [request, arrivalMs] as const),
  );
}

/** How many of the requests, counted from the first record's, the cursor has passed. */
function requestsCovered(records: readonly TestRecord[], cursor: StreamCursor | undefined): number {
  if (cursor === undefined) return 0;
  let covered = 0;
  for (const { sequence, requests } of records) {
    const isLast = sequence === BigInt(cursor.sequenceNumber);
    covered += isLast && cursor.requestsDone !== "all" ? cursor.requestsDone : requests.length;
    if (isLast) break;
  }
  return covered;
}

/** The log's verdicts are those of the plain model that saw its requests in the log's order. */
function judge(
  log: readonly LogBlock[],
  { records, limits }: { readonly records: readonly TestRecord[]; readonly limits: OracleBounds },
): void {
  const model = new OracleModel(startTimestamp, limits);
  const requests = records.flatMap((record) => record.requests);
  for (const [i, block] of log.entries()) {
    expect(block.position).toBe((i + 1) as LogPosition);
    for (const verdict of block.verdicts) {
      const at = "timestamp" in verdict ? verdict.timestamp : 0;
      const given = asModelVerdict(verdict);
      // There may be several on the id: a vote, a vote against, one that is prepared.
      const request = requests.find(
        (each) =>
          each.id === verdict.id && isDeepStrictEqual(model.wouldCertifyAt(each, at), given),
      );
      expect(request, JSON.stringify(given)).toBeDefined();
      if (request !== undefined) model.certifyAt(request, at);
    }
  }
  const cold = new Oracle(
    { position: 0 as LogPosition, timestamp: startTimestamp, cursor: undefined },
    sampleSeed,
    limits,
  );
  for (const block of log) cold.fold(block);
  expect(cold.floor).toBe(model.floor);
}
