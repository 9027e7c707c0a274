/** That what a client plans for a block is what an oracle would have decided (protocol.md §3). */
import { OpenTransactions } from "../../../core/open-transactions.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import { Tail } from "../../../core/tail.ts";
import type {
  BlockMaker,
  InstalledReport,
  KeyHash,
  LogBlock,
  LogPosition,
  MakerNumber,
  SequenceNumber,
  Timestamp,
  TransactionId,
  WriteHashes,
} from "../../../core/types.ts";
import { fitsBlock, planBlock, type ExpressRequest } from "../../../engine/express/block-plan.ts";
import { encodeLogBlock } from "../../../schemas/log-block-encoding.ts";
import { decodeLogBlock } from "../../../schemas/log-block.ts";
import { sampleHashes } from "../../../testing/sample-hashes.ts";
import {
  certify,
  hash,
  id,
  keyOf,
  newOracle,
  simpleWrite,
  startTimestamp,
  type TestRequest,
  type TestWrite,
} from "../../core/oracle-harness.ts";

const cursor = { sequenceNumber: "77" as SequenceNumber, requestsDone: 3 };
const open = new OpenTransactions();
const log = { position: 0 as LogPosition, newest: startTimestamp, cursor: undefined, open };
const maker: BlockMaker = { number: 7 as MakerNumber, installed: [] };
const nowMicros = startTimestamp + 5_000;
const nowMs = nowMicros / 1_000;

const sortedWrite = fc
  .record({
    partition: fc.nat({ max: 2 }),
    sortKey: fc.uint8Array({ minLength: 1, maxLength: 70 }),
  })
  .map(({ partition, sortKey }): TestWrite => ({
    table: hash(2_000_000),
    partition: hash(50 + partition),
    sortKey,
  }));
const plainWrite = fc.tuple(fc.nat({ max: 9 }), fc.constantFrom(1, 2));
const write: fc.Arbitrary<TestWrite> = fc.oneof(
  plainWrite.map(([key, table]) => simpleWrite(key, table)),
  sortedWrite,
);
/** Keys, partitions, whole tables. */
const check = fc
  .oneof(
    { weight: 6, arbitrary: fc.nat({ max: 12 }) },
    fc.constantFrom(50, 51, 52, 1_000_001, 1_000_002, 2_000_000),
  )
  .map((n) => hash(n));
const requests = fc
  .array(
    fc.record({
      checks: fc.array(check, { maxLength: 4 }),
      writes: fc.array(write, { minLength: 1, maxLength: 4 }),
      payload: fc.uint8Array({ maxLength: 40 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((drawn) => drawn.map((each, n) => ({ ...each, id: id(n + 1) })));
type Drawn = typeof requests extends fc.Arbitrary<infer Requests> ? Requests : never;

function hashesOf(written: TestWrite): WriteHashes {
  const { table, partition, sortKey } = written;
  const isCarried = sortKey !== undefined && sortKey.length <= limits.blockSortKeyBytesMax;
  return { table, partition, key: keyOf(written), sortKey: isCarried ? sortKey : undefined };
}

function expressRequests(drawn: Drawn): ExpressRequest[] {
  return drawn.map(({ payload: bytes, ...each }) => ({
    kind: "commit",
    ...each,
    ...{ payload: { kind: "inline", bytes }, writes: each.writes.map(hashesOf) },
  }));
}

/** What the log would give back of it. */
function stored(block: LogBlock): LogBlock {
  return decodeLogBlock(encodeLogBlock(block, sampleHashes), block.position, sampleHashes);
}

function asRecord(drawn: Drawn, order: readonly number[] = [...drawn.keys()]) {
  const all = order.map((i): TestRequest => {
    const { id, checks = [], writes = [] } = drawn[i] ?? { id: id0 };
    return { id, checks, writes, checkedTo: startTimestamp };
  });
  return { sequence: 1n, arrivalMs: nowMs, requests: all };
}
const id0 = id(0);

const inline = (bytes: number) => ({ kind: "inline", bytes: new Uint8Array(bytes) }) as const;
const spilled = {
  kind: "spilled",
  chunks: 45,
  byteLength: limits.payloadBytesMax,
  digest: new Uint8Array(32).fill(7),
} as const;

/** Requests that may each have read what an earlier one is about to write. */
const chained = requests.chain((drawn) =>
  fc.tuple(
    fc.constant(drawn),
    fc.array(fc.record({ from: fc.nat({ max: 11 }), write: fc.nat({ max: 3 }) }), {
      minLength: drawn.length,
      maxLength: drawn.length,
    }),
  ),
);

/** What each has read from whom: nothing where the draw names none before it. */
function chain(drawn: Drawn, links: readonly { from: number; write: number }[]): ExpressRequest[] {
  const all = expressRequests(drawn);
  return all.map((request, i) => {
    const { from = 0, write = 0 } = links[i] ?? {};
    const key = from < i ? all[from]?.writes[write]?.key : undefined;
    if (key === undefined) return request;
    const readFrom = [{ key, from: id(from + 1) }];
    return { ...request, checks: [...request.checks, key], readFrom: () => readFrom };
  });
}

describe("a planned block", () => {
  test("I4: commits what an oracle commits of the same requests, and refuses the same", () => {
    fc.assert(
      fc.property(requests, (drawn) => {
        const { block, isIn } = planBlock(expressRequests(drawn), { log, nowMicros, maker });
        const verdicts = certify(newOracle(), [asRecord(drawn)]).flatMap((each) => each.verdicts);
        expect(verdicts.map(({ kind }) => kind === "committed")).toEqual(isIn);
        const committed = verdicts.filter(({ kind }) => kind === "committed");
        expect(block.verdicts.map((verdict) => verdict.id)).toEqual(committed.map((v) => v.id));
        expect(block.verdicts.map((v) => ("writes" in v ? v.writes : []))).toEqual(
          committed.map((v) => ("writes" in v ? v.writes : [])),
        );
      }),
      { numRuns: 500 },
    );
  });

  test("I4: what it leaves out conflicts with it, for an oracle and on the tail alike", () => {
    fc.assert(
      fc.property(requests, (drawn) => {
        const { block, isIn } = planBlock(expressRequests(drawn), { log, nowMicros, maker });
        const oracle = newOracle();
        oracle.fold(stored(block));
        const tail = new Tail({ position: log.position, timestamp: log.newest });
        tail.fold(stored(block));
        const left = [...drawn.keys()].filter((i) => isIn[i] === false);
        const record = { ...asRecord(drawn, left), sequence: 2n };
        for (const verdict of certify(oracle, [record]).flatMap((each) => each.verdicts)) {
          expect(verdict).toMatchObject({ kind: "aborted", reason: { kind: "conflict" } });
        }
        for (const i of left) {
          const found = drawn[i]?.checks.map((each) => tail.lastCommit(each) ?? 0) ?? [];
          expect(Math.max(...found)).toBeGreaterThan(log.newest);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("I4: what was read from another stands behind it, with no write between them", () => {
    let together = 0;
    fc.assert(
      fc.property(chained, ([drawn, links]) => {
        const given = chain(drawn, links);
        const { block, isIn } = planBlock(given, { log, nowMicros, maker });
        const last = new Map<KeyHash, TransactionId>();
        for (const [i, { id, checks, writes, readFrom }] of given.entries()) {
          const reads = readFrom?.() ?? [];
          // As an oracle that has the ones before in its log: what was read from another stands as
          // it was read, and under all other checks, whatever they hash as, nothing was written.
          const others = checks.slice(0, checks.length - reads.length);
          const holds =
            reads.every(({ key, from }) => last.get(key) === from) &&
            others.every((check) => !last.has(check));
          expect(isIn[i]).toBe(holds);
          if (!holds) continue;
          together += reads.length;
          for (const { table, partition, key } of writes) {
            for (const hash of [table, partition, key]) last.set(hash, id);
          }
        }
        expect(stored(block).verdicts.map((verdict) => verdict.id)).toEqual(
          given.filter((_, i) => isIn[i]).map((each) => each.id),
        );
      }),
      { numRuns: 500 },
    );
    expect(together).toBeGreaterThan(100);
  });

  test("I4: a read from another excuses no predicate that happens to have its hash", () => {
    const same = hash(50);
    const write = (partition: KeyHash, key: KeyHash) => ({
      ...{ table: hash(1_000), partition, key, sortKey: undefined },
    });
    const payload = inline(4);
    const kind = "commit" as const;
    const row = { kind, id: id(1), checks: [], writes: [write(same, hash(9))], payload };
    const read = { kind, id: id(2), checks: [], writes: [write(hash(60), same)], payload };
    const reader = {
      ...{ kind, id: id(3), checks: [same, same], writes: [write(hash(70), hash(70))], payload },
      readFrom: () => [{ key: same, from: read.id }],
    };
    const { isIn } = planBlock([row, read, reader], { log, nowMicros, maker });
    expect(isIn).toEqual([true, true, false]);
  });

  test("I2: its timestamps rise from the log's, and are those of its clock where they can", () => {
    const two = expressRequests([
      { id: id(1), checks: [], writes: [simpleWrite(1)], payload: new Uint8Array(1) },
      { id: id(2), checks: [], writes: [simpleWrite(2)], payload: new Uint8Array(1) },
    ]);
    const at = (now: number): number[] => {
      const { block } = planBlock(two, { log, nowMicros: now, maker });
      return block.verdicts.map((verdict) => ("timestamp" in verdict ? verdict.timestamp : 0));
    };
    expect(at(startTimestamp - 9)).toEqual([startTimestamp + 1, startTimestamp + 2]);
    expect(at(startTimestamp + 9)).toEqual([startTimestamp + 9, startTimestamp + 10]);
  });

  test("I9: its cursor is that of the block before", () => {
    const one = expressRequests([
      { id: id(1), checks: [], writes: [simpleWrite(1)], payload: new Uint8Array(3) },
    ]);
    const end = { ...log, position: 6 as LogPosition, cursor };
    const { block } = planBlock(one, { log: end, nowMicros, maker });
    expect(stored(block)).toMatchObject({ position: 7, cursor });
  });

  test("takes no more than a block holds, the others wait", () => {
    const big = (n: number, bytes: number) => ({
      id: id(n),
      checks: [],
      writes: [simpleWrite(n)],
      payload: new Uint8Array(bytes),
    });
    const drawn = [big(1, 200_000), big(2, 250_000), big(3, 150_000)];
    const { block, isIn } = planBlock(expressRequests(drawn), { log, nowMicros, maker });
    expect(isIn).toEqual([true, false, true]);
    expect(encodeLogBlock(block, sampleHashes).length).toBeLessThanOrEqual(limits.blockBytesMax);
  });

  test("says less of what is installed where the first commit needs the room", () => {
    const installed = Array.from(
      { length: limits.installedReportsMax },
      (_, i): InstalledReport => {
        return { timestamp: (i * 2 ** 40 + 1) as Timestamp, proof: new Uint8Array(9) };
      },
    );
    const room = (bytes: number) =>
      planBlock(
        expressRequests([
          { id: id(1), checks: [], writes: [simpleWrite(1)], payload: new Uint8Array(bytes) },
        ]),
        { log, nowMicros, maker: { ...maker, installed } },
      ).block;
    expect(room(1_000).maker?.installed).toHaveLength(installed.length);
    const full = room(limits.blockBytesMax - 400);
    expect(full.maker?.installed).toEqual([]);
    expect(stored(full).verdicts).toHaveLength(1);
  });

  test("takes a key that hashes as its partition", () => {
    const both = hash(5);
    const writes = [{ table: hash(9), partition: both, key: both, sortKey: Uint8Array.of(1) }];
    const request = { kind: "commit", id: id(1), checks: [], writes, payload: inline(1) } as const;
    const { block } = planBlock([request], { log, nowMicros, maker });
    expect(stored(block).verdicts).toEqual(block.verdicts);
  });

  test("I3: an id that is asked for stands in no block with its own commit", () => {
    const writes = [hashesOf(simpleWrite(1))];
    const commit = { kind: "commit", id: id(1), checks: [], writes, payload: inline(1) } as const;
    const asked = (n: number) => ({
      kind: "abort" as const,
      id: id(n),
      checks: [],
      writes: [],
      payload: { kind: "none" } as const,
    });
    const plan = (...given: ExpressRequest[]) => planBlock(given, { log, nowMicros, maker });
    expect(plan(commit, asked(1), asked(2)).isIn).toEqual([true, false, true]);
    const { block, isIn } = plan(asked(1), commit, asked(1));
    expect(isIn).toEqual([true, false, false]);
    expect(stored(block).verdicts).toEqual([
      { kind: "aborted", id: id(1), timestamp: nowMicros, reason: { kind: "probed" } },
    ]);
  });

  test("a commit that no block takes is told beforehand", () => {
    const writes = [hashesOf(simpleWrite(1))];
    const fits = (payload: ExpressRequest["payload"]) =>
      fitsBlock({ kind: "commit", checks: [], writes, payload });
    expect(fits(inline(limits.blockBytesMax - 400))).toBe(true);
    expect(fits(inline(limits.blockBytesMax))).toBe(false);
    expect(fits(spilled)).toBe(true);
  });

  test("whatever a transaction writes finds room once it is spilled: without its sort keys", () => {
    const sortKey = new Uint8Array(limits.blockSortKeyBytesMax);
    // No two in a row are of one table, as few as there may be.
    const writes = Array.from({ length: limits.transactionKeysMax }, (_, n) =>
      hashesOf({ table: hash(n % limits.tablesPerTransactionMax), partition: hash(n), sortKey }),
    );
    const request = { kind: "commit", id: id(1), checks: [], writes, payload: spilled } as const;
    const { block, isIn } = planBlock([request], { log, nowMicros, maker });
    expect(isIn).toEqual([true]);
    expect(stored(block).verdicts).toEqual(block.verdicts);
    expect(block.verdicts[0]).toMatchObject({ payload: spilled });
  });
});
