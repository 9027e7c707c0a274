/** An oracle that loses drafts, beside others that append to the same log. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { Oracle, oracleBoundsDefault } from "../../core/oracle.ts";
import type { OracleBounds } from "../../core/oracle.ts";
import type { LogBlock, LogPosition } from "../../core/types.ts";
import { sampleSeed } from "../../testing/sample-hashes.ts";
import { streams } from "./oracle-arbitraries.ts";
import { blockOf, certify, id, newOracle, oracleInput, startTimestamp } from "./oracle-harness.ts";
import type { TestRecord } from "./oracle-harness.ts";
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

  test("only the newest draft is undone, and only before anything else is asked", () => {
    const oracle = newOracle();
    const undo = (): void => {
      oracle.undo();
    };
    expect(undo).toThrow(InvariantViolation);
    const request = { id: id(1), checkedTo: startTimestamp };
    const input = oracleInput([{ sequence: 1n, arrivalMs: 2_000_000, requests: [request] }]);
    const draft = oracle.next(input);
    expect(draft).toBeDefined();
    oracle.undo();
    expect(undo).toThrow(InvariantViolation);
    expect(oracle.next(input)).toBeDefined();
    // Asked for more: the block stands.
    expect(oracle.next(input)).toBeUndefined();
    expect(undo).toThrow(InvariantViolation);
  });
});

/** The log's verdicts are those of the plain model that saw its requests in the log's order. */
function judge(
  log: readonly LogBlock[],
  { records, limits }: { readonly records: readonly TestRecord[]; readonly limits: OracleBounds },
): void {
  const model = new OracleModel(startTimestamp, limits);
  const requests = new Map(
    records.flatMap((record) => record.requests.map((request) => [request.id, request] as const)),
  );
  for (const [i, block] of log.entries()) {
    expect(block.position).toBe((i + 1) as LogPosition);
    for (const verdict of block.verdicts) {
      const request = requests.get(verdict.id);
      if (request === undefined) throw new Error("a verdict on nobody's request");
      const at = verdict.kind === "stale" ? 0 : verdict.timestamp;
      const expected = model.certifyAt(request, at);
      expect(asModelVerdict(verdict)).toEqual(expected);
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
