/**
 * Claims of Centiman (SoCC '15) that need no servers: what a validator decides, forgets and takes
 * up again after a crash, and what a processor may decide by itself. docs/papers.md lists all
 * claims.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Oracle } from "../../core/oracle.ts";
import { oracleBoundsDefault } from "../../core/oracle-bounds.ts";
import type { StreamRecord } from "../../core/ports.ts";
import { Tail } from "../../core/tail.ts";
import { TransactionReads } from "../../core/transaction-reads.ts";
import type { CommitRequest, LogPosition, ShardId, Timestamp } from "../../core/types.ts";
import { createOracleService } from "../../functions/oracle/service.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import {
  certify,
  hash,
  id,
  newOracle,
  sequenceText,
  simpleWrite,
  smallBounds,
  startTimestamp,
} from "../core/oracle-harness.ts";
import { keyHash, ModelLog } from "../core/tail-model.ts";
import { MemoryLog } from "../functions/memory-log.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const shard = "shardId-000000000000" as ShardId;
const firstArrivalMs = startTimestamp / 1000 + 1;

/**
 * A transaction over ten keys that read as of `age` decisions ago; `laterMs` is the pause before
 * it.
 */
const transaction = fc.record({
  reads: fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { maxLength: 4 }),
  writes: fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 3 }),
  age: fc.nat({ max: 12 }),
  laterMs: fc.nat({ max: 6 }),
});
const transactions = fc.array(transaction, { maxLength: 40 });

type Decided = { readonly timestamp: number; readonly writes: readonly number[] };

/**
 * Certifies one after the other, each in a record of its own; `look` sees the verdict and what was
 * decided before.
 */
function decideAll(
  oracle: Oracle,
  given: readonly (typeof transaction extends fc.Arbitrary<infer Each> ? Each : never)[],
  look: (seen: {
    readonly reads: readonly number[];
    readonly checkedTo: number;
    readonly floor: number;
    readonly kind: "committed" | "conflict" | "stale";
    readonly before: readonly Decided[];
  }) => void,
): Decided[] {
  const decided: Decided[] = [];
  let arrivalMs = firstArrivalMs;
  given.forEach(({ reads, writes, age, laterMs }, n) => {
    arrivalMs += laterMs;
    const checkedTo = age === 0 ? oracle.last : (decided.at(-age - 1)?.timestamp ?? startTimestamp);
    const { floor } = oracle;
    const request = {
      id: id(n + 1),
      checkedTo,
      checks: reads.map((key) => hash(key)),
      writes: writes.map((key) => simpleWrite(key)),
    };
    const records = [{ sequence: BigInt(n + 1), arrivalMs, requests: [request] }];
    const [verdict] = certify(oracle, records).flatMap(({ verdicts }) => verdicts);
    if (verdict === undefined) throw new Error("one request, one verdict");
    if (verdict.kind === "prepared" || verdict.kind === "busy") throw new Error("nothing is open");
    if (verdict.kind === "aborted") expect(verdict.reason.kind).toBe("conflict");
    const kind = verdict.kind === "aborted" ? "conflict" : verdict.kind;
    look({ reads, checkedTo, floor, kind, before: decided });
    if (verdict.kind === "stale") return;
    decided.push({ timestamp: verdict.timestamp, writes: kind === "committed" ? writes : [] });
  });
  return decided;
}

describe("Centiman, validation", () => {
  test("a transaction aborts exactly if a committed one wrote what it read in between", () => {
    fc.assert(
      fc.property(transactions, (given) => {
        decideAll(newOracle(), given, ({ reads, checkedTo, kind, before }) => {
          const overwritten = before.some(
            ({ timestamp, writes }) =>
              timestamp > checkedTo && writes.some((key) => reads.includes(key)),
          );
          expect(kind).toBe(overwritten ? "conflict" : "committed");
        });
      }),
    );
  });
});

describe("Centiman, spurious aborts", () => {
  test("one validator causes none: writes of an aborted transaction stop no other", () => {
    const oracle = newOracle();
    const kinds: string[] = [];
    const blind = { reads: [], writes: [1], age: 0, laterMs: 0 };
    const aborted = { reads: [1], writes: [2], age: 3, laterMs: 0 };
    const behindIt = { reads: [2], writes: [3], age: 2, laterMs: 0 };
    decideAll(oracle, [blind, blind, blind, aborted, behindIt], ({ kind }) => kinds.push(kind));
    expect(kinds).toEqual(["committed", "committed", "committed", "conflict", "committed"]);
  });
});

describe("Centiman, bounded validation window", () => {
  test("a validator keeps only its window's writes and ids, and judges no older read", () => {
    let stale = 0;
    fc.assert(
      fc.property(transactions, (given) => {
        const oracle = newOracle(smallBounds);
        const decided = decideAll(oracle, given, ({ checkedTo, floor, kind }) => {
          expect(kind === "stale").toBe(checkedTo < floor);
          if (kind === "stale") stale += 1;
        });
        const left = decided.filter(
          ({ timestamp }) => timestamp <= oracle.last - smallBounds.windowMicros,
        );
        expect(oracle.floor).toBe(left.at(-1)?.timestamp ?? startTimestamp);
        const kept = decided.slice(left.length);
        const keys = new Set(kept.flatMap(({ writes }) => writes));
        // Every key of the one table counts itself; the table counts once.
        expect(oracle.figures().indexLive).toBe(keys.size === 0 ? 0 : keys.size + 1);
        expect(oracle.figures().decidedIds).toBe(kept.length);
      }),
    );
    expect(stale).toBeGreaterThan(0);
  });
});

describe("Centiman, recovery of validators", () => {
  test("a validator that crashes anywhere is rebuilt from its log and goes on alike", async () => {
    const crashes = fc.array(fc.boolean(), { minLength: 40, maxLength: 40 });
    const kinds = new Set<string>();
    await fc.assert(
      fc.asyncProperty(transactions, crashes, async (given, crashesBefore) => {
        const records = given.map(recordOf);
        const [steady, crashing] = [new MemoryLog(startTimestamp), new MemoryLog(startTimestamp)];
        const bounds = { ...oracleBoundsDefault, windowMicros: smallBounds.windowMicros };
        const budget = { remainingMs: () => 60_000 };
        const warm = createOracleService({ ...steady.ports(), bounds });
        let cold = createOracleService({ ...crashing.ports(), bounds });
        for (const [i, record] of records.entries()) {
          await warm.handle({ shard, records: [record] }, budget);
          if (crashesBefore[i] === true) {
            cold = createOracleService({ ...crashing.ports(), bounds });
          }
          await cold.handle({ shard, records: [record] }, budget);
        }
        expect(crashing.blocks).toEqual(steady.blocks);
        for (const { verdicts } of steady.decoded()) {
          for (const { kind } of verdicts) kinds.add(kind);
        }
      }),
      { numRuns: 60 },
    );
    expect([...kinds].sort()).toEqual(["aborted", "committed", "stale"]);
  });

  function recordOf(
    { reads, writes, age, laterMs }: typeof transaction extends fc.Arbitrary<infer T> ? T : never,
    n: number,
  ): StreamRecord {
    const table = { name: "accounts", partitionKey: "pk", history: false };
    const keyOf = (key: number) => ({ pk: { S: key.toString() } });
    const request: CommitRequest = {
      kind: "commit",
      id: id(n + 1),
      isolation: "serializable",
      // As of `age` records ago: the window holds five of them.
      checkedTo: Math.max(
        startTimestamp,
        (firstArrivalMs + (n - age - 1) * 4) * 1_000,
      ) as Timestamp,
      checks: reads.map(
        (key) => sampleHashes.item({ name: "accounts", partitionKey: "pk" }, keyOf(key)).key,
      ),
      payload: {
        kind: "inline",
        bytes: encodePayload({
          tables: [table],
          writes: writes.map((key) => ({ table: 0, key: keyOf(key), item: keyOf(key) })),
        }),
      },
    };
    return {
      sequenceNumber: sequenceText(10n ** 20n + BigInt(n)),
      arrivalMs: firstArrivalMs + n * 4 + (laterMs >> 1),
      data: encodeCommitRecord(sampleHashes.fingerprint, [encodeCommitRequest(request)]),
    };
  }
});

describe("Centiman, local check", () => {
  /** A tail with one commit of the key, 10 above its start, and one of another key behind it. */
  function tailWithOneCommit() {
    const log = new ModelLog();
    const tail = new Tail({ position: 0 as LogPosition, timestamp: log.newest });
    const write = { table: 0, partition: 0, key: 0 };
    const other = { table: 1, partition: 0, key: 0 };
    tail.fold(
      log.append({
        verdicts: [
          { kind: "committed", writes: [write], step: 10 },
          { kind: "committed", writes: [other], step: 10 },
        ],
      }),
    );
    return { tail, at: (tail.newest - 10) as Timestamp, hash: keyHash(write) };
  }

  test.each([
    ["one below the write fails", -1, false],
    ["at the write passes", 0, true],
    ["one above the write passes", 1, true],
  ])("a transaction whose reads stand %s, without a validator", (_, offset, passes) => {
    const { tail, at, hash: key } = tailWithOneCommit();
    const reads = new TransactionReads((at + offset) as Timestamp);
    reads.addKey(key, { table: "t", key: undefined });
    expect(reads.extend(tail)?.timestamp).toBe(passes ? undefined : at);
    expect(reads.readTimestamp).toBe(passes ? tail.newest : at + offset);
  });
});
