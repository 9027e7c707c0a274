/** The local check against a naive one over the list of all commits (docs/protocol.md §5, §6). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { Tail } from "../../core/tail.ts";
import { extendThrough, TransactionReads, type SeenPage } from "../../core/transaction-reads.ts";
import type { KeyHash, LogPosition, Timestamp } from "../../core/types.ts";
import {
  allHashes,
  blockPlan,
  keyHash,
  ModelLog,
  partitionHash,
  startTimestamp,
  tableHash,
} from "./tail-model.ts";

const key = { table: "t", key: undefined };
const partition = { table: "t", on: "partition", key: undefined } as const;

function newTail(): Tail {
  return new Tail({ position: 0 as LogPosition, timestamp: startTimestamp });
}

/** A page with one row, in a model where no two keys have one hash. */
function showing(key: KeyHash, version: number): SeenPage["shows"] {
  return (commit, hashes) => hashes.key === key && version >= commit.timestamp;
}

function addRead(reads: TransactionReads, hash: KeyHash): void {
  if (hash >= 0x3000n) reads.addKey(hash, key);
  else reads.addPredicate(hash, partition);
}

describe("against the model", () => {
  const reading = fc.uniqueArray(fc.constantFrom(...allHashes), { maxLength: 5 });

  test("I8: a conflict is found exactly if a commit in (r, L] wrote under something read", () => {
    fc.assert(
      fc.property(
        fc.array(blockPlan, { maxLength: 4 }),
        fc.array(blockPlan, { maxLength: 4 }),
        reading,
        (before, after, hashes) => {
          const log = new ModelLog();
          const tail = newTail();
          for (const plan of before) tail.fold(log.append(plan));
          const reads = new TransactionReads(tail.newest);
          const { readTimestamp } = reads;
          for (const hash of hashes) addRead(reads, hash);
          for (const plan of after) tail.fold(log.append(plan));
          const range = { above: readTimestamp, upTo: tail.newest };
          const overtaken = hashes.filter((hash) => log.under(hash, range).length > 0);
          const conflict = reads.conflict(tail);
          expect(conflict !== undefined).toBe(overtaken.length > 0);
          if (conflict !== undefined) {
            expect(overtaken).toContain(conflict.hash);
            const times = log.under(conflict.hash, range).map(({ timestamp }) => timestamp);
            expect(times).toContain(conflict.timestamp);
          }
          expect(reads.extend(tail)).toEqual(conflict);
          expect(reads.readTimestamp).toBe(conflict === undefined ? tail.newest : readTimestamp);
        },
      ),
    );
  });

  test("I8: extension over old blocks agrees with extension on a tail that has them", () => {
    fc.assert(
      fc.property(fc.array(blockPlan, { minLength: 1, maxLength: 8 }), reading, (plans, hashes) => {
        const log = new ModelLog();
        const tail = newTail();
        const onTail = new TransactionReads(startTimestamp);
        const onLog = new TransactionReads(startTimestamp);
        for (const hash of hashes) {
          addRead(onTail, hash);
          addRead(onLog, hash);
        }
        for (const plan of plans) tail.fold(log.append(plan));
        let found = false;
        for (const block of log.blocks) {
          found = extendThrough(onLog, block) !== undefined;
          if (found) break;
        }
        expect(found).toBe(onTail.extend(tail) !== undefined);
        if (!found) expect(onLog.readTimestamp).toBe(onTail.readTimestamp);
      }),
    );
  });

  /**
   * A pass reads keys 0 to 3 of partition 0, one page after the other, while others commit in
   * between.
   */
  test("I8: a pass over pages that goes on returns, in the end, one state of the partition", () => {
    fc.assert(
      fc.property(
        fc.array(blockPlan, { maxLength: 3 }),
        fc.array(fc.array(blockPlan, { maxLength: 2 }), { minLength: 4, maxLength: 4 }),
        (before, between) => {
          const log = new ModelLog();
          const tail = newTail();
          for (const plan of before) tail.fold(log.append(plan));
          const reads = new TransactionReads(tail.newest);
          const hash = partitionHash(0, 0);
          const versionAt = (k: number, upTo: number): number =>
            log.under(keyHash({ table: 0, partition: 0, key: k }), { above: 0, upTo }).at(-1)
              ?.timestamp ?? 0;
          const returned: number[] = [];
          for (const [page, plans] of between.entries()) {
            for (const plan of plans) tail.fold(log.append(plan));
            const version = versionAt(page, tail.newest);
            const seen: SeenPage = {
              hash,
              page: page.toString(),
              shows: showing(keyHash({ table: 0, partition: 0, key: page }), version),
            };
            if (version > reads.readTimestamp && reads.extend(tail, seen) !== undefined) return;
            returned.push(version);
            const next = page === 3 ? undefined : (page + 1).toString();
            reads.addPredicate(hash, partition, { page: page.toString(), next });
          }
          expect(returned).toEqual(returned.map((_, page) => versionAt(page, reads.readTimestamp)));
        },
      ),
    );
  });
});

describe("a page that is about to be returned", () => {
  const row = { table: 0, partition: 0, key: 1 };
  const hash = partitionHash(0, 0);

  function overtaken(): { tail: Tail; reads: TransactionReads; seen: SeenPage } {
    const log = new ModelLog();
    const tail = newTail();
    const reads = new TransactionReads(startTimestamp);
    tail.fold(log.append({ verdicts: [{ kind: "committed", writes: [row], step: 1 }] }));
    const shows = showing(keyHash(row), tail.newest);
    return { tail, reads, seen: { hash, page: "2", shows } };
  }

  test("excuses the writes that it shows, if it goes on with the only pass", () => {
    const { tail, reads, seen } = overtaken();
    reads.addPredicate(hash, partition, { page: "1", next: "2" });
    expect(reads.extend(tail, seen)).toBeUndefined();
    expect(reads.readTimestamp).toBe(tail.newest);
  });

  test.each([
    ["another page", { page: "1", next: "3" }],
    ["a pass that has ended", { page: "1", next: undefined }],
    ["reads that are not known", undefined],
  ])("excuses nothing after %s", (_, step) => {
    const { tail, reads, seen } = overtaken();
    reads.addPredicate(hash, partition, step);
    expect(reads.extend(tail, seen)).toMatchObject({ hash, timestamp: tail.newest });
  });

  test("excuses nothing once a second pass has begun, whichever of the two it goes on with", () => {
    const { tail, reads, seen } = overtaken();
    reads.addPredicate(hash, partition, { page: "1", next: "2" });
    reads.addPredicate(hash, partition, { page: "other", next: "2" });
    expect(reads.extend(tail, seen)).toBeDefined();
  });

  test("excuses nothing under another predicate, nor a key that was read by itself", () => {
    const { tail, reads, seen } = overtaken();
    reads.addPredicate(hash, partition, { page: "1", next: "2" });
    reads.addPredicate(tableHash(0), { ...partition, on: "table" }, { page: "1", next: "2" });
    expect(reads.extend(tail, seen)).toMatchObject({ hash: tableHash(0) });
    const second = overtaken();
    second.reads.addPredicate(hash, partition, { page: "1", next: "2" });
    second.reads.addKey(keyHash(row), key);
    expect(second.reads.extend(second.tail, second.seen)).toMatchObject({ hash: keyHash(row) });
  });

  test("excuses only the version that it shows", () => {
    const { tail, reads, seen } = overtaken();
    reads.addPredicate(hash, partition, { page: "1", next: "2" });
    const shows = showing(keyHash(row), tail.newest - 1);
    expect(reads.extend(tail, { ...seen, shows })).toBeDefined();
  });
});

describe("the read timestamp", () => {
  test("is refused below the tail's floor", () => {
    const tail = new Tail({ position: 0 as LogPosition, timestamp: 200 as Timestamp });
    const reads = new TransactionReads(startTimestamp);
    expect(() => reads.conflict(tail)).toThrow(InvariantViolation);
  });

  test("leaves no gap in the log when it is extended over old blocks", () => {
    const log = new ModelLog();
    log.append({ verdicts: [{ kind: "aborted", step: 3 }] });
    const second = log.append({ verdicts: [{ kind: "aborted", step: 3 }] });
    const reads = new TransactionReads(startTimestamp);
    expect(() => extendThrough(reads, second)).toThrow(InvariantViolation);
  });
});
