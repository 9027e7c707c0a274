/** The tail against a model that remembers every commit (docs/protocol.md §4). */
import { isDecision } from "../../core/decision.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { Tail } from "../../core/tail.ts";
import type { LogPosition, Timestamp } from "../../core/types.ts";
import {
  allHashes,
  blockPlan,
  isUnder,
  keyHash,
  ModelLog,
  startTimestamp,
  tableHash,
} from "./tail-model.ts";

const start = { position: 0 as LogPosition, timestamp: startTimestamp };

function newTail(): Tail {
  return new Tail(start);
}

/**
 * What happens to a tail beside new blocks: the watermark moves to a block, and reads below it end.
 */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("fold" as const), plan: blockPlan }) },
  fc.record({ kind: fc.constant("watermark" as const), back: fc.nat({ max: 3 }) }),
  fc.record({ kind: fc.constant("release" as const), back: fc.option(fc.nat({ max: 12 })) }),
);

/**
 * Runs the steps, and calls `look` after each with the oldest read timestamp that may still be
 * asked about.
 */
function replay(
  steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[],
  look: (tail: Tail, log: ModelLog) => void,
): void {
  const tail = newTail();
  const log = new ModelLog();
  for (const each of steps) {
    if (each.kind === "fold") tail.fold(log.append(each.plan));
    else if (each.kind === "watermark") {
      const block = log.blocks.at(-1 - each.back);
      if (block !== undefined) {
        tail.learnWatermark({ position: block.position, timestamp: block.throughTimestamp });
      }
    } else {
      const oldest = each.back === null ? undefined : Math.max(tail.floor, log.newest - each.back);
      tail.release(oldest as Timestamp | undefined);
      if (oldest !== undefined) expect(tail.floor).toBeLessThanOrEqual(oldest);
    }
    look(tail, log);
  }
}

describe("against the model", () => {
  test("I1, I2: position, newest and floor are those of the log", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        let floor = 0;
        replay(steps, (tail, log) => {
          expect(tail.position).toBe(log.blocks.length);
          expect(tail.newest).toBe(log.newest);
          expect(tail.floor).toBeGreaterThanOrEqual(floor);
          expect(tail.floor).toBeLessThanOrEqual(tail.installedThrough);
          expect(tail.blockCount).toBe(log.blocks.length - tail.floorPosition);
          const held = log.blocks.slice(tail.floorPosition);
          const verdicts = held.flatMap((block) => block.verdicts);
          const writes = verdicts.flatMap((each) => (each.kind === "committed" ? each.writes : []));
          expect(tail.entries).toBe(held.length + verdicts.length + writes.length);
          floor = tail.floor;
        });
      }),
    );
  });

  test("I8: lastCommit is the newest commit of a key, partition or table above the floor", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        replay(steps, (tail, log) => {
          for (const hash of allHashes) {
            const all = log.under(hash, { above: tail.floor, upTo: tail.newest });
            expect(tail.lastCommit(hash)).toBe(all.at(-1)?.timestamp);
          }
        });
      }),
    );
  });

  test("I8: commitsUnder gives every write of a range, oldest first, and no other", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.nat({ max: 15 }), (steps, back) => {
        replay(steps, (tail, log) => {
          const above = Math.max(tail.floor, log.newest - back) as Timestamp;
          const upTo = (log.newest - Math.floor(back / 3)) as Timestamp;
          for (const hash of allHashes.slice(0, 8)) {
            const end = { by: "place", at: upTo } as const;
            const found = Array.from(tail.commitsUnder(hash, { above, upTo: end }), (each) => [
              each.commit.timestamp,
              each.hashes.key,
            ]);
            const wanted = log
              .under(hash, { above, upTo })
              .flatMap(({ timestamp, writes }) =>
                writes
                  .filter((write) => isUnder(write, hash))
                  .map((write) => [timestamp, keyHash(write)]),
              );
            // A key's own hash is not what commitsUnder is asked for.
            if (hash < 0x3000n) expect(found).toEqual(wanted);
          }
        });
      }),
    );
  });

  test("I7: newestCommit and oldestCommit bound what may not be installed", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 20 }),
        fc.nat({ max: 15 }),
        fc.nat({ max: 5 }),
        (steps, back, less) => {
          replay(steps, (tail, log) => {
            const above = Math.max(tail.floor, log.newest - back) as Timestamp;
            const upTo = (log.newest - less) as Timestamp;
            for (const hash of allHashes.filter((each) => each >= 0x3000n)) {
              const all = log.under(hash, { above, upTo });
              const end = { by: "place", at: upTo } as const;
              expect(tail.newestCommit(hash, { above, upTo: end })?.timestamp).toBe(
                all.at(-1)?.timestamp,
              );
              const below = log.under(hash, { above, upTo: upTo - 1 });
              expect(tail.oldestCommit(hash, { above, below: upTo })?.timestamp).toBe(
                below[0]?.timestamp,
              );
            }
          });
        },
      ),
    );
  });

  test("I3: decisions above the floor are known, and stale answers are none", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        replay(steps, (tail, log) => {
          for (const [id, verdict] of log.decisions) {
            if (!isDecision(verdict)) continue;
            expect(tail.decision(id)).toBe(verdict.timestamp > tail.floor ? verdict : undefined);
          }
          for (const block of log.blocks) {
            for (const verdict of block.verdicts) {
              if (verdict.kind === "stale") expect(tail.decision(verdict.id)).toBeUndefined();
            }
          }
        });
      }),
    );
  });
});

describe("a tail", () => {
  const commit = { kind: "committed", step: 1 } as const;
  const one = { table: 0, partition: 0, key: 0 };

  test("refuses a block that leaves a gap, comes twice, or goes back in timestamps", () => {
    const log = new ModelLog();
    const first = log.append({ verdicts: [{ ...commit, writes: [one] }] });
    const second = log.append({ verdicts: [{ ...commit, writes: [one] }] });
    expect(() => newTail().fold(second)).toThrow(InvariantViolation);
    const tail = newTail();
    tail.fold(first);
    expect(() => {
      tail.fold(first);
    }).toThrow(InvariantViolation);
    const previousTimestamp = (second.previousTimestamp - 1) as Timestamp;
    expect(() => {
      tail.fold({ ...second, previousTimestamp });
    }).toThrow(/I2: block 2 does not continue the log/);
    tail.fold(second);
    expect(tail.lastCommit(tableHash(0))).toBe(102);
  });

  test("lets the first decision on an id stand, whatever a hostile client does later", () => {
    const log = new ModelLog();
    const tail = newTail();
    const first = log.append({ verdicts: [{ ...commit, writes: [one] }] });
    const [verdict] = first.verdicts;
    if (verdict?.kind !== "committed") throw new Error("expected a commit");
    tail.fold(first);
    const second = log.append({ verdicts: [{ ...commit, writes: [one] }] });
    tail.fold({ ...second, verdicts: [{ ...verdict, timestamp: second.throughTimestamp }] });
    expect(tail.decision(verdict.id)).toBe(verdict);
    expect(tail.lastCommit(keyHash(one))).toBe(102);
    tail.learnWatermark({ position: 2 as LogPosition, timestamp: 102 as Timestamp });
    tail.release(undefined);
    expect(tail.decision(verdict.id)).toBeUndefined();
  });

  test("ignores a watermark ahead of it, and one that goes back", () => {
    const log = new ModelLog();
    const tail = newTail();
    tail.fold(log.append({ verdicts: [{ ...commit, writes: [one] }] }));
    tail.learnWatermark({ position: 2 as LogPosition, timestamp: 500 as Timestamp });
    expect(tail.installedThrough).toBe(startTimestamp);
    tail.learnWatermark({ position: 1 as LogPosition, timestamp: 101 as Timestamp });
    expect(tail.installedThrough).toBe(101);
    tail.learnWatermark(start);
    expect(tail.installedThrough).toBe(101);
  });

  test.each([
    ["equal to the block's end: forgets it", 101, 101],
    ["one below: keeps it", 100, 100],
    ["of nobody: forgets up to the watermark", undefined, 101],
  ])("released with the oldest read timestamp %s", (_, oldest, floor) => {
    const log = new ModelLog();
    const tail = newTail();
    tail.fold(log.append({ verdicts: [{ ...commit, writes: [one] }] }));
    tail.fold(log.append({ verdicts: [{ ...commit, writes: [one] }] }));
    tail.learnWatermark({ position: 1 as LogPosition, timestamp: 101 as Timestamp });
    tail.release(oldest as Timestamp | undefined);
    expect(tail.floor).toBe(floor);
    expect(tail.lastCommit(keyHash(one))).toBe(102);
  });

  test("never forgets what is above the watermark, whoever reads", () => {
    const log = new ModelLog();
    const tail = newTail();
    for (let i = 0; i < 5; i += 1) {
      tail.fold(log.append({ verdicts: [{ ...commit, writes: [one] }] }));
    }
    tail.release(undefined);
    expect(tail.floor).toBe(startTimestamp);
    expect(tail.blockCount).toBe(5);
  });

  test("stays small over many thousand blocks that are installed as they come", () => {
    const log = new ModelLog();
    const tail = newTail();
    for (let i = 0; i < 5_000; i += 1) {
      const block = log.append({ verdicts: [{ ...commit, writes: [{ ...one, key: i % 4 }] }] });
      tail.fold(block);
      tail.learnWatermark({ position: block.position, timestamp: block.throughTimestamp });
      tail.release(undefined);
    }
    expect(tail.blockCount).toBe(0);
    expect(tail.lastCommit(tableHash(0))).toBeUndefined();
  });
});
